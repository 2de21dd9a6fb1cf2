"""The main job where its controller dies: what is armed happens, what is open ends, an operator can take it all back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slotcar_lab.chaos.round import unnumbered
from slotcar_lab.control import Lab
from slotcar_lab.snapshot import snapshots
from tests.lab.conftest import INVENTORY, ROOT, Controllers
from tests.lab.slots import policed, reserve, wait_not_policed, wait_policed
from tests.support.controllers import Controller, slotcar
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.postgres import pull_the_plug

pytestmark = pytest.mark.lab


@pytest.mark.slow  # in short: the emergency playbook, below
def test_a_controller_killed_in_mid_slot_and_started_again_ends_with_the_right_configuration(
    lab: Lab, controllers: Controllers
) -> None:
    first = controllers.settled()
    before = snapshots(lab)
    reserve(first, "killed", "now", "25 s")
    wait_policed(lab)
    first.kill()
    assert "dst_port 5001" in policed(lab)
    second = controllers.settled()
    wait_not_policed(lab)
    second.wait_settled()
    assert snapshots(lab) == before


@pytest.mark.slow  # its slot comes in real time, armed or not; in short: tests/integration/rollout/test_armed.py
def test_a_slot_begins_and_ends_on_its_routers_though_its_controller_never_comes_back(
    lab: Lab, controller: Controller
) -> None:
    """docs/design.md rule 9: what was armed on the device happens on the device."""
    before = snapshots(lab)
    reserve(controller, "orphan", "now + 30 s", "12 s")
    wait_for(lambda: controller.armed() == set(lab.topology.routers), "the boundary to be armed everywhere")
    assert not policed(lab)
    controller.kill()
    wait_policed(lab)
    wait_for(lambda: snapshots(lab) == before, "the routers to end the slot")


def test_the_emergency_playbook_needs_no_controller_and_no_database(
    lab: Lab, state_dir: Path, controllers: Controllers
) -> None:
    controller = controllers.settled()
    without_flow = snapshots(lab)
    die_in_a_slot(lab, state_dir, controller, "emergency")
    lab.check("anl-edge", ["tc", "filter", "del", "dev", "eth2", "ingress", "protocol", "ip", "pref", "20813"])
    emergency(state_dir)
    assert "dst_port 5001" in policed(lab), "the last configuration known good has the flow"
    emergency(state_dir, "-e", "slotcar_emergency_to=before")
    assert snapshots(lab) == without_flow
    slotcar("cancel", "test/emergency", "--yes", environment=controller.environment)


@pytest.mark.slow  # in short: the case above
def test_the_emergency_playbook_takes_all_of_slotcar_off_the_routers(
    lab: Lab, state_dir: Path, controllers: Controllers
) -> None:
    controller = controllers.settled()
    without_flow = snapshots(lab)
    die_in_a_slot(lab, state_dir, controller, "unmanaged")
    emergency(state_dir, "-e", "slotcar_emergency_to=unmanaged")
    for router in lab.topology.routers:
        assert "51c0" not in lab.check(router, ["tc", "qdisc", "show"])
    slotcar("cancel", "test/unmanaged", "--yes", environment=controller.environment)
    controllers.settled()
    assert not policed(lab)
    assert without_numbers(snapshots(lab)) == without_numbers(without_flow)


def die_in_a_slot(lab: Lab, state_dir: Path, controller: Controller, name: str) -> None:
    """A reservation is on the routers; controller and database are dead."""
    pushed_before = controller.verified()
    reserve(controller, name, "now", "10 min")
    wait_for(lambda: controller.verified() > pushed_before, "the push to be verified")
    controller.kill()
    pull_the_plug(state_dir / "postgres")


def without_numbers(texts: dict[str, str]) -> dict[str, str]:
    return {router: unnumbered(text) for router, text in texts.items()}


def emergency(state_dir: Path, *more: str) -> None:
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(INVENTORY),
            "playbooks/emergency-rollback.yml", "-e", f"slotcar_state={state_dir}", "--limit", "domains", *more,
        ],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
