"""What a device has against what a file of its revision wants. The playbooks' own eye; needs no controller."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.network.model import Device
from controller.platforms import renderer_of


@dataclass(frozen=True, slots=True)
class Comparison:
    """`apply` turns what the device has into what is wanted."""

    before: str
    after: str
    apply: tuple[str, ...]

    @property
    def equal(self) -> bool:
        return not self.apply and self.before == self.after

    @property
    def difference(self) -> str:
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), "device", "wanted", lineterm=""
        )
        return "\n".join(list(lines)[:40])


def compare(folder: Path, target: str, outputs: Mapping[str, str]) -> Comparison:
    """
    Args:
        folder: a device's folder in a revision; `target` one of its configurations, empty for nothing of Slotcar's.
        outputs: answers to the folder's commands.json.

    Raises:
        Unreadable: the device's answers are not understood. Unrenderable: others' objects are in the way.
        OSError: the folder is not whole.
    """
    device = Device.model_validate_json((folder / "device.json").read_text())
    renderer = renderer_of(device)
    running = renderer.running(outputs, device)
    lines = tuple((folder / target).read_text().splitlines()) if target else ()
    wanted = renderer.stored(lines, device)
    return Comparison(running.text, wanted.text, renderer.change(running, wanted, device).apply)
