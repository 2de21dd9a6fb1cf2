"""A controller by the clock of a guest in virtual time: slots begin and end at their instants."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from typing import Any, NamedTuple

import pytest

from slotcar_lab import control, topology
from slotcar_lab import controller as controllers
from slotcar_lab.control import Lab
from slotcar_lab.controller import Controller
from slotcar_lab.guest import machine
from slotcar_lab.lateness import lags_cs
from slotcar_lab.snapshot import snapshot
from slotcar_lab.topology import PORT_BASE_VARIABLE
from slotcar_lab.traffic import start_udp
from slotcar_lab.virtual.conductor import Conductor
from slotcar_lab.virtual.guest_time import guest_time
from tests.lab.conftest import INVENTORY, free_base
from tests.support.patience import PATIENCE_S
from tests.support.postgres import stop_server

#: A boot and three pushes of its own take minutes. In short: a guest's own time, tests/lab/test_virtual_time.py.
pytestmark = [pytest.mark.lab, pytest.mark.slow]
ROUTER = "anl-edge"
PORT = "5555"
FLOW = ("--source", "anl-premium", "--destination", f"lbnl-premium:{PORT}", "--protocol", "udp", "--owner", "tests")
#: Seconds of the guest's.
SOON_S, STEPPED_S = 0.5, 2.0
#: Of traffic: both ends of a flow run by then, and for so long; bytes of a packet, and of UDP's and IP's headers.
LEAD_S, LASTS_S = 4.0, 20.0
PAYLOAD_BYTES, HEADER_BYTES = 958, 28
FLOW_OF_TRAFFIC: dict[str, Any] = {"port": 5401, "payload_bytes": PAYLOAD_BYTES, "duration_s": LASTS_S}
#: How near what was counted is to what was measured.
WITHIN = 0.005


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


def test_what_the_controller_counted_is_what_receivers_measured(conducted: Conducted) -> None:
    """Each way at the router that polices it, and in the queue of every router on the way: the leader read it in its
    sessions, before the slot's end."""
    lab, controller, time = conducted
    time.wait_idle()
    both = ("--direction", "both", "--start", "now + 4 min", "--duration", "3 min", "--rate", "2 Mbit/s")
    ends = ("--source", "anl-premium", "--destination", "lbnl-premium", "--protocol", "udp", "--owner", "tests")
    controller.slotcar("create", "--name", "counted", *ends, *both)
    (entry,) = controller.get("/v1/reservations?name=counted&state=committed")["items"]
    (window,) = entry["reservation"]["windows"]
    start, end = (datetime.fromisoformat(window[name]).timestamp() for name in ("start", "end"))
    time.wait_until(start + STEPPED_S)
    begin = math.ceil(lab.clock.now()) + LEAD_S
    # What comes back is twice what is reserved for it: about half of it is dropped where it comes in.
    flows = {
        "forward": start_udp(lab, "anl-premium", "lbnl-premium", rate_bps=1_500_000, begin=begin, **FLOW_OF_TRAFFIC),
        "reverse": start_udp(lab, "lbnl-premium", "anl-premium", rate_bps=4_000_000, begin=begin, **FLOW_OF_TRAFFIC),
    }
    with ExitStack() as running:
        for flow in flows.values():
            running.enter_context(flow)
        time.wait_until(begin + LASTS_S + STEPPED_S)
        received = {way: flow.wait(PATIENCE_S) for way, flow in flows.items()}
    time.wait_until(end + STEPPED_S)
    time.wait_idle()
    usage = controller.get(f"/v1/reservations/{entry['handle']}/usage")
    for flow, path in zip(usage["flows"], entry["paths"], strict=True):
        got, total = received[flow["direction"]], flow["total"]
        measured = got.received_bytes + HEADER_BYTES * got.received_packets
        sent = got.sent_packets * (PAYLOAD_BYTES + HEADER_BYTES)
        assert flow["device"] == path["hops"][0]["device"]
        assert total["in_profile_bytes"] == pytest.approx(measured, rel=WITHIN), flow["direction"]
        assert total["in_profile_bytes"] + total["dropped_bytes"] == pytest.approx(sent, rel=WITHIN)
        assert bool(total["dropped_bytes"]) is (flow["direction"] == "reverse")
        for hop in path["hops"]:
            link = controller.get(f"/v1/usage/link?device={hop['device']}&interface={hop['egress']}")
            (premium,) = (one for one in link["services"] if one["service"] == "ip-premium")
            left_bytes = sum(one["sent_bytes"] for one in premium["items"])
            assert left_bytes == pytest.approx(measured, rel=WITHIN), (flow["direction"], hop)
