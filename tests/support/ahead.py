"""Slots that begin at an instant which the routers are armed for, however slow the machine is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from functools import partial

from tests.support.controllers import Controller
from tests.support.patience import wait_for

#: A command's own time, and how many pushes' time it takes until what was asked is read, pushed and told, at most.
LEAD_S, PUSHES = 14, 3


def armed_ahead(
    controller: Controller, devices: Collection[str], ask: Callable[[datetime, int], datetime], ready_s: float = 5.0
) -> datetime:
    """Asks for something that begins at an instant, until these devices hold it `ready_s` before; that instant.

    Args:
        ask: is given the instant and the number of the attempt, and gives when it will be over. A machine that is busy
            needs a later instant, by how long its last push took.
    """
    for attempt in range(3):
        controller.wait_settled()
        lead_s = LEAD_S + (1 + 2 * attempt) * PUSHES * push_s(controller)
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=lead_s)
        over = ask(start, attempt)
        latest = start - timedelta(seconds=ready_s)
        wait_for(partial(_decided, controller, devices, start, latest), "an answer", lead_s + 60, pause_s=0.3)
        if datetime.now(UTC) <= latest:
            return start
        wait_for(lambda over=over: datetime.now(UTC) > over, "the end of what came too early", lead_s + 300)
    raise AssertionError(f"the devices could not be armed {lead_s:.0f} s ahead")


def push_s(controller: Controller) -> float:
    """How long the last push took."""
    instants = {event["kind"]: datetime.fromisoformat(event["at"]) for event in controller.events()}
    return max(0.0, (instants["push.verified"] - instants["push.started"]).total_seconds())


def _decided(controller: Controller, devices: Collection[str], start: datetime, latest: datetime) -> bool:
    return armed(controller, devices, start) or datetime.now(UTC) > latest


def armed(controller: Controller, devices: Collection[str], at: datetime) -> bool:
    """Whether all these devices, and no others, hold what they are to do at this boundary."""
    return set().union(*controller.devices_of("boundary.staged", at)) == set(devices)
