"""One protocol for all devices: what the steps of a push (`steps.py`) need of a device, over whatever connection.

`linux/`, `ios/` and `netconf/` hold the transports. A device that can do something by itself at coming instants is given
its program by the methods whose names end in `program`, and by those of a restore; to the others their defaults apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from slotcar.base.problems import SlotcarError
from slotcar.rollout.device_folder import AFTER, DeviceFolder
from slotcar.rollout.play_clock import now_s
from slotcar.rollout.slot_ends import file_at


class DeviceError(SlotcarError):
    """A device did not do what it was told; the message says what, and never holds a secret."""


class Unreachable(DeviceError):
    """A device could not be reached or logged in to."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a step is to do on one device.

    Attributes:
        target: the file of the folder that says what the device is to have; empty for nothing of Slotcar's.
        at: when an activation changes the device, seconds since the epoch; at once where it is past.
        only_look: as Ansible's check mode: nothing is changed.
        fence: of a restore, the number of the controller's lead: a device that took something from a later leader is left
            alone. A revision's own is in its folder.
        unknown_ends: a configuration is restored although nobody knows when the slots end that are in it.
    """

    folder: DeviceFolder
    target: str = AFTER
    at: float = 0.0
    only_look: bool = False
    fence: int | None = None
    unknown_ends: bool = False


class Transport(Protocol):
    """One device, from `open` to `close`. Every method raises DeviceError where the device does not do it.

    Attributes:
        checks_itself: the device itself refuses, under a lock of its own, a change that was made for something else than
            it has; it need not be read for that before it is staged and changed.
    """

    checks_itself: bool = False

    async def open(self) -> None:
        """
        Raises:
            Unreachable: no connection, or no login.
        """
        return

    async def close(self) -> None: ...

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        """The answer to each command that shows something; all of one instant, also where the device acts by itself."""
        ...

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        """Puts a change and its undo on the device; nothing that a packet meets changes."""
        ...

    async def arm_revert(self, apply: Sequence[str], minutes: int) -> bool:
        """Makes all ready but the change itself: has the device take it back by itself unless it is confirmed within so
        many minutes; whether it can. With no minutes it is not to."""
        ...

    async def activate(self, apply: Sequence[str]) -> bool:
        """Makes the staged change take effect. False where the device had it already."""
        ...

    async def confirm(self) -> None:
        """The change stays. Nothing happens where nothing waits to be confirmed."""
        return

    async def cancel(self) -> None:
        """Has the device take back at once what waits to be confirmed, where that comes before a `change`."""
        return

    async def change(self, lines: Sequence[str]) -> None:
        """Changes the device now, without staging. Nothing waits to be confirmed after it."""
        ...

    # -- programs: of devices that act by themselves at coming instants ------------------------------------------------

    async def stage_program(self, folder: DeviceFolder) -> None:
        """Puts on the device what its program needs. Raises DeviceError with STALE in it where it acted since it was
        read."""
        return

    async def arm_program(self, folder: DeviceFolder, *, changes: bool) -> bool:
        """Has it do this from now on, and nothing else unless a change follows; whether it was to do something else."""
        return False

    async def leave_program(self, folder: DeviceFolder) -> None:
        """After the change: has it do this, and nothing else."""
        return

    # -- restores ------------------------------------------------------------------------------------------------------

    async def file_to_restore(self, order: Order) -> str | None:
        """The file of the folder that a restore gives the device: what is past of `order.target` is left out. None where
        the device is left as it is, because it never took the revision.

        Raises:
            EndsUnknown: see `file_at`.
        """
        return file_at(order.folder, order.target, now_s(), unknown_ends=order.unknown_ends)

    async def begin_restore(self, order: Order) -> bool:
        """Before the configuration is restored: has the device also do what belongs to it; whether it was to do something
        else."""
        return False

    def file_restored(self, order: Order, file: str, outputs: Mapping[str, str]) -> str | None:
        """The file of the folder that the device must have, by its answers, after it was given `file`: it may have taken a
        step since. None where nobody knows."""
        return file

    async def end_restore(self) -> bool:
        """After it: has the device do what belongs to what it was given, and nothing else; whether it was to do something
        else."""
        return False
