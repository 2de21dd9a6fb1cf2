"""One device's part of a push: read, stage, activate, verify, restore. The files of its folder are all that it needs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.rollout import staging
from controller.rollout.comparison import Comparison, compare
from controller.rollout.device_folder import AFTER, APPLY, BEFORE, UNDO, DeviceFolder, after_steps
from controller.rollout.fanout.login import DeviceError
from controller.rollout.fanout.transport import Acting, Transport
from controller.rollout.model import STALE
from controller.rollout.slot_ends import EndsUnknown, file_at

#: How long a device waits for the confirmation before it takes a change back; IOS counts in minutes.
REVERT_MINUTES = 5
#: What was read this long ago need not be read again before the change: a push at once has just been staged.
FRESH_S = 5.0


class Step(StrEnum):
    READ = "read"
    STAGE = "stage"
    ACTIVATE = "activate"
    VERIFY = "verify"
    RESTORE = "restore"


@dataclass(slots=True)
class Outcome:
    """What a step did on one device.

    Attributes:
        before, after: the owned configuration, for `--diff`.
        began, ended: seconds since the epoch, of the change itself.
        error: why it failed; empty where it did not.
    """

    changed: bool = False
    before: str = ""
    after: str = ""
    began: float = 0.0
    ended: float = 0.0
    error: str = ""
    unreachable: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Order:
    """What to do: a device's folder, which of its files is the target, when, and whether only to look. With a `fence` a
    device that took something from a later leader is not restored; a revision's own is in its folder. `unknown_ends`: a
    configuration is restored although nobody knows when the slots end that are in it."""

    folder: DeviceFolder
    target: str = AFTER
    at: float = 0.0
    only_look: bool = False
    fence: int | None = None
    unknown_ends: bool = False


@dataclass(slots=True)
class Prepared:
    """What a device has was compared. `apply` is what is left to do, None where nothing is; `rearmed` says whether what it
    does by itself has changed, or is to."""

    outcome: Outcome
    apply: tuple[str, ...] | None = None
    rearmed: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What a device had, and when it was read, in seconds of the monotonic clock."""

    outputs: Mapping[str, str]
    at_s: float

    @property
    def fresh(self) -> bool:
        return time.monotonic() - self.at_s < FRESH_S


async def read(transport: Transport, order: Order) -> Outcome:
    order.folder.write_reading(await transport.read(order.folder.commands()))
    return Outcome()


async def stage(transport: Transport, order: Order) -> Outcome:
    await stage_and_see(transport, order)
    return Outcome()


async def stage_and_see(transport: Transport, order: Order) -> Seen:
    """
    Raises:
        DeviceError: it was changed since it was read, or it takes no change.
    """
    seen = await _see(transport, order)
    _must_be_as_read(order.folder, seen.outputs)
    found = compare(order.folder, BEFORE, seen.outputs)
    if not found.equal and not compare(order.folder, AFTER, seen.outputs).equal:
        raise DeviceError(f"{order.folder.name}: it was changed since it was read:\n{found.difference}")
    if order.only_look:
        return seen
    if isinstance(transport, Acting):
        await transport.stage_program(order.folder)
    if found.equal:  # or it has all of it already
        await transport.stage(order.folder.lines(APPLY), order.folder.lines(UNDO))
    return seen


async def prepare(transport: Transport, order: Order, seen: Seen | None = None) -> Prepared:
    """Compares before anything is changed anywhere.

    Raises:
        DeviceError: it was changed since it was staged.
    """
    if seen is None or not seen.fresh:
        seen = await _see(transport, order)
    _must_be_as_read(order.folder, seen.outputs)
    found = compare(order.folder, AFTER, seen.outputs)
    outcome = Outcome(changed=not found.equal, before=found.before, after=found.after)
    if order.only_look:
        return Prepared(outcome)
    apply = () if found.equal else order.folder.lines(APPLY)
    if apply != found.apply:
        raise DeviceError(f"{order.folder.name}: it was changed since it was staged")
    return Prepared(outcome, None if found.equal else apply)


async def ready(transport: Transport, order: Order, prepared: Prepared) -> Outcome:
    """Everything else of an activation that can be done before its instant: what the device is to do by itself is armed.

    Raises:
        DeviceError: it is not armed. What waits to be confirmed then is left for a restore.
    """
    outcome = prepared.outcome
    if order.only_look:
        return outcome
    if isinstance(transport, Acting):
        # Before the change, so that what begins ends; and before a revert timer, which would take it back with the change.
        prepared.rearmed = await transport.arm_program(order.folder, changes=prepared.apply is not None)
        outcome.changed |= prepared.rearmed
    if prepared.apply is None:
        return outcome
    # What the device did by itself while the timer ran would be taken back with the change.
    acts_soon = any(instant < time.time() + 60 * (REVERT_MINUTES + 1) for instant in order.folder.program().instants)
    if not await transport.arm(prepared.apply, 0 if acts_soon else REVERT_MINUTES):
        outcome.notes.append("no revert timer: a change that is not verified is taken back by the controller alone")
    return outcome


async def strike(transport: Transport, order: Order, prepared: Prepared) -> Outcome:
    """The change itself, at its instant.

    Raises:
        DeviceError: it was refused, or nobody knows; what was changed until then stays for a restore.
    """
    outcome = prepared.outcome
    if prepared.apply is None:
        return outcome
    await asyncio.sleep(max(0.0, order.at - time.time()))
    outcome.began = time.time()
    await transport.activate(prepared.apply)
    outcome.ended = time.time()
    if prepared.rearmed and isinstance(transport, Acting):
        # What was open until the change had its end armed until then.
        await transport.leave_program(order.folder)
    return outcome


async def verify(transport: Transport, order: Order) -> Outcome:
    await check(transport, order)
    return await confirm(transport, order)


async def check(transport: Transport, order: Order) -> Outcome:
    """
    Raises:
        DeviceError: the device does not have what is wanted.
    """
    seen = await _see(transport, order)
    target = _reached(order.folder, seen.outputs) if order.target == AFTER else order.target
    found = compare(order.folder, target, seen.outputs)
    if not found.equal:
        raise DeviceError(f"{order.folder.name}: it does not have what is wanted:\n{found.difference}")
    return Outcome()


async def confirm(transport: Transport, order: Order) -> Outcome:
    if not order.only_look:
        await transport.confirm()
    return Outcome()


async def restore(transport: Transport, order: Order) -> Outcome:
    acting = transport if isinstance(transport, Acting) else None
    try:
        target = await acting.goal(order.folder, order.target) if acting else order.target
        if target is not None:
            target = file_at(order.folder, target, time.time(), unknown_ends=order.unknown_ends)
    except EndsUnknown as error:
        raise DeviceError(str(error)) from error
    if target is None:
        return Outcome(notes=["it never took this revision, and is left as it is"])
    if not order.only_look:
        # What waits to be confirmed goes first, so that the comparison is with what is there without it.
        await transport.cancel()
    # Both what it does by itself and what belongs to the configuration are armed while that is changed.
    disarmed = False
    if acting and not order.only_look:
        disarmed = await acting.stand_by(order.folder, order.target, order.fence)
    found = await _compared(transport, order.folder, target)
    outcome = Outcome(changed=disarmed or not found.equal, before=found.before, after=found.after)
    if order.only_look:
        return outcome
    outcome.began = time.time()
    await transport.change(found.apply)
    outcome.ended = time.time()
    left = await _compared(transport, order.folder, target)
    if not left.equal:
        raise DeviceError(f"{order.folder.name}: it still differs:\n{left.difference}")
    if acting:
        outcome.changed |= await acting.arm_back()
    return outcome


def _must_be_as_read(folder: DeviceFolder, outputs: Mapping[str, str]) -> None:
    program, have = folder.program(), _armed(folder, outputs)
    if have not in (program.replaces, program.ids[0]):
        raise DeviceError(
            f"{folder.name}: it acted since it was read: it was to do {program.replaces} then, and is to do {have} now;"
            f" {STALE}"
        )


def _reached(folder: DeviceFolder, outputs: Mapping[str, str]) -> str:
    """The file that says what the device has after the steps that it has taken by itself."""
    ids, have = folder.program().ids, _armed(folder, outputs)
    if have not in ids:
        raise DeviceError(f"{folder.name}: what is armed there is {have}, and should be {ids[0]}")
    return after_steps(ids.index(have))


def _armed(folder: DeviceFolder, outputs: Mapping[str, str]) -> str:
    return staging.state_of(outputs, folder.device())[0]


async def _see(transport: Transport, order: Order) -> Seen:
    return Seen(await transport.read(order.folder.commands()), time.monotonic())


async def _compared(transport: Transport, folder: DeviceFolder, target: str) -> Comparison:
    return compare(folder, target, await transport.read(folder.commands()))


#: The steps that a device takes whatever the others do; an activation is all devices' (`running`).
ALONE: Mapping[Step, Callable[[Transport, Order], Awaitable[Outcome]]] = {
    Step.READ: read,
    Step.STAGE: stage,
    Step.VERIFY: verify,
    Step.RESTORE: restore,
}
