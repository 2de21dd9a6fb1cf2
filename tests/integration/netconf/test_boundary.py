"""A boundary on a site of three families under one controller: one router acts by itself, for two a play waits."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar.store import open_ledger
from slotcar_lab.ios import Routers
from tests.integration.netconf.server import Server
from tests.support.cisco import without_fence
from tests.support.controllers import Controller
from tests.support.mixed import ACTS, HELD, PEER, MixedSite, begin_together
from tests.support.patience import wait_for

FLOWS = (("lbnl-premium", "ios-host:5001"), ("lbnl-premium", "peer-host:5002"))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[MixedSite]:
    # netconfd's socket needs a short path.
    with Routers() as routers, tempfile.TemporaryDirectory(prefix="slotcar-") as short:
        server = Server(Path(short) / "server")
        server.start()
        try:
            yield MixedSite(routers, server, tmp_path)
        finally:
            server.stop()


@pytest.mark.slow
def test_all_families_begin_and_end_at_the_same_boundary(site: MixedSite, tmp_path: Path, database_url: str) -> None:
    with open_ledger(database_url, tmp_path, migrate=True):
        state_dir = tmp_path / "controller"
        state_dir.mkdir()
    more = {"SLOTCAR_DATABASE_URL": database_url, "SLOTCAR_STAGE_LEAD": "40 s"}
    with Controller(state_dir, site.inventory, **more) as controller:
        controller.wait_settled()
        before = site.running()
        start, _ = begin_together(controller, FLOWS, after_s=130, lasts_s=45)
        wait_for(
            lambda: set().union(*controller.devices_of("boundary.active", start)) == {ACTS, HELD, PEER},
            "the start to be told",
            240.0,
        )
        assert controller.devices_of("boundary.staged", start) == [{ACTS}, {HELD, PEER}], "armed, and held"
        assert all("5001" in text or "5002" in text for text in site.running().values())
        (edge, held) = (site.routers[name] for name in (ACTS, HELD))
        assert edge.fired[0].at_ns / 1e9 >= start.timestamp() - 0.01
        changed = [one.at_ns / 1e9 for one in held.history if "5001" in one.line]
        assert changed
        assert min(changed) >= start.timestamp()
        wait_for(lambda: len(edge.fired) > 1, "the router's own end")
        wait_for(lambda: site.running()[HELD] == before[HELD], "the end on the others")
        controller.wait_settled()
        after = {name: without_fence(text) for name, text in site.running().items()}
        assert after == {name: without_fence(text) for name, text in before.items()}
        kinds = {event["kind"] for event in controller.events()}
        assert kinds & {"device.drifted", "boundary.failed", "push.failed"} == set()
