"""A Linux router, over any shell: it arms the program and makes the change in one go, under a lock of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from slotcar.network.model import Device
from slotcar.rollout.device_folder import AFTER, BEFORE, DeviceFolder, after_steps, before_steps, text_of
from slotcar.rollout.linux.scripts import batch_command, command, fence_word, remote_dir
from slotcar.rollout.linux.shell import Shell, ShellAnswer, ask
from slotcar.rollout.model import STALE, Restless
from slotcar.rollout.play_clock import now_s
from slotcar.rollout.slot_ends import file_at
from slotcar.rollout.staging import state_of
from slotcar.rollout.steps import TRIES, file_reached
from slotcar.rollout.transport import DeviceError, Order, Transport

#: How often the router's clock is asked where it is to act by itself: the quickest answer says most.
_CLOCK_TRIES = 2
#: How often a router is read that acts by itself meanwhile.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class DeviceClock:
    """A router's clock against this machine's.

    Attributes:
        boot_cs: when the router started, in 1/100 s since this machine's epoch. A little late rather than early.
        ahead_us: how far its own clock is ahead of this machine's; None where it does not say.
    """

    boot_cs: int
    ahead_us: int | None


@dataclass(slots=True)
class _Restore:
    """What a restore is about to do. `taken`: so many steps of the program that belongs to it are past."""

    order: Order
    file: str
    taken: int
    took_steps: bool = False


class LinuxTransport(Transport):
    """The steps' `Transport`. `device.sh` refuses what is stale, so that nothing is read before a change."""

    checks_itself = True

    def __init__(self, shell: Shell, device: Device) -> None:
        self._shell = shell
        self._device = device
        self._activation: tuple[str, ...] = ()
        self._restore: _Restore | None = None
        self._state_read = ""
        self._restores = 0

    async def close(self) -> None:
        """The shell is Ansible's."""

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        for _ in range(_TRIES):
            outputs = ask(self._shell, commands)
            with suppress(Restless):
                self._state_read = state_of(outputs, self._device)[0]
                return outputs
        raise DeviceError(f"it ran a scheduled step each time it was read; {STALE}")

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        """The change is in the script that stages the program."""

    async def stage_program(self, folder: DeviceFolder) -> None:
        self._do("sh -s", "staging", folder.stage_script())

    async def arm_program(self, folder: DeviceFolder, *, changes: bool) -> bool:
        """Only asks the router's clock: `activate` arms."""
        program = folder.program()
        router_clock = clock(self._shell, folder.name, _CLOCK_TRIES if program.instants else 1)
        folder.write_clock(router_clock.ahead_us)
        self._activation = ("activate", program.name, str(router_clock.boot_cs))
        return False

    async def arm_revert(self, apply: Sequence[str], minutes: int) -> bool:
        return False

    async def activate(self, apply: Sequence[str]) -> bool:
        """
        Raises:
            DeviceError: the router refused it, or acted by itself since it was read; it is as it was then. Or a line of
                the change was refused: then it is between the two.
        """
        done = self._do(command(self._device.name, *self._activation), "activation")
        return done.stdout.split()[-1:] == ["changed"]

    async def file_to_restore(self, order: Order) -> str | None:
        """None for a controller's restore of a router that never took the revision: it has no program either that would
        end what the change brings back (one that restarted has none)."""
        folder, file, taken = order.folder, order.target, 0
        if order.target == AFTER:
            taken = _past(folder.program().instants)
            file = after_steps(taken)
        elif order.target == BEFORE:
            asks = order.fence is not None and not order.only_look and self._restore is None  # it is not asked twice
            if asks and not self._has_taken(folder):
                return None
            replaced = folder.replaced_program()
            if replaced is not None and replaced.instants:
                taken = _past(replaced.instants)
                file = before_steps(taken)
            else:  # where it was not armed for them, the archive knows the ends all the same
                file = file_at(folder, BEFORE, now_s(), unknown_ends=order.unknown_ends)
        self._restore = _Restore(order, file, taken)
        return file

    async def change(self, lines: Sequence[str]) -> None:
        """Changes the router; only a restore does so.

        Raises:
            DeviceError: the router acted since it was read, or refused a line.
        """
        assert self._restore is not None
        self._restores += 1
        done = self._do(self._restore_command(self._restore), "restoring", text_of(lines))
        self._restore.took_steps = done.stdout.split()[-1:] == ["again"]

    def file_restored(self, order: Order, file: str, outputs: Mapping[str, str]) -> str | None:
        assert self._restore is not None
        if order.target == AFTER:
            return file_reached(order.folder, outputs)
        if not self._restore.took_steps:
            return file
        # It may have taken steps of what was armed before. What these made of its configuration may not be in the folder.
        replaced = order.folder.replaced_program()
        ids = replaced.ids if replaced else (order.folder.program().replaces,)
        armed = state_of(outputs, self._device)[0]
        return before_steps(ids.index(armed)) if armed in ids else None

    def _restore_command(self, restore: _Restore) -> str:
        """The command that takes the lines of the change on its standard input."""
        folder, steps_done = restore.order.folder, str(restore.taken)
        place, revision = remote_dir(folder.name), folder.program().name
        if restore.order.target == AFTER:
            if not self._is_there(f"-d {place}/{revision}"):
                self._do("sh -s", "staging", folder.stage_script())
            boot_cs = clock(self._shell, folder.name).boot_cs
            return command(folder.name, "keep", revision, str(boot_cs), steps_done, *self._as_read)
        if not self._is_there(f"-e {place}/device.sh"):
            return batch_command(self._device)  # nothing was ever staged there since it started
        if restore.order.target == BEFORE:
            fence = fence_word(restore.order.fence)
            return command(folder.name, "return", revision, fence, steps_done, *self._as_read)
        return command(folder.name, "disarm", *self._as_read)

    @property
    def _as_read(self) -> tuple[str, ...]:
        """What was to come when the router was read. Not at the last try: where boundaries are denser than readings, a
        restore is not refused for ever."""
        return (self._state_read,) if self._state_read and self._restores < TRIES else ()

    def _has_taken(self, folder: DeviceFolder) -> bool:
        return self._is_there(f"-e {remote_dir(folder.name)}/{folder.program().name}/previous")

    def _is_there(self, what: str) -> bool:
        """A word for each answer: a shell that runs nothing is no answer."""
        return self._do(f"if [ {what} ]; then echo yes; else echo no; fi", "looking").stdout.split()[-1:] == ["yes"]

    def _do(self, command: str, what: str, text: str = "") -> ShellAnswer:
        return _must(self._shell.run(command, text), what)


def clock(shell: Shell, device: str, times: int = _CLOCK_TRIES) -> DeviceClock:
    """
    Raises:
        DeviceError: the router does not tell its clock.
    """
    clock_command = command(device, "clock")
    clocks: list[DeviceClock] = []
    for _ in range(times):
        done = _must(shell.run(clock_command), "its clock")
        now_us = round(now_s() * 1_000_000)
        since_boot, *epoch = done.stdout.split()
        ahead_us = int(epoch[0]) * 10_000 - now_us if epoch and epoch[0].isdigit() and len(epoch[0]) == 12 else None
        clocks.append(DeviceClock(now_us // 10_000 - int(since_boot), ahead_us))
    return min(clocks, key=lambda one: one.boot_cs)


def _past(instants: Sequence[float]) -> int:
    return sum(instant <= now_s() for instant in instants)


def _must(done: ShellAnswer, what: str) -> ShellAnswer:
    if done.code != 0:
        raise DeviceError(f"{what}: {done.words}")
    return done
