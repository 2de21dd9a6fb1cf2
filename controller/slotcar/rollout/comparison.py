"""What a device has against what a file of its folder in a revision says. The playbooks compare by this, without a
controller."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from slotcar.platforms import renderer_of
from slotcar.platforms.model import Configuration, RefusedPart
from slotcar.rollout.device_folder import DeviceFolder


@dataclass(frozen=True, slots=True)
class Comparison:
    """`apply` turns what the device has into what is wanted."""

    running: Configuration
    wanted: Configuration
    apply: tuple[str, ...]

    @property
    def before(self) -> str:
        return self.running.text

    @property
    def after(self) -> str:
        return self.wanted.text

    @property
    def refused(self) -> tuple[RefusedPart, ...]:
        """What the device did not do of what it has."""
        return self.running.refused

    @property
    def equal(self) -> bool:
        return not self.apply and self.running == self.wanted

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
    return Comparison(running, wanted, renderer.change(running, wanted, device).apply)
