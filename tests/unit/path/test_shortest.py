"""The shortest way against a search of all ways, on random networks with many equal sums."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.vocabulary import InterfaceRole
from slotcar.network.model import Device, Domain, Host, Interface, InterfaceId, Network
from slotcar.network.path.topology import topology_of

Links = list[tuple[int, int, int, int]]


def network_of(size: int, links: Links) -> Network:
    """Routers `n0` … with a link for each (router, router, metric there, metric back); parallel links are allowed."""
    ports: dict[str, dict[str, Interface]] = {f"n{index}": {} for index in range(size)}
    for number, (one, other, metric_there, metric_back) in enumerate(links):
        if one % size == other % size:
            continue
        ends = (f"n{one % size}", f"n{other % size}")
        for here, far, metric in ((ends[0], ends[1], metric_there), (ends[1], ends[0], metric_back)):
            ports[here][f"e{number}"] = Interface(
                id=InterfaceId(device=here, name=f"e{number}"),
                role=InterfaceRole.CORE,
                capacity_bps=1,
                shares_ppm={},
                neighbour=InterfaceId(device=far, name=f"e{number}"),
                metric=metric,
            )
    devices = {
        name: Device(name=name, domain="d", platform="linux-tc", interfaces=interfaces)
        for name, interfaces in ports.items()
    }
    return Network(domains={"d": Domain(name="d")}, devices=devices, hosts={}, sls={})


def all_ways(
    network: Network, here: str, goal: str, visited: tuple[str, ...]
) -> Iterator[tuple[int, tuple[tuple[str, str], ...]]]:
    """Cost and names of every way without a loop: (router entered, interface left by) for each step."""
    if here == goal:
        yield 0, ()
        return
    for interface in network.devices[here].interfaces.values():
        other = interface.neighbour
        if other is not None and other.device not in (here, *visited):
            for cost, rest in all_ways(network, other.device, goal, (*visited, here)):
                yield cost + interface.metric, ((other.device, interface.id.name), *rest)


@given(
    size=st.integers(2, 6),
    links=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 3), st.integers(1, 3)), max_size=9),
    avoided=st.sets(st.integers(1, 4), max_size=2),
)
def test_the_least_sum_and_among_equals_the_first_by_name(size: int, links: Links, avoided: set[int]) -> None:
    network = network_of(size, links)
    goal = f"n{size - 1}"
    closed = {f"n{index}" for index in avoided if index < size - 1}
    ways = [way for way in all_ways(network, "n0", goal, ()) if not closed & {device for device, _ in way[1]}]
    shortest = topology_of(network).shortest("n0", goal, closed)
    if not ways:
        assert shortest is None
        return
    assert shortest is not None
    assert tuple((step[1], step[2].name) for step in shortest) == min(ways)[1]


def test_a_host_is_where_its_entry_says_even_without_a_subnet() -> None:
    network = network_of(2, [(0, 1, 1, 1)])
    host = Host(name="h", domain="d", address=IPv4Address("192.0.2.7"), attached_to=InterfaceId(device="n0", name="x"))
    topology = topology_of(network.model_copy(update={"hosts": {"h": host}}))
    assert topology.locate(host.address) == host.attached_to
    assert topology.locate(IPv4Address("192.0.2.8")) is None


def test_a_networks_topology_is_built_once() -> None:
    network = network_of(2, [(0, 1, 1, 1)])
    assert topology_of(network) is topology_of(network)
    assert topology_of(network) is not topology_of(network.model_copy())
