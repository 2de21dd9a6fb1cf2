"""What a device has against what a file of its folder in a revision says. The playbooks compare by this, without a
controller."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from slotcar.platforms import renderer_of
from slotcar.platforms.model import RefusedPart
from slotcar.rollout.device_folder import DeviceFolder


@dataclass(frozen=True, slots=True)
class Comparison:
    """`apply` turns what the device has into what is wanted; `refused` is what it did not do of what it has."""

    before: str
    after: str
    apply: tuple[str, ...]
    refused: tuple[RefusedPart, ...] = field(default=(), compare=False)

    @property
    def equal(self) -> bool:
        return not self.apply and self.before == self.after

    @property
    def difference(self) -> str:
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), "device", "wanted", lineterm=""
        )
        return "\n".join(list(lines)[:40])


def compare(folder: DeviceFolder, target: str, outputs: Mapping[str, str]) -> Comparison:
    """
    Args:
        target: of the folder one of its configurations, empty for nothing of Slotcar's.
        outputs: answers to the folder's commands.json.

    Raises:
        Unreadable: the device's answers are not understood. Unrenderable: others' objects are in the way.
        FolderUnreadable: the folder is not whole.
    """
    device = folder.device()
    renderer = renderer_of(device)
    running = renderer.running(outputs, device)
    wanted = renderer.stored(folder.lines(target) if target else (), device)
    return Comparison(running.text, wanted.text, renderer.change(running, wanted, device).apply, running.refused)
