"""The steps of a push on one Linux router, over any shell. Each takes the device's folder of a revision.

The folder's name is the device's. What stands in it, `controller.rollout.archive` says.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from controller.rollout.comparison import Comparison, compare
from controller.rollout.device_folder import AFTER, BEFORE, DeviceFolder, after_steps, before_steps
from controller.rollout.linux.scripts import command, remote_dir
from controller.rollout.linux.shell import Answer, Shell, StepFailed, ask
from controller.rollout.model import STALE, Restless
from controller.rollout.slot_ends import file_at
from controller.rollout.staging import state_of

#: How often the router's clock is asked where it is to act by itself: the quickest answer says most.
_ASKED = 2
#: How often a router is read, or restored, that acts by itself meanwhile.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Clock:
    """A router's clock against this machine's.

    Attributes:
        boot_cs: when the router started, in 1/100 s since this machine's epoch. A little late rather than early.
        ahead_us: how far its own clock is ahead of this machine's; None where it does not say.
    """

    boot_cs: int
    ahead_us: int | None


def read(shell: Shell, folder: DeviceFolder) -> Mapping[str, str]:
    """Asks what `commands.json` lists and keeps the answers in `reading.json`; again where the router acted meanwhile.

    Raises:
        StepFailed: a question was not answered, or it acts whenever it is asked.
    """
    device = folder.device()
    for _ in range(_TRIES):
        outputs = ask(shell, folder.commands())
        with suppress(Restless):
            state_of(outputs, device)
            folder.write_reading(outputs)
            return outputs
    raise StepFailed(f"it acts by itself whenever it is read; {STALE}")


def stage(shell: Shell, folder: DeviceFolder) -> None:
    """Puts the revision on the router. Nothing that a packet meets changes.

    Raises:
        StepFailed: the router has not the room, or not the tools.
    """
    _must(shell.run("sh -s", folder.stage_script()), "staging")


def clock(shell: Shell, device: str, asked_times: int = _ASKED) -> Clock:
    """
    Raises:
        StepFailed: the router does not tell its clock.
    """
    asked = command(device, "clock")
    found: list[Clock] = []
    for _ in range(asked_times):
        done = _must(shell.run(asked), "its clock")
        now_us = time.time_ns() // 1000
        since_boot, *epoch = done.stdout.split()
        ahead_us = int(epoch[0]) * 10_000 - now_us if epoch and epoch[0].isdigit() and len(epoch[0]) == 12 else None
        found.append(Clock(now_us // 10_000 - int(since_boot), ahead_us))
    return min(found, key=lambda one: one.boot_cs)


def activate(shell: Shell, folder: DeviceFolder) -> bool:
    """Arms the staged program and makes the staged change. Whether there was anything to change.

    Raises:
        StepFailed: the router refused it, or acted by itself since it was read; it is as it was then. Or a line of the
            change was refused: then it is between the two.
    """
    device = folder.name
    staged = folder.program()
    asked = clock(shell, device, _ASKED if staged.instants else 1)
    folder.write_clock(asked.ahead_us)
    done = _must(shell.run(command(device, "activate", staged.name, str(asked.boot_cs))), "activation")
    return done.stdout.split()[-1:] == ["changed"]


def verify(shell: Shell, folder: DeviceFolder, target: str) -> Comparison:
    """Reads the router back; nothing changes.

    Raises:
        StepFailed: it has not what the revision's file `target` says, or it is not armed as the revision says.
    """
    outputs = read(shell, folder)
    if target == AFTER:
        target = _reached(folder, outputs)
    found = compare(folder, target, outputs)
    if not found.equal:
        raise StepFailed(f"the device does not have what is wanted:\n{found.difference}")
    return found


def _reached(folder: DeviceFolder, outputs: Mapping[str, str]) -> str:
    """The file that says what the router has after the steps that it says it has taken."""
    (armed, _), staged = state_of(outputs, folder.device()), folder.program()
    if armed not in staged.ids:
        raise StepFailed(f"what is armed there is {armed}, and should be {staged.ids[0]}")
    return after_steps(staged.ids.index(armed))


def restore(
    shell: Shell,
    folder: DeviceFolder,
    target: str,
    fence: str = "-",
    *,
    only_look: bool = False,
    unknown_ends: bool = False,
) -> Comparison:
    """Gives the router what `target` says, from whatever it has now, and the program that belongs to that.

    Of a revision's configuration, and of the one before it, what is past is left out: a slot that has ended does not come
    back, not even until the program that belongs to it ends it again. With a `fence`, a router that took something from a
    later leader is left alone, and so is one that never took the revision.

    Raises:
        EndsUnknown: see `file_at`.
        StepFailed: the router refused it, or does not have it afterwards.
    """
    for _ in range(_TRIES - 1):
        # It may take a step of its program between the reading and the way back: then the way back is another.
        with suppress(StepFailed):
            return _restore(shell, folder, target, fence, only_look, unknown_ends)
    return _restore(shell, folder, target, fence, only_look, unknown_ends)


def _restore(
    shell: Shell, folder: DeviceFolder, target: str, fence: str, only_look: bool, unknown_ends: bool
) -> Comparison:
    own, before = target == AFTER, target == BEFORE
    staged, replaced = folder.program(), folder.replaced_program()
    instants_before = replaced.instants if replaced else ()
    taken = sum(instant <= time.time() for instant in (staged.instants if own else instants_before))
    if own:
        target = after_steps(taken)
    elif before:
        # Where it was not armed for them, the archive knows the ends all the same.
        target = (
            before_steps(taken) if instants_before else file_at(folder, target, time.time(), unknown_ends=unknown_ends)
        )
    found = compare(folder, target, read(shell, folder))
    if only_look:
        return found
    if before and fence != "-" and not _has_taken(shell, folder.name, staged.name):
        # Nor has it the program that would end what the change brings back: a router that restarted has none.
        return replace(found, after=found.before, apply=())
    lines = "".join(f"{line}\n" for line in found.apply)
    done = _must(shell.run(_way_back(shell, folder, target, fence, taken), lines), "restoring")
    if own:
        verify(shell, folder, AFTER)
    elif done.stdout.split()[-1:] == ["again"]:
        _verify_returned(shell, folder)
    elif not (left := compare(folder, target, read(shell, folder))).equal:
        raise StepFailed(f"the device does not have what is wanted:\n{left.difference}")
    return found


def _has_taken(shell: Shell, device: str, revision: str) -> bool:
    return shell.run(f"[ -e {remote_dir(device)}/{revision}/previous ]").code == 0


def _verify_returned(shell: Shell, folder: DeviceFolder) -> None:
    """It may have taken steps of what was armed before. What these made of its configuration may not be in the folder."""
    outputs, replaced = read(shell, folder), folder.replaced_program()
    ids_before = replaced.ids if replaced else (folder.program().replaces,)
    armed = state_of(outputs, folder.device())[0]
    if armed not in ids_before:
        return
    left = compare(folder, before_steps(ids_before.index(armed)), outputs)
    if not left.equal:
        raise StepFailed(f"the device does not have what is wanted:\n{left.difference}")


def _way_back(shell: Shell, folder: DeviceFolder, target: str, fence: str, taken: int) -> str:
    """The command that takes the lines of the change on its standard input."""
    device, staged = folder.name, folder.program()
    place = remote_dir(device)
    if target.startswith("after"):
        if shell.run(f"[ -d {place}/{staged.name} ]").code != 0:
            stage(shell, folder)
        return command(device, "keep", staged.name, str(clock(shell, device).boot_cs), str(taken))
    if shell.run(f"[ -e {place}/device.sh ]").code != 0:
        return "tc -batch -"  # nothing was ever staged there since it started
    return command(
        device, *(("return", staged.name, fence, str(taken)) if target.startswith("before") else ("disarm",))
    )


def _must(done: Answer, what: str) -> Answer:
    if done.code != 0:
        raise StepFailed(f"{what}: {done.words}")
    return done
