"""What `slotcar events --follow` says of pushes that come at no boundary: late, by a request, and to repair."""

from __future__ import annotations

import pytest

from slotcar.cli.event_lines import PushLines
from tests.integration.rollout.test_armed import FIRST, Armed, armed, carries, reserve
from tests.support.controllers import Controller
from tests.support.patience import wait_for

__all__ = ["armed"]


def push_lines(controller: Controller) -> list[str]:
    """Of pushes, as a follower would have them, without their numbers and times."""
    pushes = PushLines(lambda boundary: "a boundary")
    lines = [line for event in controller.events() for line in pushes.add(event)] + pushes.flush()
    return [parts[3] for parts in (line.split("  ", 3) for line in lines) if parts[2] == "pushed"]


@pytest.mark.slow
def test_each_push_names_its_reservations(armed: Armed) -> None:
    first = armed.world.routers[FIRST]
    with armed.controller() as controller:
        controller.wait_settled()
        reserve(controller, "open", "now", "10 min")
        wait_for(lambda: carries(first) and controller.settled(), "the slot")
        (started,) = (one for one in controller.get("/v1/timeline")["items"] if one["starting"])
        line = push_lines(controller)[-1]
        assert line.startswith(f"for {started['at'][:19]}Z (+test/open) on "), line

        first.reload()
        controller.slotcar("drift", "--repair", "--yes")
        wait_for(lambda: carries(first), "the slot again")
        controller.wait_settled()
        assert push_lines(controller)[-1] == f"what is wanted (test/open) on {FIRST}"

        controller.slotcar("cancel", "test/open", "--yes", "--reason", "beam lost")
        wait_for(lambda: not carries(first) and controller.settled(), "the flow's end")
        line = push_lines(controller)[-1]
        assert line.startswith("(-test/open) on "), line
