"""DataGRID's Catalysts and GSRs in software: a reservation comes, changes, drifts and goes on all of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Service
from slotcar.book.model import Entry
from slotcar_lab.ios import Routers
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.requests import reservation

EDGE, FAR = "cern-lan", "infn-cnaf"


def flow_of(world: CiscoWorld, rate_bps: int) -> tuple[Entry, ...]:
    now = datetime.now(UTC)
    ends = {"source": {"host": "cern-se"}, "destination": {"host": "infn-se", "port": 5001}, "direction": "both"}
    request = reservation("grid", rate_bps, **ends, service=Service.IP_PREMIUM)
    window = Window(now - timedelta(hours=1), now + timedelta(hours=1))
    return world.entries(request.over((window,)))


def test_a_reservation_comes_and_goes_on_catalysts_and_gsrs(tmp_path: Path) -> None:
    with Routers() as routers:
        world = CiscoWorld(routers, tmp_path, ROOT / "inventories" / "datagrid")
        platforms = {world.network.devices[name].platform for name in world.routers}
        assert platforms >= {"cisco-cat6500", "cisco-gsr"}
        operators = world.running()
        changed = set(world.push(flow_of(world, 10_000_000)).changed)
        assert changed == set(world.wanted()), "the standing configuration, on every managed router, and the flow"
        wanted = world.wanted(flow_of(world, 10_000_000))
        readings = world.read()
        assert {name: readings[name].configuration for name in wanted} == {
            name: one.configuration for name, one in wanted.items()
        }
        world.pusher.roll_back(world.pusher.archive.revisions()[0])
        assert world.running() == operators


@pytest.mark.slow  # in short: above; a change, drift and the way back to no reservation in test_ios
def test_a_reservation_changes_and_drifts_over_catalysts_and_gsrs(tmp_path: Path) -> None:
    with Routers() as routers:
        world = CiscoWorld(routers, tmp_path, ROOT / "inventories" / "datagrid")
        platforms = {world.network.devices[name].platform for name in world.routers}
        assert platforms >= {"cisco-cat6500", "cisco-gsr"}
        operators = world.running()
        assert set(world.push().changed) == set(world.wanted()), "the standing configuration, on every managed router"
        unreserved = world.running()
        assert world.push().changed == ()

        assert EDGE in world.push(flow_of(world, 10_000_000)).changed
        first = world.running()
        world.push(flow_of(world, 20_000_000))
        changed = {name for name, text in world.running().items() if text != first[name]}
        assert EDGE in changed

        wanted = world.wanted(flow_of(world, 20_000_000))[EDGE].configuration
        flow = wanted.lines.index(next(line for line in wanted.lines if line.startswith(" permit udp host")))
        section = next(line for line in reversed(wanted.lines[:flow]) if line.startswith("ip access-list"))
        assert world.routers[EDGE].configure(f"{section}\nno{wanted.lines[flow]}") == []
        assert world.read()[EDGE].configuration != wanted, "drift is seen"
        assert world.push(flow_of(world, 20_000_000)).changed == (EDGE,), "and mended"
        assert world.read()[EDGE].configuration == wanted

        world.push()
        assert world.running() == unreserved
        world.pusher.roll_back(world.pusher.archive.revisions()[0])
        assert world.running() == operators
