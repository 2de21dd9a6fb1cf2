"""A step on many devices of any family at once, from one process: what a task of Ansible's calls (ADR 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from slotcar.base.problems import SlotcarError
from slotcar.rollout import steps
from slotcar.rollout.play_clock import now_s
from slotcar.rollout.steps import Answers, Outcome, Prepared, PushStep
from slotcar.rollout.transport import Order, Transport, Unreachable

#: How many logins are made at once. Each device that is served by a library that blocks has a thread of as many.
TOGETHER = 100
#: So long before the first instant all devices are read once more and made ready: a NETCONF candidate is locked, and a
#: revert timer runs, for no longer than that and the change.
READY_S = 10.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job:
    """One device's share of a step. `connect` makes its transport, which is not open yet."""

    device: str
    order: Order
    connect: Callable[[], Transport]


@dataclass(slots=True)
class _Member:
    """A device in the middle of a step. `outcome` has the first error, and nothing is done after it."""

    job: Job
    transport: Transport
    outcome: Outcome = field(default_factory=Outcome)
    answers: Answers | None = None
    prepared: Prepared | None = None

    @property
    def failed(self) -> bool:
        return bool(self.outcome.error)

    async def do(self, what: Callable[[], Awaitable[T]]) -> T | None:
        """The result of the step; None where the device failed, now or before."""
        if self.failed:
            return None
        try:
            return await what()
        except Unreachable as error:
            self.outcome.error, self.outcome.unreachable = str(error), True
        except (SlotcarError, OSError) as error:
            self.outcome.error = str(error)
        except Exception as error:  # of a library or a peer: it must not end what goes on on the other devices
            self.outcome.error = f"{self.job.device}: unforeseen: {type(error).__name__}: {error}"
        return None

    async def close(self) -> None:
        """Ends the connection. Where that fails the outcome stays: all was done that was to be done."""
        with suppress(Exception):
            await self.transport.close()


def fan_out(step: PushStep, jobs: Sequence[Job]) -> dict[str, Outcome]:
    """Every device's outcome, by name. Never raises for a device's sake.

    A step goes on on the others where one device fails, but for an activation: what is known to fail before the instant
    keeps every device as it is.
    """
    return asyncio.run(_with_threads(_step(step, jobs), len(jobs)))


def fan_out_push(jobs: Sequence[Job]) -> dict[str, Outcome]:
    """Stage, activate at the instant, compare and confirm, on one login each: a step begins when all did the one before.

    Where one fails nothing more is done anywhere: what was activated is left unconfirmed, for a restore.
    """
    return asyncio.run(_with_threads(_push(jobs), len(jobs)))


async def _with_threads(work: Awaitable[T], count: int) -> T:
    """Runs a thread for each device: a library that blocks on one must not delay the others beyond their instant."""
    with ThreadPoolExecutor(max_workers=max(1, min(TOGETHER, count)), thread_name_prefix="fanout") as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        return await work


async def _step(step: PushStep, jobs: Sequence[Job]) -> dict[str, Outcome]:
    async def alone(member: _Member) -> None:
        try:
            await _open(member, gate)
            done = await member.do(lambda: steps.ALONE[step](member.transport, member.job.order))
            member.outcome = done or member.outcome
        finally:
            await member.close()

    gate, members = asyncio.Semaphore(TOGETHER), _members(jobs)
    if step is not PushStep.ACTIVATE:
        await asyncio.gather(*(alone(member) for member in members))
        return _outcomes(members)
    try:
        await asyncio.gather(*(_open(member, gate) for member in members))
        await _activate(members)
    finally:
        await asyncio.gather(*(member.close() for member in members))
    return _outcomes(members)


async def _push(jobs: Sequence[Job]) -> dict[str, Outcome]:
    async def opened(member: _Member) -> None:
        await _open(member, gate)

    gate, members = asyncio.Semaphore(TOGETHER), _members(jobs)
    try:
        for phase in (opened, _stage):
            await asyncio.gather(*(phase(member) for member in members))
            if any(member.failed for member in members):
                return _outcomes(members)
        await _activate(members)
        for last in (steps.check, steps.confirm):
            if any(member.failed for member in members):
                break
            await asyncio.gather(*(_finish(member, last) for member in members))
    finally:
        await asyncio.gather(*(member.close() for member in members))
    return _outcomes(members)


def _members(jobs: Sequence[Job]) -> list[_Member]:
    return [_Member(job, job.connect()) for job in jobs]


def _outcomes(members: Sequence[_Member]) -> dict[str, Outcome]:
    return {member.job.device: member.outcome for member in members}


async def _open(member: _Member, gate: asyncio.Semaphore) -> None:
    async with gate:
        await member.do(member.transport.open)


async def _stage(member: _Member) -> None:
    member.answers = await member.do(lambda: steps.stage_and_keep_answers(member.transport, member.job.order))


async def _activate(members: Sequence[_Member]) -> None:
    """Compares all, makes all ready, then changes all, each at its own instant. No configuration is changed where one
    cannot be made ready, and nothing is armed where one is not what it was when it was read."""
    first = min((member.job.order.at for member in members), default=0.0)
    await asyncio.sleep(max(0.0, first - READY_S - now_s()))
    for phase in (_prepare, _make_ready):
        await asyncio.gather(*(phase(member) for member in members))
        if any(member.failed for member in members):
            for member in members:
                member.outcome.changed = member.job.order.only_look and member.outcome.changed
            return
    await asyncio.gather(*(_make_change(member) for member in members))


async def _prepare(member: _Member) -> None:
    prepared = await member.do(lambda: steps.prepare(member.transport, member.job.order, member.answers))
    if prepared is not None:
        member.prepared, member.outcome = prepared, prepared.outcome


async def _make_ready(member: _Member) -> None:
    assert member.prepared is not None
    prepared = member.prepared
    await member.do(lambda: steps.make_ready(member.transport, member.job.order, prepared))


async def _make_change(member: _Member) -> None:
    assert member.prepared is not None
    prepared = member.prepared
    await member.do(lambda: steps.make_change(member.transport, member.job.order, prepared))


async def _finish(member: _Member, last: Callable[[Transport, Order], Awaitable[Outcome]]) -> None:
    await member.do(lambda: last(member.transport, member.job.order))
