"""Bursts of what was admitted are dropped by a neighbour's policer, and are not where they are shaped to its SLS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.model import Entry
from slotcar.measuring.metrics import delay
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.delay_bounds import DelayBounds
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint, Reservation, TimeBound
from slotcar_lab import control
from slotcar_lab.control import Lab
from slotcar_lab.experiments.capture import Capture, stamps
from slotcar_lab.experiments.figures import WAITING_US
from slotcar_lab.experiments.wires import topology_of
from slotcar_lab.guest import machine
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.bursts import PACKET_BYTES, SENDER, answers_of, burst_bytes, pushed
from tests.lab.conftest import free_base
from tests.support.requests import T0, reservation

#: A lab of its own, in virtual time. In short: what is pushed and what admission counts, tests/golden/render,
#: tests/unit/network/test_shaping.py.
pytestmark = [pytest.mark.lab, pytest.mark.slow]
#: A line of 24 Mb/s between two domains. East lets 3 Mb/s of premium in, and 20 kB at once.
INVENTORY = """
all:
  vars:
    slotcar_platform: linux-tc
    slotcar_capacity: 24 Mbit/s
    slotcar_overhead_bytes: 14
    slotcar_shares: {ip-premium: 45 %, qbss: 1 %}
  children:
    domains:
      children:
        west:
          hosts:
            west:
              slotcar_interfaces:
                eth1: {role: edge, address: 10.9.1.1/24}
                eth2:
                  {address: 10.9.3.1/30, neighbour: "east:eth2", propagation: 0 ms, scheduler: KIND, shape_to_sls: SHAPE}
        east:
          hosts:
            east:
              slotcar_interfaces:
                eth1: {role: edge, address: 10.9.2.1/24}
                eth2: {address: 10.9.3.2/30, neighbour: "west:eth2", propagation: 0 ms}
          vars:
            slotcar_sls:
              west-east: {upstream: west, service: ip-premium, rate: 3 Mbit/s, burst: 20 kB, ingress: "east:eth2"}
    slotcar_hosts:
      hosts:
        near: {slotcar_address: 10.9.1.2, slotcar_attached_to: "west:eth1"}
        far: {slotcar_address: 10.9.2.2, slotcar_attached_to: "east:eth1"}
"""
PORTS = (5001, 5003)
ROUNDS, PAUSE_S = 3, 0.6


def inventory(folder: Path, scheduler: str, shaped: bool) -> Network:
    path = folder / f"{scheduler}-{shaped}.yml"
    text = INVENTORY.replace("KIND", scheduler).replace("SHAPE", str(shaped).lower())
    path.write_text(text, encoding="utf-8")
    return load_network(path)


@pytest.fixture(scope="module")
def domains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("domains")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PORT_BASE_VARIABLE, str(free_base()))
        yield from _lab(folder)


def _lab(folder: Path) -> Iterator[Lab]:
    try:
        lab = control.up(topology_of(inventory(folder, "htb", False)), folder / "lab", extras=machine.VIRTUAL_TIME)
        lab.check("near", ["ping", "-c", "1", "-W", "5", lab.topology.address_of("far")])
        yield lab
    finally:
        control.down(folder / "lab")


def entries(network: Network) -> list[Entry]:
    """Two reservations that have the whole SLS together, each with a burst as long as its bucket."""
    wanted: list[Reservation] = [
        reservation(
            f"r{port}", 1_380_000, source=Endpoint(host="near"), destination=Endpoint(host="far", port=port),
            protocol=Protocol.UDP, packet_size_bytes=PACKET_BYTES, rtt_us=560_000, service=Service.IP_PREMIUM,
            delay=TimeBound(at_most_us=400_000),
        )
        for port in PORTS
    ]  # fmt: skip
    return [route(one, network).entry(f"handle-{number}", number, T0) for number, one in enumerate(wanted, 1)]


def sent_through(lab: Lab, network: Network) -> tuple[int, int, int, float]:
    """Sends what conforms to the buckets of both at once, several times: how many packets were sent, how many came, how
    many the neighbour's policer dropped, and the worst delay in milliseconds."""
    reserved = entries(network)
    packets = min(burst_bytes(one, network) for one in reserved) // PACKET_BYTES - 1
    leaving, arriving = Capture(lab, "near", "udp", outgoing=True), Capture(lab, "far", "udp", outgoing=False)
    with pushed(lab, network, reserved):
        words = [f"{port}:{packets}" for port in PORTS]
        begin = lab.clock.now()
        with lab.popen("near", ["python3", "-c", SENDER, "10.9.2.2", str(PAUSE_S), str(ROUNDS), *words]) as sender:
            lab.clock.wait_until(begin + ROUNDS * PAUSE_S + 1.0)
            sender.wait(300.0)
        counted = lab.check("east", ["tc", "-s", "filter", "show", "dev", "eth2", "ingress"])
    sent, received = leaving.packets(), arriving.packets()
    delays = [one.delay_us for one in delay.one_way(stamps(sent, received), WAITING_US) if one.delay_us is not None]
    return len(sent), len(received), policed(counted), max(delays) / 1_000


def policed(counted: str) -> int:
    """What policers of an ingress dropped, as `tc -s filter show` prints it."""
    return sum(map(int, re.findall(r"police .*?\(dropped (\d+)", counted, re.DOTALL)))


@pytest.mark.parametrize("scheduler", ["htb", "hfsc"])
def test_what_was_admitted_passes_the_neighbours_policer_where_it_is_shaped(
    domains: Lab, tmp_path: Path, scheduler: str
) -> None:
    before = {router: answers_of(domains, inventory(tmp_path, "htb", False), router) for router in ("west", "east")}
    plain, shaped = (inventory(tmp_path, scheduler, one) for one in (False, True))
    sent, came, dropped, _ = sent_through(domains, plain)
    print(f"{scheduler}, not shaped: of {sent} packets {came} came, the neighbour dropped {dropped}")
    assert dropped > 0
    assert came < sent
    sent, came, dropped, worst_ms = sent_through(domains, shaped)
    first, second = entries(shaped)
    bound_ms = max(case.delay.total_ns for case in DelayBounds(shaped).worst(first, [second])) / 1_000_000
    print(
        f"{scheduler}, shaped: of {sent} {came} came, {dropped} dropped; bound {bound_ms:.1f} ms, worst {worst_ms:.1f} ms"
    )
    assert (came, dropped) == (sent, 0)
    assert worst_ms <= bound_ms <= 2 * worst_ms
    after = {router: answers_of(domains, plain, router) for router in ("west", "east")}
    assert after == before
