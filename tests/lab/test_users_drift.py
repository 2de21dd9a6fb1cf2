"""A router that somebody changed by hand: it is told, repaired, or rolled back, with a controller and without."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.snapshot import snapshots
from tests.lab import slots
from tests.lab.conftest import INVENTORY, Controllers
from tests.lab.slots import policed, wait_not_policed, wait_policed
from tests.support.controllers import slotcar
from tests.support.patience import wait_for

pytestmark = pytest.mark.lab
FLOW = (*slots.FLOW, "--owner", "drift")
FILTER = ("dev", "eth2", "ingress", "protocol", "ip", "pref", "20813")


def test_a_controller_sees_drift_tells_it_and_repairs_it(lab: Lab, controllers: Controllers) -> None:
    controller = controllers.settled(SLOTCAR_CHECK_INTERVAL="8 s")
    controller.slotcar("create", "--name", "seen", *FLOW, "--rate", "10 Mbit/s", "--duration", "1 h")
    wait_policed(lab)
    controller.wait_settled()
    last = controller.events()[-1]["sequence"]  # another case may have changed a router by hand, too
    lab.check("anl-edge", ["tc", "filter", "del", *FILTER])

    def drifted() -> list[str]:
        events = controller.events()
        return [event["device"] for event in events if event["kind"] == "device.drifted" and event["sequence"] > last]

    wait_for(lambda: drifted() == ["anl-edge"], "the drift to be told")
    wait_policed(lab)
    controller.slotcar("cancel", "drift/seen", "--yes")
    wait_not_policed(lab)
    controllers.stop()  # no other case wants one that reads the routers so often


@pytest.mark.slow
def test_a_router_tells_of_a_change_by_hand_long_before_the_next_check(lab: Lab, controllers: Controllers) -> None:
    controller = controllers.settled(SLOTCAR_CHECK_INTERVAL="1 h", SLOTCAR_WATCH="true")
    wait_for(lambda: controller.check("watch") == "4 of 4 devices tell of changes", "all routers to be watched")
    controller.slotcar("create", "--name", "told", *FLOW, "--rate", "10 Mbit/s", "--duration", "1 h")
    wait_policed(lab)
    controller.wait_settled()
    last = controller.events()[-1]["sequence"]
    lab.check("anl-edge", ["tc", "filter", "del", *FILTER])

    def events_of(kind: str) -> list[dict[str, Any]]:
        return [event for event in controller.events() if event["kind"] == kind and event["sequence"] > last]

    wait_for(lambda: bool(events_of("device.drifted")), "the drift to be told")
    wait_policed(lab)
    controller.wait_settled()
    assert [event["device"] for event in events_of("device.drifted")] == ["anl-edge"]
    (check,) = events_of("controller.check-asked")
    assert check["details"]["message"] == "told of a change: anl-edge: filter deleted on eth2"
    controller.slotcar("cancel", "drift/told", "--yes")
    wait_not_policed(lab)


@pytest.mark.slow
def test_drift_and_rollback_by_hand(lab: Lab, state_dir: Path, alone: None) -> None:
    environment = os.environ | {"SLOTCAR_STATE_DIR": str(state_dir), "SLOTCAR_INVENTORY": str(INVENTORY)}

    def run(*arguments: str, code: int = 0) -> str:
        return slotcar(*arguments, environment=environment, code=code)

    run("push", "--yes")
    unreserved = snapshots(lab)
    assert "as wanted" in run("drift")
    run("create", "--name", "hand", *FLOW, "--rate", "10 Mbit/s", "--duration", "1 h")
    run("push", "--yes")
    with_flow = datetime.now(UTC)
    revisions = [one["revision"] for one in json.loads(run("rollback", "--list", "--format", "json"))]
    lab.check("anl-edge", ["tc", "filter", "del", *FILTER])

    printed = run("drift", "--device", "anl-edge", code=7)
    assert "drifted" in printed
    assert "1 line missing or changed, 0 that should not be there" in printed
    run("drift", "--repair", "--yes")
    assert "dst_port 5001" in policed(lab)

    held: set[str] = set()

    def roll_back(*arguments: str) -> None:
        matched = re.search(r"\. (.+) (?:is|are) held until", run("rollback", "--to", *arguments, "--yes"))
        assert matched is not None
        held.update(matched[1].split(", "))

    roll_back("baseline")
    assert snapshots(lab) == unreserved
    roll_back(revisions[-1], "--device", "anl-edge")
    assert "dst_port 5001" in policed(lab)
    roll_back("baseline")
    roll_back(with_flow.isoformat())
    assert "dst_port 5001" in policed(lab)
    assert "neither a revision nor a time" in run("rollback", "--to", "yesterday", code=1)
    assert "either a revision" in run("rollback", revisions[-1], "--to", "baseline", code=2)

    run("cancel", "drift/hand", "--yes")
    run("push", "--yes", code=1)
    run("release", *sorted(held), "--yes")
    run("push", "--yes")
    assert not policed(lab)
