"""One step on many NETCONF peers at once, from one process: what a task of Ansible's calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from controller.problems import SlotcarError
from controller.rollout.ios.login import Login, Unreachable
from controller.rollout.ios.steps import Order, Outcome, Step, take
from controller.rollout.netconf.transport import NetconfTransport

#: How many peers are talked to at once; ncclient blocks, so each has a thread.
TOGETHER = 100


@dataclass(frozen=True, slots=True)
class Job:
    """One peer's share of a step. `confirm_s` is how long it waits for the confirmation; None for the steps' own time."""

    device: str
    login: Login
    order: Order
    confirm_s: int | None = None


def fan_out(step: Step, jobs: Sequence[Job]) -> dict[str, Outcome]:
    """Every peer's outcome, by name. Never raises for a peer's sake."""
    return asyncio.run(_all(step, jobs))


async def _all(step: Step, jobs: Sequence[Job]) -> dict[str, Outcome]:
    with ThreadPoolExecutor(max_workers=max(1, min(TOGETHER, len(jobs))), thread_name_prefix="netconf") as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        outcomes = await asyncio.gather(*(_one(step, job) for job in jobs))
    return dict(zip((job.device for job in jobs), outcomes, strict=True))


async def _one(step: Step, job: Job) -> Outcome:
    transport = NetconfTransport(job.device, job.login, job.order.at, job.confirm_s)
    try:
        await transport.open()
        if step is Step.RESTORE and not job.order.only_look:
            # What waits to be confirmed goes first, so that the comparison is with what is there without it.
            await transport.cancel()
        return await take(step, transport, job.order)
    except Unreachable as error:
        return Outcome(error=str(error), unreachable=True)
    except (SlotcarError, OSError) as error:
        return Outcome(error=str(error))
    finally:
        await transport.close()
