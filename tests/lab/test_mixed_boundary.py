"""Real Linux routers beside IOS with and without an event manager, and NETCONF: all begin and end at the same boundary."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.ios import Routers
from tests.integration.netconf.server import Server
from tests.support.controllers import Controller
from tests.support.mixed import ACTS, HELD, PEER, MixedSite, begin_together
from tests.support.patience import wait_for

pytestmark = pytest.mark.lab
FLOWS = (("anl-premium", "lbnl-premium:5001"), ("ios-host", "peer-host:5002"))


@pytest.fixture
def site(lab: Lab, state_dir: Path, tmp_path: Path) -> Iterator[MixedSite]:
    # netconfd's socket needs a short path.
    with Routers() as routers, tempfile.TemporaryDirectory(prefix="slotcar-") as short:
        server = Server(Path(short) / "server")
        server.start()
        try:
            yield MixedSite(routers, server, tmp_path, state_dir / "lab")
        finally:
            server.stop()


@pytest.mark.slow
def test_four_families_begin_and_end_at_the_same_boundary(
    lab: Lab, alone: None, site: MixedSite, tmp_path: Path
) -> None:
    def flow() -> str:
        return lab.check("anl-edge", ["tc", "filter", "show", "dev", "eth2", "ingress", "pref", "20813"])

    state_dir = tmp_path / "controller"
    state_dir.mkdir()
    with Controller(state_dir, site.inventory, SLOTCAR_STAGE_LEAD="100 s") as controller:
        controller.wait_settled()
        start, end = begin_together(controller, FLOWS, after_s=150, lasts_s=60)
        acting = set(lab.topology.routers) | {ACTS}  # a Linux router on the way polices each flow, too
        everybody = acting | {HELD, PEER}
        wait_for(
            lambda: set().union(*controller.devices_of("boundary.active", start)) == everybody, "the start", 240.0
        )
        assert controller.devices_of("boundary.staged", start) == [acting, {HELD, PEER}], "armed, and held"
        assert "dst_port 5001" in flow()
        edge, held = (site.routers[name] for name in (ACTS, HELD))
        assert edge.fired[0].at_ns / 1e9 >= start.timestamp() - 0.01
        assert min(one.at_ns / 1e9 for one in held.history if "5002" in one.line) >= start.timestamp()
        wait_for(lambda: set().union(*controller.devices_of("boundary.active", end)) == everybody, "the end")
        assert "dst_port 5001" not in flow()
        assert [one.ended for one in edge.fired] == [True, True]
        kinds = {event["kind"] for event in controller.events()}
        assert kinds & {"device.drifted", "boundary.failed", "push.failed"} == set()
