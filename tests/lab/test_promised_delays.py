"""A promised delay holds where the very bursts that it assumes are sent, and is at most twice the worst that is seen."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Interface
from typing import NamedTuple

import pytest

from slotcar.base.assured import AssuredClass
from slotcar.base.vocabulary import InterfaceRole, Protocol, Service
from slotcar.book.model import Entry
from slotcar.measuring.metrics import delay
from slotcar.network.model import Device, Domain, Host, Interface, InterfaceId, Network
from slotcar.planning.delay_bounds import DelayBounds
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint, Reservation, TimeBound
from slotcar_lab import traffic
from slotcar_lab.control import Lab
from slotcar_lab.experiments.capture import Capture, stamps
from slotcar_lab.experiments.figures import WAITING_US
from tests.lab.bursts import FRAME_BYTES, PACKET_BYTES, PAYLOAD_BYTES, SENDER, burst_bytes, pushed
from tests.support.requests import T0, reservation

pytestmark = pytest.mark.lab
LINE_BPS, LOAD_BPS = 24_000_000, 28_000_000
PORT, OTHER_PORT, THIRD_PORT, FOURTH_PORT, LOAD_PORT = 5001, 5003, 5004, 5005, 5002
DURATION_S, LEAD_S = 6.0, 3.0


#: Of the assured rate, half of its 30 % each.
CLASSES = (
    AssuredClass("gold", 0, 150_000, (10, 12, 14)),
    AssuredClass("silver", 1, 150_000, (18, 20, 22)),
)


def one_router(classes: tuple[AssuredClass, ...] = ()) -> Network:
    """The router of the virtual lab, as an inventory has it."""
    shares = {Service.IP_PREMIUM: 450_000, Service.ASSURED_RATE: 300_000, Service.QBSS: 10_000}
    interfaces = {
        f"eth{number}": Interface(
            id=InterfaceId(device="router", name=f"eth{number}"),
            role=InterfaceRole.EDGE,
            capacity_bps=LINE_BPS,
            shares_ppm=shares,
            assured_classes=classes,
            overhead_bytes=14,
            address=IPv4Interface(f"10.9.{number}.1/24"),
        )
        for number in (1, 2)
    }
    hosts = {
        name: Host(name=name, domain="lab", address=IPv4Address(f"10.9.{number}.2"), attached_to=interfaces[key].id)
        for number, (name, key) in enumerate((("near", "eth1"), ("far", "eth2")), start=1)
    }
    device = Device(name="router", domain="lab", platform="linux-tc", interfaces=interfaces)
    domain = Domain(name="lab", assured_classes={one.name: one for one in classes})
    return Network(domains={"lab": domain}, devices={"router": device}, hosts=hosts, sls={})


NETWORK = one_router()
WITH_CLASSES = one_router(CLASSES)


def entry(
    number: int,
    port: int,
    rate_bps: int,
    rtt_us: int,
    service: Service,
    delay_us: int | None = None,
    assured_class: str = "",
) -> Entry:
    wanted: Reservation = reservation(
        f"r{number}", rate_bps, source=Endpoint(host="near"), destination=Endpoint(host="far", port=port),
        protocol=Protocol.UDP, packet_size_bytes=PACKET_BYTES, rtt_us=rtt_us, service=service,
        delay=None if delay_us is None else TimeBound(at_most_us=delay_us), assured_class=assured_class or None,
    )  # fmt: skip
    network = WITH_CLASSES if assured_class else NETWORK
    return route(wanted, network).entry(f"handle-{number}", number, T0)


class Delays(NamedTuple):
    received: int
    worst_ms: float


def worst_seen(
    lab: Lab, bursts: Sequence[tuple[int, int]], pause_s: float, loads: Sequence[tuple[int, int]] = ()
) -> Delays:
    """Of the packets to `PORT`, beside best effort that fills the line, and other loads: port and rate."""
    leaving = Capture(lab, "near", "udp", outgoing=True)
    arriving = Capture(lab, "far", "udp", outgoing=False)
    begin = float(int(lab.clock.now() + LEAD_S))
    flows = [
        traffic.start_udp(
            lab, "near", "far", port=port, rate_bps=rate_bps * PAYLOAD_BYTES // 1_000, payload_bytes=PAYLOAD_BYTES,
            duration_s=DURATION_S, begin=begin,
        )
        for port, rate_bps in ((LOAD_PORT, LOAD_BPS), *loads)
    ]  # fmt: skip
    lab.clock.wait_until(begin + 1.0)
    rounds = int((DURATION_S - 2.0) / pause_s)
    words = [f"{port}:{packets}" for port, packets in bursts]
    address = lab.topology.address_of("far")
    with lab.popen("near", ["python3", "-c", SENDER, address, str(pause_s), str(rounds), *words]) as sender:
        lab.clock.wait_until(begin + DURATION_S + 1.0)
        sender.wait(300.0)
    for load in flows:
        load.wait(300.0)
        load.stop()
    sent, received = (
        [one for one in packets if one.destination_port == PORT] for packets in (leaving.packets(), arriving.packets())
    )
    arrived = [one for one in delay.one_way(stamps(sent, received), WAITING_US) if one.delay_us is not None]
    worst_us = delay.percentile(arrived, 100)
    assert worst_us is not None
    return Delays(len(arrived), float(worst_us) / 1_000)


def packets_of(size_bytes: int) -> int:
    """As many as use the bucket up, and a few that find it empty."""
    return size_bytes // FRAME_BYTES + 4


def test_in_strict_priority_the_bound_holds_and_is_at_most_twice_the_worst(virtual_lab: Lab) -> None:
    """Two reservations send their whole bursts at once, the one with the promise last."""
    bounded = entry(1, PORT, 1_500_000, 1_000_000, Service.IP_PREMIUM, delay_us=400_000)
    other = entry(2, OTHER_PORT, 1_000_000, 1_000_000, Service.IP_PREMIUM)
    DelayBounds(NETWORK).check(bounded, [other])
    (case,) = DelayBounds(NETWORK).worst(bounded, [other])
    bursts = [(port, packets_of(burst_bytes(one, NETWORK))) for port, one in ((OTHER_PORT, other), (PORT, bounded))]
    with pushed(virtual_lab, NETWORK, [bounded, other]):
        measured = worst_seen(virtual_lab, bursts, pause_s=0.6)
    bound_ms = case.delay.total_ns / 1_000_000
    print(f"strict priority: bound {bound_ms:.2f} ms, worst seen {measured.worst_ms:.2f} ms")
    assert measured.received >= burst_bytes(bounded, NETWORK) // FRAME_BYTES
    assert measured.worst_ms <= bound_ms <= 2 * measured.worst_ms


def test_of_a_weighted_class_the_bound_holds_and_is_at_most_twice_the_worst(virtual_lab: Lab) -> None:
    """Others' excess of both colours stands in the assured rate's queue; then comes more that conforms than it holds."""
    bounded = entry(1, PORT, 1_000_000, 8_000_000, Service.ASSURED_RATE, delay_us=1_000_000)
    others = [
        entry(2, OTHER_PORT, 100_000, 10_000, Service.ASSURED_RATE),
        entry(3, THIRD_PORT, 300_000, 6_400_000, Service.ASSURED_RATE),
    ]
    DelayBounds(NETWORK).check(bounded, others)
    (case,) = DelayBounds(NETWORK).worst(bounded, others)
    bursts = [
        (THIRD_PORT, 2 * packets_of(burst_bytes(others[1], NETWORK))),
        (PORT, packets_of(burst_bytes(bounded, NETWORK))),
    ]
    with pushed(virtual_lab, NETWORK, [bounded, *others]):
        measured = worst_seen(virtual_lab, bursts, pause_s=2.2, loads=[(OTHER_PORT, 12_000_000)])
    bound_ms = case.delay.total_ns / 1_000_000
    print(f"assured rate: bound {bound_ms:.2f} ms, worst seen {measured.worst_ms:.2f} ms")
    assert measured.worst_ms <= bound_ms <= 2 * measured.worst_ms


def test_of_a_named_class_the_bound_holds_and_is_at_most_twice_the_worst(virtual_lab: Lab) -> None:
    """The excess of gold stands in its own queue, that of silver in another; then comes more of gold that conforms."""
    assured = Service.ASSURED_RATE
    bounded = entry(1, PORT, 1_000_000, 8_000_000, assured, delay_us=2_000_000, assured_class="gold")
    others = [
        entry(2, OTHER_PORT, 100_000, 10_000, assured, assured_class="gold"),
        entry(3, THIRD_PORT, 300_000, 6_400_000, assured, assured_class="gold"),
        entry(4, FOURTH_PORT, 100_000, 10_000, assured, assured_class="silver"),
    ]
    DelayBounds(WITH_CLASSES).check(bounded, others)
    (case,) = DelayBounds(WITH_CLASSES).worst(bounded, others)
    bursts = [
        (THIRD_PORT, 2 * packets_of(burst_bytes(others[1], WITH_CLASSES))),
        (PORT, packets_of(burst_bytes(bounded, WITH_CLASSES))),
    ]
    loads = [(OTHER_PORT, 12_000_000), (FOURTH_PORT, 12_000_000)]
    with pushed(virtual_lab, WITH_CLASSES, [bounded, *others]):
        measured = worst_seen(virtual_lab, bursts, pause_s=2.2, loads=loads)
    bound_ms = case.delay.total_ns / 1_000_000
    print(f"a named class: bound {bound_ms:.2f} ms, worst seen {measured.worst_ms:.2f} ms")
    assert measured.worst_ms <= bound_ms <= 2 * measured.worst_ms
