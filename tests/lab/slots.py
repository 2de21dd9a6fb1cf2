"""What the tests ask of the lab's routers and of a controller about one flow's slot."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from slotcar_lab.control import Lab
from tests.support.controllers import Controller, wait_for

#: A command's own time, and how many pushes' time it takes until what was asked is read, pushed and told, at most.
LEAD_S, PUSHES = 14, 3
FLOW = ("--source", "anl-premium", "--destination", "lbnl-premium:5001", "--protocol", "udp")


def reserve(controller: Controller, name: str, start: str, duration: str, rate: str = "32 Mbit/s") -> None:
    window = ("--start", start, "--duration", duration)
    controller.slotcar("create", "--owner", "test", "--name", name, *FLOW, "--rate", rate, *window)


def armed_ahead(
    controller: Controller, lab: Lab, ask: Callable[[datetime, int], datetime], ready_s: float = 5.0
) -> datetime:
    """Asks for something that begins at an instant, until all routers hold it `ready_s` before; that instant.

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
        wait_for(partial(_decided, controller, lab, start, latest), "an answer", lead_s + 60, pause_s=0.3)
        if datetime.now(UTC) <= latest:
            return start
        wait_for(lambda over=over: datetime.now(UTC) > over, "the end of what came too early", lead_s + 300)
    raise AssertionError(f"the routers could not be armed {lead_s:.0f} s ahead")


def push_s(controller: Controller) -> float:
    """How long the last push took."""
    instants = {event["kind"]: datetime.fromisoformat(event["at"]) for event in controller.events()}
    return max(0.0, (instants["push.verified"] - instants["push.started"]).total_seconds())


def _decided(controller: Controller, lab: Lab, start: datetime, latest: datetime) -> bool:
    return armed(controller, lab, start) or datetime.now(UTC) > latest


def armed(controller: Controller, lab: Lab, at: datetime) -> bool:
    """Whether all routers hold what they are to do at this boundary."""
    return set().union(*controller.devices_of("boundary.staged", at)) == set(lab.topology.routers)


def policed(lab: Lab) -> str:
    """The flow's filter at the edge, empty where there is none."""
    return lab.check("anl-edge", ["tc", "filter", "show", "dev", "eth2", "ingress", "pref", "20813"])


def wait_policed(lab: Lab, words: str = "dst_port 5001") -> None:
    wait_for(lambda: words in policed(lab), f"{words} at the edge", pause_s=0.3)


def wait_not_policed(lab: Lab) -> None:
    wait_for(lambda: not policed(lab), "the flow's end on the edge router", pause_s=0.3)
