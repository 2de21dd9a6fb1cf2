"""A network of 96 edge routers behind four core routers, and the ways of 400 pairs of its hosts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

import numpy as np

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import InterfaceRole, Protocol, Service
from slotcar.book.model import Entry
from slotcar.network.model import Device, Domain, Host, Interface, InterfaceId, Network
from slotcar.planning.offline import entries_of
from slotcar.reservation.model import Endpoint, Reservation

CORES, EDGES, PAIRS = 4, 96, 400
SEED = 20_270_301
#: A link's capacity: what is reserved of it at once is never near.
CAPACITY_BPS = 10**13
_SHARES = {Service.IP_PREMIUM: 450_000}


@dataclass(frozen=True, slots=True)
class World:
    """Attributes:
    pairs: one entry for each pair of hosts, with its path and its demands at 1 Mbit/s.
    """

    network: Network
    pairs: tuple[Entry, ...]


def world() -> World:
    network = _network()
    random = np.random.default_rng(SEED)
    ends = [random.choice(EDGES, 2, replace=False) for _ in range(PAIRS)]
    now = datetime(2027, 1, 1, tzinfo=UTC)
    requests = [
        Reservation.constant(
            name=f"pair-{number}", owner="bench", source=Endpoint(host=f"h{a}"), destination=Endpoint(host=f"h{b}"),
            protocol=Protocol.UDP, service=Service.IP_PREMIUM, rate_bps=1_000_000,
            windows=(Window(now + timedelta(hours=number), now + timedelta(hours=number + 1)),),
        )
        for number, (a, b) in enumerate(ends)
    ]  # fmt: skip
    return World(network, tuple(entries_of(requests, network, now)))


def _network() -> Network:
    """Core routers are joined each to each; an edge router has one host and one line to a core router."""
    lines: dict[str, dict[str, Interface]] = {}
    subnets = (IPv4Address("10.0.0.0") + 256 * number for number in itertools.count())

    def port(device: str, name: str, role: InterfaceRole, base: IPv4Address, far: InterfaceId | None = None) -> None:
        ports = lines.setdefault(device, {})
        ports[name] = Interface(
            id=InterfaceId(device=device, name=name), role=role, capacity_bps=CAPACITY_BPS, shares_ppm=_SHARES,
            address=IPv4Interface(f"{base + 1 + (far is not None and far.device < device)}/24"), neighbour=far,
            prefixes=() if far else (IPv4Network(f"{base}/24"),),
        )  # fmt: skip

    def line(a: str, b: str) -> None:
        near, far = (InterfaceId(device=one, name=f"to-{other}") for one, other in ((a, b), (b, a)))
        base = next(subnets)
        port(a, near.name, InterfaceRole.CORE, base, far)
        port(b, far.name, InterfaceRole.CORE, base, near)

    for a, b in itertools.combinations(range(CORES), 2):
        line(f"core{a}", f"core{b}")
    hosts = {}
    for number in range(EDGES):
        name = f"edge{number}"
        line(name, f"core{number % CORES}")
        base = next(subnets)
        port(name, "eth0", InterfaceRole.EDGE, base)
        hosts[f"h{number}"] = Host(
            name=f"h{number}", domain="campus", address=base + 2, attached_to=InterfaceId(device=name, name="eth0")
        )
    devices = {
        name: Device(name=name, domain="campus", platform="linux-tc", interfaces=ports)
        for name, ports in lines.items()
    }
    return Network(domains={"campus": Domain(name="campus")}, devices=devices, hosts=hosts, sls={}, source="benchmark")
