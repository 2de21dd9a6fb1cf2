"""One to many on random networks: the paths are a tree, each link carries a packet once, and one receiver is unicast."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import IPv4Address
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from slotcar.admission import demands
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import InterfaceRole, Protocol, Service
from slotcar.network.model import Device, Domain, Host, Interface, InterfaceId, Network
from slotcar.network.path import NoPath, Path, find_paths
from slotcar.reservation.model import Endpoint, Reservation
from tests.support.examples import examples

WINDOW = Window(datetime(2027, 3, 1, tzinfo=UTC), datetime(2027, 3, 2, tzinfo=UTC))
GROUP = Endpoint(host="239.1.2.3", port=1044)
ROUTERS = 6
#: Two routers and the metric each way.
Link = tuple[int, int, int, int]


def network_of(links: list[Link]) -> Network:
    """Routers `n0` … with a host `h0` … behind each; links side by side are allowed."""
    ports: dict[str, dict[str, Interface]] = {}
    for index in range(ROUTERS):
        lan = InterfaceId(device=f"n{index}", name="lan")
        ports[lan.device] = {"lan": Interface(id=lan, role=InterfaceRole.EDGE, capacity_bps=10**9, shares_ppm={})}
    for number, (near, distant, onward, back) in enumerate(links):
        for here, far, metric in ((near, distant, onward), (distant, near, back)) if near != distant else ():
            own, peer = (InterfaceId(device=f"n{index}", name=f"e{number}") for index in (here, far))
            ports[own.device][own.name] = Interface(
                id=own, role=InterfaceRole.CORE, capacity_bps=10**9, shares_ppm={}, neighbour=peer, metric=metric
            )
    devices = {
        name: Device(name=name, domain="d", platform="linux-tc", interfaces=interfaces)
        for name, interfaces in ports.items()
    }
    hosts = {
        f"h{index}": Host(
            name=f"h{index}", domain="d", address=IPv4Address(f"10.0.{index}.2"),
            attached_to=InterfaceId(device=f"n{index}", name="lan"),
        )
        for index in range(ROUTERS)
    }  # fmt: skip
    return Network(domains={"d": Domain(name="d")}, devices=devices, hosts=hosts, sls={})


def wanted(**ends: Any) -> Reservation:
    return Reservation.constant(
        name="a", owner="hep", source=Endpoint(host="h0"), protocol=Protocol.UDP, service=Service.IP_PREMIUM,
        windows=(WINDOW,), rate_bps=7_000_000, **ends,
    )  # fmt: skip


def rates(reservation: Reservation, paths: tuple[Path, ...], network: Network) -> dict[str, int]:
    return {str(one.resource): one.peak for one in demands(reservation, paths, network)}


any_links = st.lists(st.tuples(*[st.integers(0, ROUTERS - 1)] * 2, *[st.integers(1, 3)] * 2), max_size=12)
any_receivers = st.lists(st.integers(1, ROUTERS - 1), min_size=1, max_size=5, unique=True)


@examples(60, 400)
@given(any_links, any_receivers)
def test_a_tree_carries_each_packet_once(links: list[Link], receivers: list[int]) -> None:
    network, names = network_of(links), tuple(f"h{index}" for index in receivers)
    reservation = wanted(destination=GROUP, receivers=names)
    try:
        paths = find_paths(reservation, network)
    except NoPath:
        assume(False)
    assert [(path.source, path.destination) for path in paths] == [("h0", name) for name in names]
    ingresses: dict[str, set[InterfaceId]] = {}
    for path in paths:
        for hop in path.hops:
            ingresses.setdefault(hop.device, set()).add(hop.ingress)
    assert all(len(each) == 1 for each in ingresses.values()), "two paths that have parted meet again"
    together = rates(reservation, paths, network)
    alone = [rates(wanted(destination=Endpoint(host=path.destination)), (path,), network) for path in paths]
    assert together == {resource: rate for each in alone for resource, rate in each.items()}


@examples(40, 200)
@given(any_links, st.integers(1, ROUTERS - 1))
def test_one_receiver_asks_for_what_one_destination_asks_for(links: list[Link], receiver: int) -> None:
    """With the same metric both ways; among equal ways multicast takes the first of those back."""
    network = network_of([(one, other, 2**number, 2**number) for number, (one, other, *_) in enumerate(links)])
    group = wanted(destination=GROUP, receivers=(f"h{receiver}",))
    one = wanted(destination=Endpoint(host=f"h{receiver}", port=1044))
    try:
        paths = find_paths(one, network)
    except NoPath:
        assume(False)
    assert find_paths(group, network) == paths
    assert demands(group, paths, network) == demands(one, paths, network)
