"""The main job on real routers: a reservation is there for exactly its slot, whatever happens to the controller."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.snapshot import snapshots
from tests.lab.slots import policed, reserve, wait_not_policed, wait_policed
from tests.support.ahead import armed_ahead
from tests.support.controllers import Controller
from tests.support.patience import wait_for

pytestmark = pytest.mark.lab


def kinds(controller: Controller) -> set[str]:
    return {event["kind"] for event in controller.events()}


@pytest.mark.slow  # in short: tests/lab/test_tutorial.py
def test_a_slot_begins_and_ends_and_leaves_the_routers_as_they_were(lab: Lab, controller: Controller) -> None:
    def ask(start: datetime, attempt: int) -> datetime:
        reserve(controller, f"slot-{attempt}", start.isoformat(), "8 s")
        return start + timedelta(seconds=8)

    before = snapshots(lab)
    armed_ahead(controller, lab.topology.routers, ask, ready_s=2.0)
    assert not policed(lab)
    # 32 Mb/s of payload in packets of 1500 bytes: 1472 of payload each (GARA §5.1).
    wait_for(
        lambda: re.search(r"dst_port 5001.*rate 32609Kbit", policed(lab), re.DOTALL) is not None, "the slot's flow"
    )
    wait_not_policed(lab)
    controller.wait_settled()
    assert snapshots(lab) == before
    wait_for(lambda: "boundary.active" in kinds(controller), "what the routers did to be told")
    assert {"reservation.committed", "push.verified"} <= kinds(controller)


@pytest.mark.slow
def test_a_cancel_in_the_middle_of_a_slot_reaches_the_routers_at_once(lab: Lab, controller: Controller) -> None:
    reserve(controller, "cancelled", "now", "10 min")
    wait_policed(lab)
    controller.slotcar("modify", "test/cancelled", "--rate", "16 Mbit/s")
    wait_policed(lab, "rate 16")
    controller.slotcar("cancel", "test/cancelled", "--yes", "--reason", "beam lost")
    wait_not_policed(lab)


@pytest.mark.slow
def test_a_router_in_trouble_withholds_what_crosses_it(lab: Lab, controller: Controller) -> None:
    lab.check("lbnl-edge", ["tc", "qdisc", "replace", "dev", "eth2", "root", "handle", "1:", "prio"])
    try:
        reserve(controller, "far", "now", "10 min")
        wait_for(lambda: bool(controller.check("device lbnl-edge")), "the trouble to be told")
        assert "which is not Slotcar's" in controller.check("device lbnl-edge")
        assert not policed(lab), "active on each router of its path, or on none (docs/design.md rule 8)"
        assert "push.withheld" in kinds(controller)
    finally:
        lab.check("lbnl-edge", ["tc", "qdisc", "del", "dev", "eth2", "root"])
        wait_policed(lab)
        controller.slotcar("cancel", "test/far", "--yes")
        wait_not_policed(lab)
