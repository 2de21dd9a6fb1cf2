"""What the tests ask of the lab's routers and of a controller about one flow's slot."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from math import ceil

from lab.control import Lab
from tests.support.controllers import Controller, wait_for

#: So many times as long as its last push took, a controller is told ahead: another may go on, and the routers are read.
PUSHES_AHEAD = 3
FLOW = ("--source", "anl-premium", "--destination", "lbnl-premium:5001", "--protocol", "udp")


def reserve(controller: Controller, name: str, start: str, duration: str, rate: str = "32 Mbit/s") -> None:
    window = ("--start", start, "--duration", duration)
    controller.slotcar("create", "--owner", "test", "--name", name, *FLOW, "--rate", rate, *window)


def armed_ahead(
    controller: Controller, lab: Lab, ask: Callable[[datetime, int], None], ready_s: float = 5.0
) -> datetime:
    """Asks for something that begins at an instant, until all routers hold it `ready_s` before; that instant.

    Args:
        ask: is given the instant and the number of the attempt. A machine that is busy needs a later one.
    """
    push_s = last_push_s(controller)
    for attempt, least_s in enumerate((18, 40, 90)):
        lead_s = max(least_s, ceil(PUSHES_AHEAD * push_s))
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=lead_s)
        ask(start, attempt)
        latest = start - timedelta(seconds=ready_s)
        wait_for(
            partial(_decided, controller, lab, start, latest), "an answer", patience_s=2 * lead_s + 60, pause_s=0.3
        )
        if datetime.now(UTC) <= latest:
            return start
    raise AssertionError(f"the routers could not be armed 85 s ahead, nor {PUSHES_AHEAD} times as long as a push took")


def last_push_s(controller: Controller) -> float:
    """How long the last push took that was verified: what this machine has time for."""
    events = controller.events()
    verified = next((event for event in reversed(events) if event["kind"] == "push.verified"), None)
    if verified is None:
        return 0.0
    begun = next(
        event
        for event in events
        if event["kind"] == "push.started" and event["details"]["revision"] == verified["details"]["revision"]
    )
    first, last = (datetime.fromisoformat(event["at"]) for event in (begun, verified))
    return (last - first).total_seconds()


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
