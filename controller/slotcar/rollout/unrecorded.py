"""Events that were to be recorded while no ledger was asked: kept beside the archive until a controller leads again.

A kept hold has `taken` and `carried` of its rollback, for only the ledger knows what earlier ones took from the device.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import structlog

from slotcar.rollout.archive import STAMP, Archive
from slotcar.rollout.holding import Hold, Removal, removed_of
from slotcar.rollout.writing import writing
from slotcar.store import Ledger
from slotcar_client.wire.events import DeviceHeld, Kind

log = structlog.get_logger(__name__)


def keep_unrecorded(
    archive: Archive, says: Kind, devices: Sequence[str], at: datetime, more: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Keeps an event of each of these devices for `record_kept`, with `more` than its details.

    Raises:
        InvalidInput: the folder cannot be written.
    """
    for device in devices:
        already = len(list(archive.unrecorded.glob("*.json")))
        file = archive.unrecorded / f"{at.astimezone(UTC):{STAMP}}-{already:06}-{device}.json"
        part = file.with_suffix(".part")
        event = {
            "kind": says.kind,
            "at": at.astimezone(UTC).isoformat(),
            "device": device,
            "details": says.details | dict(more),
        }
        with writing(file):
            part.write_text(json.dumps(event), encoding="utf-8")
            part.replace(file)


def keep_hold(archive: Archive, hold: Hold, removal: Removal | None) -> None:
    """Keeps the hold of a device that was rolled back; None of one on which nothing is known to have changed.

    Raises:
        InvalidInput: the folder cannot be written.
    """
    removal = removal or Removal()
    of_rollback = {"taken": list(removal.taken), "carried": list(removal.carried)}
    keep_unrecorded(archive, hold.event, [hold.device], hold.since, of_rollback)


def record_kept(archive: Archive, ledger: Ledger) -> None:
    """Records what was kept, in its order and at its own time. If this process dies meanwhile, one may be recorded twice.

    Raises:
        LedgerUnavailable: what is not recorded is kept.
    """
    for file in sorted(archive.unrecorded.glob("*.json")):
        try:
            event = json.loads(file.read_text(encoding="utf-8"))
            at = datetime.fromisoformat(event["at"])
            kind, device, details = str(event["kind"]), str(event["device"]), dict(event["details"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("what was done without the ledger cannot be read", file=str(file), error=str(error))
            file.rename(file.with_suffix(".unreadable"))
            continue
        if kind == DeviceHeld.kind:
            removal = Removal(details.pop("taken", ()), details.pop("carried", ()))
            earlier = removed_of(ledger, [device]).get(device, ())
            details["removed"] = removal.after({*earlier, *details.get("removed", ())})
        ledger.append_event(kind, at, device=device, details=details)
        file.unlink()
