"""What was last seen of others' configuration on each router, kept in the state folder for plans.

`last-look/DEVICE.json`: when it was read, Slotcar's own lines, and the notes of others' lines beside them. No more of an
answer is kept. A router whose entry in the inventory has changed since was not looked at.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from slotcar.base.private_files import make_private_folder, replace_private_file
from slotcar.base.timebase import iso
from slotcar.network.model import Device
from slotcar.platforms import renderer_of
from slotcar.platforms.model import Configuration

LAST_LOOK = "last-look"


@dataclass(frozen=True, slots=True)
class Look:
    """What a router had when it was last read: the notes of others' lines, and where there are some, Slotcar's own."""

    read_at: datetime
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class Looks:
    """The last looks of one state folder. Best effort: what cannot be kept or read was not looked at."""

    state_dir: Path

    def keep(self, configurations: Iterable[Configuration], devices: Mapping[str, Device], at: datetime) -> None:
        with contextlib.suppress(OSError):
            make_private_folder(self._folder)
            for one in configurations:
                device = devices[one.device]
                document = {
                    "device": _digest(device),
                    "read_at": iso(at),
                    "lines": list(one.lines),
                    "foreign": list(one.foreign),
                }
                replace_private_file(self._folder / f"{device.name}.json", json.dumps(document), lasting=False)

    def of(self, device: Device) -> Look | None:
        """The last look at a router; None where there was none of this entry of the inventory."""
        try:
            document = json.loads((self._folder / f"{device.name}.json").read_text(encoding="utf-8"))
            if document["device"] != _digest(device):
                return None
            foreign = tuple(map(str, document["foreign"]))
            # Only where something stands beside Slotcar's does it matter what Slotcar's is.
            own = renderer_of(device).stored(document["lines"], device).objects if foreign else None
            configuration = Configuration(device.name, device.platform, own, foreign)
            return Look(datetime.fromisoformat(document["read_at"]), configuration)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def _folder(self) -> Path:
        return self.state_dir / LAST_LOOK


def _digest(device: Device) -> str:
    return hashlib.sha256(device.model_dump_json().encode()).hexdigest()
