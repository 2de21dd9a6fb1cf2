"""Routers that cannot act by themselves: what waits for a boundary on open connections follows a change of mind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar.store import open_ledger
from slotcar_lab.ios import Routers
from tests.integration.rollout.test_armed import Armed, carries, events, reserve
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.controllers import Controller
from tests.support.patience import wait_for

EDGE = "anl-7507-1"


@pytest.fixture
def held(tmp_path: Path, database_url: str) -> Iterator[Armed]:
    with open_ledger(database_url, tmp_path, migrate=True):
        pass
    with Routers() as routers:
        world = CiscoWorld(routers, tmp_path, ROOT / "inventories" / "garnet", platform="cisco-mqc")
        yield Armed(world, tmp_path / "controller", database_url)


#: A play waits from the moment that it is asked for: a slow machine has all the time until the slot's start for a change.
LEAD = {"SLOTCAR_STAGE_LEAD": "5 min"}


def staged(controller: Controller) -> None:
    wait_for(
        lambda: bool(events(controller, "push.started")[-1:]) and bool(events(controller, "boundary.staged")),
        "staging",
    )


@pytest.mark.slow
def test_a_cancel_while_a_play_waits_for_the_boundary_takes_it_away(held: Armed) -> None:
    with held.controller(**LEAD) as controller:
        controller.wait_settled()
        before = held.texts()
        reserve(controller, "gone", "now + 4 min", "10 min")
        staged(controller)
        controller.slotcar("cancel", "test/gone", "--yes")
        wait_for(lambda: bool(events(controller, "push.superseded")), "the play to be ended")
        controller.wait_settled()
        assert held.texts() == before
        assert events(controller, "boundary.active", "boundary.failed", "push.failed") == []


@pytest.mark.slow
def test_a_modify_while_a_play_waits_is_staged_anew(held: Armed) -> None:
    with held.controller(**LEAD) as controller:
        controller.wait_settled()
        reserve(controller, "more", "now + 2 min", "10 min")
        staged(controller)
        controller.slotcar("modify", "test/more", "--rate", "12 Mbit/s")
        router = held.world.routers[EDGE]
        wait_for(lambda: carries(router), "the slot's flow")
        controller.wait_settled()
        assert "police 12" in router.running_text() or "police cir 12" in router.running_text()
        assert len(events(controller, "push.superseded")) > 0
        assert events(controller, "boundary.failed", "push.failed") == []
