"""A promised delay holds where the very bursts that it assumes are sent, and is at most twice the worst that is seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Interface
from typing import NamedTuple

import pytest

from slotcar.base.vocabulary import InterfaceRole, Protocol, Service
from slotcar.book.model import Entry
from slotcar.measuring.metrics import delay
from slotcar.network.model import Device, Domain, Host, Interface, InterfaceId, Network
from slotcar.planning.delay_bounds import DelayBounds
from slotcar.planning.routing import route
from slotcar.platforms import renderer_of
from slotcar.platforms.intent.flows import flows_of
from slotcar.reservation.model import Endpoint, Reservation, TimeBound
from slotcar_lab import traffic
from slotcar_lab.control import Lab
from slotcar_lab.experiments.capture import Capture, stamps
from slotcar_lab.experiments.figures import WAITING_US
from tests.support.requests import T0, reservation
from tests.unit.platforms.worlds import intents

pytestmark = pytest.mark.lab
LINE_BPS, LOAD_BPS = 24_000_000, 28_000_000
#: With their headers all packets have 1,000 bytes; of these a policer counts Ethernet's header too.
PAYLOAD_BYTES, POLICED_BYTES = 958, 1_000
PACKET_BYTES = PAYLOAD_BYTES + 28
PORT, OTHER_PORT, THIRD_PORT, LOAD_PORT = 5001, 5003, 5004, 5002
DURATION_S, LEAD_S = 6.0, 3.0
#: Sends bursts one after another, each when the buckets are full again: `PORT:PACKETS` in turn, then a pause. The kernel
#: cuts what it is given at once into datagrams (UDP_SEGMENT): a call for each took so long that queues drained meanwhile.
SENDER = """
import socket, struct, sys, time
address, pause, rounds = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
bursts = [tuple(map(int, one.split(":"))) for one in sys.argv[4:]]
ends = {port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port, _ in bursts}
for end in ends.values():
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_000_000)
    end.setsockopt(17, 103, PAYLOAD)
number = 0
for _ in range(rounds):
    for port, packets in bursts:
        for first in range(0, packets, 60):
            numbers = range(number, number + min(60, packets - first))
            ends[port].sendto(b"".join(struct.pack("!Q", one) + bytes(PAYLOAD - 8) for one in numbers), (address, port))
            number += len(numbers)
    time.sleep(pause)
""".replace("PAYLOAD", str(PAYLOAD_BYTES))


def one_router() -> Network:
    """The router of the virtual lab, as an inventory has it."""
    shares = {Service.IP_PREMIUM: 450_000, Service.ASSURED_RATE: 300_000, Service.QBSS: 10_000}
    interfaces = {
        f"eth{number}": Interface(
            id=InterfaceId(device="router", name=f"eth{number}"),
            role=InterfaceRole.EDGE,
            capacity_bps=LINE_BPS,
            shares_ppm=shares,
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
    return Network(domains={"lab": Domain(name="lab")}, devices={"router": device}, hosts=hosts, sls={})


NETWORK = one_router()


def entry(number: int, port: int, rate_bps: int, rtt_us: int, service: Service, delay_us: int | None = None) -> Entry:
    wanted: Reservation = reservation(
        f"r{number}", rate_bps, source=Endpoint(host="near"), destination=Endpoint(host="far", port=port),
        protocol=Protocol.UDP, packet_size_bytes=PACKET_BYTES, rtt_us=rtt_us, service=service,
        delay=None if delay_us is None else TimeBound(at_most_us=delay_us),
    )  # fmt: skip
    return route(wanted, NETWORK).entry(f"handle-{number}", number, T0)


@contextmanager
def pushed(lab: Lab, entries: Sequence[Entry]) -> Iterator[None]:
    """The router as Slotcar pushes it while these are open."""
    device = NETWORK.devices["router"]
    renderer = renderer_of(device)
    answers = {command: lab.check("router", ["sh", "-c", command]) for command in renderer.readback_commands(device)}
    wanted = renderer.configuration(intents(NETWORK, *entries)["router"], device)
    change = renderer.change(renderer.running(answers, device), wanted, device)

    def run(lines: Sequence[str]) -> None:
        lab.check("router", ["tc", "-batch", "-"], stdin="".join(f"{line}\n" for line in lines))

    run(change.apply)
    try:
        yield
    finally:
        run(change.undo)


def burst_bytes(one: Entry) -> int:
    """What its policer lets through at once."""
    (flow,) = flows_of(one, one.reservation.slots[0], NETWORK)
    return renderer_of(NETWORK.devices["router"]).policer(flow, NETWORK.devices["router"])[1]


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
    return size_bytes // POLICED_BYTES + 4


def test_in_strict_priority_the_bound_holds_and_is_at_most_twice_the_worst(virtual_lab: Lab) -> None:
    """Two reservations send their whole bursts at once, the one with the promise last."""
    bounded = entry(1, PORT, 1_500_000, 1_000_000, Service.IP_PREMIUM, delay_us=400_000)
    other = entry(2, OTHER_PORT, 1_000_000, 1_000_000, Service.IP_PREMIUM)
    DelayBounds(NETWORK).check(bounded, [other])
    (case,) = DelayBounds(NETWORK).worst(bounded, [other])
    bursts = [(port, packets_of(burst_bytes(one))) for port, one in ((OTHER_PORT, other), (PORT, bounded))]
    with pushed(virtual_lab, [bounded, other]):
        measured = worst_seen(virtual_lab, bursts, pause_s=0.6)
    bound_ms = case.delay.total_ns / 1_000_000
    print(f"strict priority: bound {bound_ms:.2f} ms, worst seen {measured.worst_ms:.2f} ms")
    assert measured.received >= burst_bytes(bounded) // POLICED_BYTES
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
    bursts = [(THIRD_PORT, 2 * packets_of(burst_bytes(others[1]))), (PORT, packets_of(burst_bytes(bounded)))]
    with pushed(virtual_lab, [bounded, *others]):
        measured = worst_seen(virtual_lab, bursts, pause_s=2.2, loads=[(OTHER_PORT, 12_000_000)])
    bound_ms = case.delay.total_ns / 1_000_000
    print(f"assured rate: bound {bound_ms:.2f} ms, worst seen {measured.worst_ms:.2f} ms")
    assert measured.worst_ms <= bound_ms <= 2 * measured.worst_ms
