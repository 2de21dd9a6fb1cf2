"""One router's part of a push: read, stage, activate, verify, restore. The files of its folder are all that it needs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from controller.rollout.comparison import Comparison, compare
from controller.rollout.ios.login import IosError
from controller.rollout.ios.transport import Transport

#: How long a router waits for the confirmation before it takes a change back; IOS counts in minutes.
REVERT_MINUTES = 5


class Step(StrEnum):
    READ = "read"
    STAGE = "stage"
    ACTIVATE = "activate"
    VERIFY = "verify"
    RESTORE = "restore"
    #: The pieces of a push at once (`fan_out_push`); COMPARE is VERIFY without the confirmation.
    COMPARE = "compare"
    CONFIRM = "confirm"


@dataclass(slots=True)
class Outcome:
    """What a step did on one router.

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
    """What to do: a device's folder, which of its files is the target, when, and whether only to look."""

    folder: Path
    target: str = "after.txt"
    at: float = 0.0
    only_look: bool = False


async def take(step: Step, transport: Transport, order: Order) -> Outcome:
    """
    Raises:
        IosError, Unreadable, Unrenderable: the step failed; what was changed until then stays for a restore.
        OSError: the folder is not whole.
    """
    return await _STEPS[step](transport, order)


async def _read(transport: Transport, order: Order) -> Outcome:
    outputs = await transport.read(_commands(order.folder))
    _write(order.folder / "reading.json", json.dumps(outputs))
    return Outcome()


async def _stage(transport: Transport, order: Order) -> Outcome:
    outputs = await transport.read(_commands(order.folder))
    found = compare(order.folder, "before.txt", outputs)
    if not found.equal:
        if compare(order.folder, "after.txt", outputs).equal:
            return Outcome()  # it has all of it already
        raise IosError(f"{order.folder.name}: it was changed since it was read:\n{found.difference}")
    if not order.only_look:
        await transport.stage(_lines(order.folder / "apply.txt"), _lines(order.folder / "undo.txt"))
    return Outcome()


async def _activate(transport: Transport, order: Order) -> Outcome:
    found = await _compared(transport, order, "after.txt")
    outcome = Outcome(changed=not found.equal, before=found.before, after=found.after)
    if found.equal or order.only_look:
        return outcome
    apply = _lines(order.folder / "apply.txt")
    if apply != found.apply:
        raise IosError(f"{order.folder.name}: it was changed since it was staged")
    if not await transport.arm(apply, REVERT_MINUTES):
        outcome.notes.append("no revert timer: a change that is not verified is taken back by the controller alone")
    await asyncio.sleep(max(0.0, order.at - time.time()))
    outcome.began = time.time()
    await transport.activate(apply)
    outcome.ended = time.time()
    return outcome


async def _verify(transport: Transport, order: Order) -> Outcome:
    await _compare(transport, order)
    return await _confirm(transport, order)


async def _compare(transport: Transport, order: Order) -> Outcome:
    found = await _compared(transport, order, order.target)
    if not found.equal:
        raise IosError(f"{order.folder.name}: it does not have what is wanted:\n{found.difference}")
    return Outcome()


async def _confirm(transport: Transport, order: Order) -> Outcome:
    if not order.only_look:
        await transport.confirm()
    return Outcome()


async def _restore(transport: Transport, order: Order) -> Outcome:
    found = await _compared(transport, order, order.target)
    outcome = Outcome(changed=not found.equal, before=found.before, after=found.after)
    if order.only_look:
        return outcome
    outcome.began = time.time()
    await transport.change(found.apply)
    outcome.ended = time.time()
    left = await _compared(transport, order, order.target)
    if not left.equal:
        raise IosError(f"{order.folder.name}: it still differs:\n{left.difference}")
    return outcome


async def _compared(transport: Transport, order: Order, target: str) -> Comparison:
    outputs = await transport.read(_commands(order.folder))
    return compare(order.folder, target, outputs)


def _commands(folder: Path) -> list[str]:
    found: list[str] = json.loads((folder / "commands.json").read_text())
    return found


def _lines(file: Path) -> tuple[str, ...]:
    return tuple(file.read_text().splitlines())


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a reader never sees half of it."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


_STEPS: Mapping[Step, Callable[[Transport, Order], Awaitable[Outcome]]] = {
    Step.READ: _read,
    Step.STAGE: _stage,
    Step.ACTIVATE: _activate,
    Step.VERIFY: _verify,
    Step.COMPARE: _compare,
    Step.CONFIRM: _confirm,
    Step.RESTORE: _restore,
}
