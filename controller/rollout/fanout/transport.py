"""What the steps need of a device, whatever carries it. A family of devices is one or more of these (`families`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from controller.rollout.device_folder import DeviceFolder


class Transport(Protocol):
    """One device, from `open` to `close`. Every method raises DeviceError where the device does not do it."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        """The answer to each command that shows something."""
        ...

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        """Puts a change and its undo on the device; nothing that a packet meets changes."""
        ...

    async def arm(self, apply: Sequence[str], revert_minutes: int) -> bool:
        """All but the change itself: has the device take it back by itself unless it is confirmed; whether it can. With no
        minutes it is not to."""
        ...

    async def activate(self, apply: Sequence[str]) -> None:
        """Makes the staged change take effect."""
        ...

    async def confirm(self) -> None:
        """The change stays. Nothing happens where nothing waits to be confirmed."""
        ...

    async def cancel(self) -> None:
        """Has the device take back at once what waits to be confirmed, where that comes before a `change`."""
        ...

    async def change(self, lines: Sequence[str]) -> None:
        """Changes the device now, without staging. Nothing waits to be confirmed after it."""
        ...


@runtime_checkable
class Acting(Protocol):
    """A transport to a device that can do something by itself at coming instants: its program, out of a revision's folder.
    Nothing happens where the inventory does not say that the device can."""

    async def stage_program(self, folder: DeviceFolder) -> None:
        """Puts on the device what it needs for it. Raises DeviceError with STALE in it where it acted since it was read."""
        ...

    async def arm_program(self, folder: DeviceFolder, *, changes: bool) -> bool:
        """Has it do this from now on, and nothing else unless a change follows; whether it was to do something else."""
        ...

    async def leave_program(self, folder: DeviceFolder) -> None:
        """After the change: has it do this, and nothing else."""
        ...

    async def goal(self, folder: DeviceFolder, target: str) -> str | None:
        """The file of the folder that a restore of `target` gives the device; None where it is left as it is."""
        ...

    async def stand_by(self, folder: DeviceFolder, target: str, fence: int | None) -> bool:
        """Before a restore: has it also do what belongs to what is restored; whether it was to do something else."""
        ...

    async def arm_back(self) -> bool:
        """After it: has it do what belongs to what it was given, and nothing else; whether it was to do something else."""
        ...
