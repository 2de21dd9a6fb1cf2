"""What a router counts of a reserved flow is what its receiver measured, each way, at the edge and in the queue."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import InterfaceRole, Service
from slotcar.book.timeline import active_at
from slotcar.network.model import Network
from slotcar.planning.offline import entries_of
from slotcar.platforms import renderer_of
from slotcar.platforms.counting import Amount, FlowPlace, QueuePlace, counting_of
from slotcar.platforms.intent import intents_at
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.model import Configuration
from slotcar_lab.control import Lab
from slotcar_lab.traffic import start_udp
from tests.support.networks import line_network
from tests.support.patience import PATIENCE_S
from tests.support.requests import reservation

pytestmark = pytest.mark.lab
NOW = datetime(2030, 1, 1, tzinfo=UTC)
PAYLOAD_BYTES, HEADER_BYTES = 958, 28
RATE_BPS, LINE_BPS = 800_000, 8_000_000
WITHIN = 0.005


def test_counted_bytes_are_those_that_receivers_measured(virtual_lab: Lab) -> None:
    intent, network = intent_of(virtual_lab)
    device = network.devices["r1"]
    renderer, counting = renderer_of(device), counting_of(device)
    assert counting is not None
    wanted = renderer.configuration(intent, device)
    change = renderer.change(Configuration(device.name, device.platform), wanted, device)
    virtual_lab.check("router", ["tc", "-batch", "-"], stdin="\n".join(change.apply) + "\n")
    try:
        begin = int(virtual_lab.clock.now()) + 3.0
        flows = {
            ends: start_udp(
                virtual_lab, *ends, port=port, rate_bps=rate_bps, payload_bytes=PAYLOAD_BYTES, duration_s=3.0, begin=begin
            )
            for ends, port, rate_bps in ((("near", "far"), 5401, RATE_BPS), (("far", "near"), 5401, RATE_BPS * 2))
        }  # fmt: skip
        with ExitStack() as running:
            received = {ends: running.enter_context(flow).wait(PATIENCE_S) for ends, flow in flows.items()}
        (command,) = counting.commands(device)
        printed = {command: virtual_lab.check("router", ["sh", "-c", command])}
    finally:
        virtual_lab.check("router", ["tc", "-batch", "-"], stdin="\n".join(change.undo) + "\n")
    counts = counting.counts(printed, device, intent, wanted)
    for ends, way_in, way_out in ((("near", "far"), "eth1", "eth2"), (("far", "near"), "eth2", "eth1")):
        (edge,) = (one for place, one in counts.items() if isinstance(place, FlowPlace) and place.interface == way_in)
        got, sent = received[ends], received[ends].sent_packets
        measured = got.received_bytes + HEADER_BYTES * got.received_packets
        assert edge.in_profile.ip_bytes == pytest.approx(measured, rel=WITHIN)
        assert counts[QueuePlace(way_out, Service.IP_PREMIUM)].in_profile.ip_bytes == pytest.approx(
            measured, rel=WITHIN
        )
        assert edge.in_profile + edge.dropped == Amount(sent, sent * (PAYLOAD_BYTES + HEADER_BYTES))
        assert bool(edge.dropped.packets) is (ends == ("far", "near")), "it sent twice what is reserved for it"


def intent_of(lab: Lab) -> tuple[QosIntent, Network]:
    """One reserved flow each way between the lab's hosts, on a router that has both for edges."""
    network = line_network(1, capacity_bps=LINE_BPS)
    both = {"source": {"host": "src"}, "destination": {"host": "dst", "port": 5401}, "direction": "both"}
    window = Window(NOW - timedelta(hours=1), NOW + timedelta(hours=1))
    entries = entries_of([reservation("cms", RATE_BPS, protocol="udp", **both).over((window,))], network, NOW)
    intent = intents_at(active_at(entries, NOW), network)["r1"]
    near, far = (str(lab.topology.address_of(name)) for name in ("near", "far"))
    flows = tuple(_between(one, near, far) for one in intent.flows)
    assert {one.interface.name for one in flows} == {"eth1", "eth2"}
    assert all(one.role is InterfaceRole.EDGE for one in network.devices["r1"].interfaces.values())
    return replace(intent, flows=flows), network


def _between(flow: EdgeFlow, near: str, far: str) -> EdgeFlow:
    ends = (near, far) if flow.interface.name == "eth1" else (far, near)
    match = replace(
        flow.match, source_address=ends[0], destination_address=ends[1], source_port=None, destination_port=5401
    )
    return replace(flow, match=match)
