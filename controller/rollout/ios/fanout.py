"""One step on many routers at once, from one process: what a task of Ansible's calls (STACK-NOTES, push speed)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controller.problems import SlotcarError
from controller.rollout.ios.login import Login, Unreachable
from controller.rollout.ios.napalm import NapalmTransport
from controller.rollout.ios.ssh import SshTransport
from controller.rollout.ios.steps import Order, Outcome, Step, take
from controller.rollout.ios.transport import Transport

#: How many logins are made at once; a router has few lines, but each has its own.
TOGETHER = 100
TRANSPORTS: dict[str, Callable[[str, Login, str], Transport]] = {"ssh": SshTransport, "napalm": NapalmTransport}


@dataclass(frozen=True, slots=True)
class Job:
    """One router's share of a step. `transport` is `ssh` or `napalm`; `flash` is where it keeps files."""

    device: str
    login: Login
    order: Order
    transport: str = "ssh"
    flash: str = "flash:"


def fan_out(step: Step, jobs: Sequence[Job]) -> dict[str, Outcome]:
    """Every router's outcome, by name. Never raises for a router's sake."""
    return asyncio.run(_all(step, jobs))


def fan_out_push(jobs: Sequence[Job]) -> dict[str, Outcome]:
    """Stage, activate at the instant, compare and confirm, on one login each: a step begins when all did the one before.

    Where one fails nothing more is done anywhere: what was activated is left unconfirmed, for a restore.
    """
    return asyncio.run(_push(jobs))


async def _all(step: Step, jobs: Sequence[Job]) -> dict[str, Outcome]:
    gate = asyncio.Semaphore(TOGETHER)
    outcomes = await asyncio.gather(*(_one(step, job, gate) for job in jobs))
    return dict(zip((job.device for job in jobs), outcomes, strict=True))


async def _one(step: Step, job: Job, gate: asyncio.Semaphore) -> Outcome:
    transport = TRANSPORTS[job.transport](job.device, job.login, job.flash)
    try:
        opened = await _open(transport, gate)
        return opened if opened.error else await _take(step, transport, job)
    finally:
        await transport.close()


async def _open(transport: Transport, gate: asyncio.Semaphore) -> Outcome:
    try:
        async with gate:
            await transport.open()
    except Unreachable as error:
        return Outcome(error=str(error), unreachable=True)
    except (SlotcarError, OSError) as error:
        return Outcome(error=str(error))
    return Outcome()


async def _take(step: Step, transport: Transport, job: Job) -> Outcome:
    try:
        return await take(step, transport, job.order)
    except (SlotcarError, OSError) as error:
        return Outcome(error=str(error))


async def _push(jobs: Sequence[Job]) -> dict[str, Outcome]:
    gate = asyncio.Semaphore(TOGETHER)
    transports = [TRANSPORTS[job.transport](job.device, job.login, job.flash) for job in jobs]
    total = [Outcome() for _ in jobs]
    try:
        found = list(await asyncio.gather(*(_open(transport, gate) for transport in transports)))
        for step in (Step.STAGE, Step.ACTIVATE, Step.COMPARE, Step.CONFIRM):
            if any(one.error for one in found):
                break
            found = list(await asyncio.gather(*(_take(step, t, job) for t, job in zip(transports, jobs, strict=True))))
            if step is Step.ACTIVATE:
                total = found
    finally:
        await asyncio.gather(*(transport.close() for transport in transports))
    for one, last in zip(total, found, strict=True):
        one.error, one.unreachable = last.error, last.unreachable
    return dict(zip((job.device for job in jobs), total, strict=True))
