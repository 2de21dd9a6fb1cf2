"""A controller by the clock of a guest in virtual time: slots begin and end at their instants."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import pytest

from slotcar_lab import control, topology
from slotcar_lab import controller as controllers
from slotcar_lab.control import Lab
from slotcar_lab.controller import Controller
from slotcar_lab.guest import machine
from slotcar_lab.lateness import lags_cs
from slotcar_lab.snapshot import snapshot
from slotcar_lab.topology import PORT_BASE_VARIABLE
from slotcar_lab.virtual.conductor import Conductor
from slotcar_lab.virtual.guest_time import guest_time
from tests.lab.conftest import INVENTORY, free_base
from tests.support.postgres import stop_server

#: A boot and three pushes of its own take minutes. In short: a guest's own time, tests/lab/test_virtual_time.py.
pytestmark = [pytest.mark.lab, pytest.mark.slow]
ROUTER = "anl-edge"
PORT = "5555"
FLOW = ("--source", "anl-premium", "--destination", f"lbnl-premium:{PORT}", "--protocol", "udp", "--owner", "tests")
#: Seconds of the guest's.
SOON_S, STEPPED_S = 0.5, 2.0


class Conducted(NamedTuple):
    lab: Lab
    controller: Controller
    time: Conductor


@pytest.fixture(scope="module")
def conducted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conducted]:
    folder = tmp_path_factory.mktemp("conducted")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SLOTCAR_STATE_DIR", str(folder))
        patched.setenv(PORT_BASE_VARIABLE, str(free_base()))
        try:
            lab = control.up(topology.garnet(), folder / "lab", extras=machine.VIRTUAL_TIME)
            by = guest_time(lab, folder)
            assert by is not None
            controller = controllers.start(folder, INVENTORY, by=by)
            try:
                yield Conducted(lab, controller, Conductor(lab.clock, lambda: [controller.pid], by.idle))
            finally:
                controller.stop()
        finally:
            stop_server(folder / "postgres")
            control.down(folder / "lab")


def has_slot(lab: Lab) -> bool:
    return PORT in lab.check(ROUTER, ["tc", "filter", "show", "dev", "eth2", "ingress"])


def test_a_slot_is_on_the_routers_from_its_beginning_to_its_end(conducted: Conducted) -> None:
    lab, controller, time = conducted
    time.wait_idle()
    before = snapshot(lab, ROUTER)
    lasts = ("--start", "now + 4 min", "--duration", "2 min", "--rate", "10 Mbit/s")
    controller.slotcar("create", "--name", "later", *FLOW, *lasts)
    (entry,) = controller.get("/v1/reservations?state=committed")["items"]
    (window,) = entry["reservation"]["windows"]
    start, end = (datetime.fromisoformat(window[name]).timestamp() for name in ("start", "end"))
    assert start - time.now() == pytest.approx(240, abs=30)
    for at, on_routers in (
        (start - SOON_S, False),
        (start + STEPPED_S, True),
        (end - SOON_S, True),
        (end + STEPPED_S, False),
    ):
        time.wait_until(at)
        assert has_slot(lab) is on_routers, f"{at - start:.1f} s after its beginning"
    lags = lags_cs(lab, lab.topology.routers)
    assert set(lags) == set(lab.topology.routers)
    assert max(lags.values()) <= 100
    time.wait_idle()
    assert snapshot(lab, ROUTER) == before
    kinds = {event["kind"] for event in controller.get("/v1/events?limit=1000")["items"]}
    assert not kinds & {"controller.clock-off", "controller.clock-set", "device.clock-off", "push.failed"}
