"""The steps of a push on one device, over any transport: read, stage, activate, verify, restore.

The files of the device's folder in a revision are all that they need: the playbooks take them without a controller.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from slotcar.base.problems import SlotcarError
from slotcar.rollout import staging
from slotcar.rollout.comparison import compare, left_in_words
from slotcar.rollout.device_folder import AFTER, APPLY, BEFORE, RESTORED_FROM, UNDO, DeviceFolder, after_steps
from slotcar.rollout.model import STALE
from slotcar.rollout.play_clock import monotonic_s, now_s
from slotcar.rollout.transport import DeviceError, Order, Transport

#: How long a device waits for the confirmation before it takes a change back; IOS counts in minutes.
REVERT_MINUTES = 5
#: What was read this long ago need not be read again before the change: a push at once has just been staged.
FRESH_S = 5.0
#: How often a device is restored that checks itself: it may take a step between the reading and the change.
TRIES = 3


class PushStep(StrEnum):
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


@dataclass(slots=True)
class Prepared:
    """A device before its change. `apply` is what is left to do, None where nothing is; `rearmed` says whether what it
    does by itself has changed, or is to."""

    outcome: Outcome
    apply: tuple[str, ...] | None = None
    rearmed: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """What a device answered, and when, in seconds of the monotonic clock."""

    outputs: Mapping[str, str]
    at_s: float

    @property
    def fresh(self) -> bool:
        return time.monotonic() - self.at_s < FRESH_S


async def read(transport: Transport, order: Order) -> Outcome:
    order.folder.write_reading(await transport.read(order.folder.commands()))
    return Outcome()


async def stage(transport: Transport, order: Order) -> Outcome:
    await stage_and_keep_answers(transport, order)
    return Outcome()


async def stage_and_keep_answers(transport: Transport, order: Order) -> Answers | None:
    """Stages, and keeps the answers of the reading; None for a device that checks itself, as it was not asked.

    Raises:
        DeviceError: it was changed since it was read, or it takes no change.
    """
    answers, has_before = None, False
    if not transport.checks_itself:
        answers = await _ask(transport, order)
        _must_be_as_read(order.folder, answers.outputs)
        comparison = compare(order.folder, BEFORE, answers.outputs)
        has_before = comparison.equal
        if not has_before and not compare(order.folder, AFTER, answers.outputs).equal:
            raise DeviceError(f"{order.folder.name}: it was changed since it was read:\n{comparison.difference}")
    if order.only_look:
        return answers
    await transport.stage_program(order.folder)
    if has_before:  # else it has all of it already
        await transport.stage(order.folder.lines(APPLY), order.folder.lines(UNDO))
    return answers


async def prepare(transport: Transport, order: Order, answers: Answers | None = None) -> Prepared:
    """Compares before anything is changed anywhere; a device that checks itself does so when it is changed.

    Args:
        answers: of the staging.

    Raises:
        DeviceError: it was changed since it was staged.
    """
    apply = order.folder.lines(APPLY)
    if transport.checks_itself and not order.only_look:
        return Prepared(Outcome(), apply)
    if answers is None or not answers.fresh:
        answers = await _ask(transport, order)
    _must_be_as_read(order.folder, answers.outputs)
    comparison = compare(order.folder, AFTER, answers.outputs)
    outcome = Outcome(changed=not comparison.equal, before=comparison.before, after=comparison.after)
    if order.only_look or comparison.equal:
        return Prepared(outcome)
    if apply != comparison.apply:
        raise DeviceError(f"{order.folder.name}: it was changed since it was staged")
    return Prepared(outcome, apply)


async def make_ready(transport: Transport, order: Order, prepared: Prepared) -> Outcome:
    """Everything else of an activation that can be done before its instant: what the device is to do by itself is armed.

    Raises:
        DeviceError: it is not armed. What waits to be confirmed then is left for a restore.
    """
    outcome = prepared.outcome
    if order.only_look:
        return outcome
    # Before the change, so that what begins ends; and before a revert timer, which would take it back with the change.
    prepared.rearmed = await transport.arm_program(order.folder, changes=prepared.apply is not None)
    outcome.changed |= prepared.rearmed
    if prepared.apply is None:
        return outcome
    # What the device did by itself while the timer ran would be taken back with the change.
    latest_s = now_s() + 60 * (REVERT_MINUTES + 1)
    acts_soon = any(instant < latest_s for instant in order.folder.program().instants)
    if not await transport.arm_revert(prepared.apply, 0 if acts_soon else REVERT_MINUTES):
        outcome.notes.append("no revert timer: a change that is not verified is taken back by the controller alone")
    return outcome


async def make_change(transport: Transport, order: Order, prepared: Prepared) -> Outcome:
    """The change itself, at its instant.

    Raises:
        DeviceError: it was refused, or nobody knows; what was changed until then stays for a restore.
    """
    outcome = prepared.outcome
    if prepared.apply is None:
        return outcome
    await asyncio.sleep(max(0.0, order.at - now_s()))
    outcome.began = now_s()
    outcome.changed |= await transport.activate(prepared.apply)
    outcome.ended = now_s()
    if prepared.rearmed:
        # What was open until the change had its end armed until then.
        await transport.leave_program(order.folder)
    return outcome


async def activate(transport: Transport, order: Order) -> Outcome:
    """Activates one device; for many together `fanout.running` takes the three steps."""
    prepared = await prepare(transport, order)
    await make_ready(transport, order, prepared)
    return await make_change(transport, order, prepared)


async def verify(transport: Transport, order: Order) -> Outcome:
    await check(transport, order)
    return await confirm(transport, order)


async def check(transport: Transport, order: Order) -> Outcome:
    """
    Raises:
        DeviceError: the device does not have what is wanted.
    """
    began_s = monotonic_s()
    outputs = (await _ask(transport, order)).outputs
    target = file_reached(order.folder, outputs) if order.target == AFTER else order.target
    comparison = compare(order.folder, target, outputs)
    if not comparison.equal:
        raise DeviceError(f"{order.folder.name}: it does not have what is wanted:\n{comparison.difference}")
    with suppress(OSError):  # it tells the watch what the comparison covers, and a push does not fail for that
        order.folder.write_compared(began_s)
    if comparison.refused:
        order.folder.write_refused(comparison.refused)
    return Outcome()


async def confirm(transport: Transport, order: Order) -> Outcome:
    if not order.only_look:
        await transport.confirm()
    return Outcome()


async def restore(transport: Transport, order: Order) -> Outcome:
    """Gives the device what `order.target` says, from whatever it has now, and the program that belongs to that.

    Of a revision's configuration, and of the one before it, what is past is left out: a slot that has ended does not come
    back, not even until the program that belongs to it ends it again.

    Raises:
        EndsUnknown: see `file_at`. DeviceError: the device refused it, or does not have it afterwards.
    """
    if not order.only_look:
        with suppress(OSError):
            order.folder.forget_restored_from()
    for _ in range(TRIES - 1 if transport.checks_itself else 0):
        # It may take a step of its program between the reading and the change: then the change is another.
        with suppress(DeviceError):
            return await _restore(transport, order)
    return await _restore(transport, order)


async def _restore(transport: Transport, order: Order) -> Outcome:
    folder = order.folder
    file = await transport.file_to_restore(order)
    if file is None:
        return Outcome(notes=["it never took this revision, and is left as it is"])
    disarmed = False
    if not order.only_look:
        # What waits to be confirmed goes first, so that the comparison is with what is there without it.
        await transport.cancel()
        # Both what it does by itself and what belongs to the configuration are armed while that is changed.
        disarmed = await transport.begin_restore(order)
    outputs = (await _ask(transport, order)).outputs
    # Chosen again: a boundary may have passed while the device was asked, and what ended there does not come back.
    file = await transport.file_to_restore(order) or file
    comparison = compare(folder, file, outputs, refused=True)
    outcome = Outcome(disarmed or not comparison.equal, comparison.before, comparison.after)
    if order.only_look:
        return outcome
    if not folder.has(RESTORED_FROM):  # a second try finds what the first one left
        with suppress(OSError):  # it is for the archive, and the device is restored all the same
            folder.write_restored_from(comparison.running.lines)
    outcome.began = now_s()
    try:
        await transport.change(comparison.apply)
    except DeviceError as error:
        raise DeviceError(f"{error}; {await _what_is_left(transport, order, file)}") from error
    outcome.ended = now_s()
    outputs = (await _ask(transport, order)).outputs
    restored = transport.file_restored(order, file, outputs)
    if restored is not None and (left := left_in_words(folder, restored, outputs)):
        raise DeviceError(f"{folder.name}: {left}")
    outcome.changed |= await transport.end_restore()
    return outcome


async def _what_is_left(transport: Transport, order: Order, file: str) -> str:
    """In words, what a device has after a restore that it refused in part."""
    try:
        outputs = (await _ask(transport, order)).outputs
        return left_in_words(order.folder, file, outputs) or "it has what it had before"
    except SlotcarError as error:
        return f"what is left on it is not known: {error}"


def _must_be_as_read(folder: DeviceFolder, outputs: Mapping[str, str]) -> None:
    program, armed = folder.program(), _armed_id(folder, outputs)
    if armed not in (program.replaces, program.ids[0]):
        raise DeviceError(
            f"{folder.name}: it ran a scheduled step after it was read"
            f" (armed then: {program.replaces}, armed now: {armed}); {STALE}"
        )


def file_reached(folder: DeviceFolder, outputs: Mapping[str, str]) -> str:
    """The file that says what the device has after the steps of the revision's program that it has taken by itself.

    Raises:
        DeviceError: it is armed with something else.
    """
    ids, armed = folder.program().ids, _armed_id(folder, outputs)
    if armed not in ids:
        raise DeviceError(f"{folder.name}: what is armed there is {armed}, and should be {ids[0]}")
    return after_steps(ids.index(armed))


def _armed_id(folder: DeviceFolder, outputs: Mapping[str, str]) -> str:
    return staging.state_of(outputs, folder.device())[0]


async def _ask(transport: Transport, order: Order) -> Answers:
    return Answers(await transport.read(order.folder.commands()), time.monotonic())


#: The steps that a device takes whatever the others do; an activation is all devices' (`fanout.running`).
ALONE: Mapping[PushStep, Callable[[Transport, Order], Awaitable[Outcome]]] = {
    PushStep.READ: read,
    PushStep.STAGE: stage,
    PushStep.VERIFY: verify,
    PushStep.RESTORE: restore,
}
