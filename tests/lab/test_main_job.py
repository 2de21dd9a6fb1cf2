"""The main job on real routers: a reservation is there for exactly its slot, whatever happens to the controller."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.control import Lab
from lab.snapshot import snapshot
from tests.lab.conftest import INVENTORY, ROOT
from tests.support.controllers import Controller, wait_for

pytestmark = pytest.mark.lab
FLOW = ("--source", "anl-premium", "--destination", "lbnl-premium:5001", "--protocol", "udp", "--owner", "test")


@pytest.fixture
def controller(lab: Lab, state_dir: Path) -> Iterator[Controller]:
    with Controller(state_dir, INVENTORY) as running:
        running.wait_settled()
        yield running


def reserve(controller: Controller, name: str, start: str, duration: str, rate: str = "32 Mbit/s") -> None:
    controller.slotcar("create", "--name", name, *FLOW, "--rate", rate, "--start", start, "--duration", duration)


def flows(lab: Lab) -> str:
    """The flow's filter at the edge, empty where there is none."""
    return lab.check("anl-edge", ["tc", "filter", "show", "dev", "eth2", "ingress", "pref", "20813"])


def snapshots(lab: Lab) -> dict[str, str]:
    return {router: snapshot(lab, router) for router in lab.topology.routers}


def test_a_slot_begins_and_ends_and_leaves_the_routers_as_they_were(lab: Lab, controller: Controller) -> None:
    before = snapshots(lab)
    reserve(controller, "slot", "now + 12 s", "8 s")
    assert not flows(lab)
    # 32 Mb/s of payload in packets of 1500 bytes: 1472 of payload each (GARA §5.1).
    wait_for(lambda: re.search(r"dst_port 5001.*rate 32609Kbit", flows(lab), re.DOTALL) is not None, "the slot's flow")
    wait_for(lambda: not flows(lab), "the slot's end on the edge router")
    controller.wait_settled()
    assert snapshots(lab) == before
    kinds = [event["kind"] for event in controller.get("/v1/events?limit=1000")["items"]]
    assert "reservation.committed" in kinds
    assert "push.verified" in kinds
    assert "boundary.active" in kinds, "its end at least was the routers' own: a slow machine arms the start too late"


def test_a_cancel_in_the_middle_of_a_slot_reaches_the_routers_at_once(lab: Lab, controller: Controller) -> None:
    reserve(controller, "cancelled", "now", "10 min")
    wait_for(lambda: "dst_port 5001" in flows(lab), "the slot's flow")
    controller.slotcar("modify", "test/cancelled", "--rate", "16 Mbit/s")
    wait_for(lambda: "rate 16" in flows(lab), "the new rate")
    controller.slotcar("cancel", "test/cancelled", "--reason", "beam lost")
    wait_for(lambda: not flows(lab), "the flow's end")


@pytest.mark.slow  # in short: tests/lab/test_slots_through_chaos.py
def test_a_controller_killed_in_mid_slot_and_started_again_ends_with_the_right_configuration(
    lab: Lab, state_dir: Path
) -> None:
    with Controller(state_dir, INVENTORY) as first:
        first.wait_settled()
        before = snapshots(lab)
        reserve(first, "killed", "now", "25 s")
        wait_for(lambda: "dst_port 5001" in flows(lab), "the slot's flow")
        first.kill()
    assert "dst_port 5001" in flows(lab)
    with Controller(state_dir, INVENTORY) as second:
        second.wait_settled()
        wait_for(lambda: not flows(lab), "the slot's end")
        second.wait_settled()
        assert snapshots(lab) == before


def test_a_slot_begins_and_ends_on_its_routers_though_its_controller_never_comes_back(
    lab: Lab, state_dir: Path
) -> None:
    """DESIGN rule 9: what was armed on the device happens on the device."""
    with Controller(state_dir, INVENTORY) as controller:
        controller.wait_settled()
        before = snapshots(lab)
        reserve(controller, "orphan", "now + 30 s", "12 s")
        wait_for(lambda: controller.armed() == set(lab.topology.routers), "the boundary to be armed everywhere")
        assert not flows(lab)
        controller.kill()
        wait_for(lambda: "dst_port 5001" in flows(lab), "the slot's flow")
    wait_for(lambda: snapshots(lab) == before, "the routers to end the slot")


def test_a_router_in_trouble_withholds_what_crosses_it(lab: Lab, controller: Controller) -> None:
    lab.check("lbnl-edge", ["tc", "qdisc", "replace", "dev", "eth2", "root", "handle", "1:", "prio"])
    try:
        reserve(controller, "far", "now", "10 min")
        wait_for(lambda: bool(controller.check("device lbnl-edge")), "the trouble to be told")
        assert "which is not Slotcar's" in controller.check("device lbnl-edge")
        assert not flows(lab), "active on each router of its path, or on none (DESIGN rule 8)"
        kinds = [event["kind"] for event in controller.get("/v1/events?limit=1000")["items"]]
        assert "push.withheld" in kinds
    finally:
        lab.check("lbnl-edge", ["tc", "qdisc", "del", "dev", "eth2", "root"])
        wait_for(lambda: "dst_port 5001" in flows(lab), "the flow, once the router takes a push again")
        controller.slotcar("cancel", "test/far")
        wait_for(lambda: not flows(lab), "the flow's end")


@pytest.mark.slow
def test_the_emergency_playbook_needs_no_controller_and_no_database(lab: Lab, state_dir: Path) -> None:
    with Controller(state_dir, INVENTORY) as controller:
        controller.wait_settled()
        standing = snapshots(lab)
        pushed_before = controller.verified()
        reserve(controller, "emergency", "now", "10 min")
        wait_for(lambda: controller.verified() > pushed_before, "the push to be verified")
        controller.kill()
    lab.check("anl-edge", ["tc", "filter", "del", "dev", "eth2", "ingress", "protocol", "ip", "pref", "20813"])
    emergency(state_dir)
    assert "dst_port 5001" in flows(lab), "the last configuration known good has the flow"
    emergency(state_dir, "-e", "slotcar_emergency_to=before")
    assert snapshots(lab) == standing
    emergency(state_dir, "-e", "slotcar_emergency_to=unmanaged")
    for router in lab.topology.routers:
        assert "51c0" not in lab.check(router, ["tc", "qdisc", "show"])
    with Controller(state_dir, INVENTORY) as controller:
        controller.slotcar("cancel", "test/emergency")
        wait_for(lambda: "51c0" in lab.check("anl-edge", ["tc", "qdisc", "show"]), "Slotcar's queues")
        wait_for(lambda: not flows(lab), "the flow's end")
        controller.wait_settled()
    assert unnumbered(snapshots(lab)) == unnumbered(standing)


def unnumbered(found: dict[str, str]) -> dict[str, str]:
    """Without the numbers that the kernel gives actions by itself: these were all made anew."""
    return {router: re.sub(r"\bindex \d+", "index", text) for router, text in found.items()}


def emergency(state_dir: Path, *more: str) -> None:
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(INVENTORY),
            "playbooks/emergency-rollback.yml", "-e", f"slotcar_state={state_dir}", *more,
        ],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
