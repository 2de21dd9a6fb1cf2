"""The next ways of a flow: in the order of their metrics, over the routers of `via`, each with its SLSs."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.vocabulary import Direction, InterfaceRole
from slotcar.network.model import Host, Interface, InterfaceId, Network
from slotcar.network.path import find_paths
from slotcar.network.path.candidates import candidate_paths
from slotcar.network.path.topology import topology_of
from slotcar.reservation.model import Reservation
from tests.unit.path.test_find_paths import devices, wanted
from tests.unit.path.test_shortest import Links, all_ways, network_of

#: n0 to n3 over n1 (metric 2 in all), over n2 (4), directly (9), and over both (5).
DIAMOND: Links = [(0, 1, 1, 1), (1, 3, 1, 1), (0, 2, 2, 2), (2, 3, 2, 2), (0, 3, 9, 9), (1, 2, 2, 3)]


def with_hosts(network: Network, first: str, last: str) -> Network:
    hosts, devices = {}, dict(network.devices)
    for number, (name, router) in enumerate((("src", first), ("dst", last))):
        subnet = IPv4Network(f"10.0.{number}.0/24")
        port = Interface(
            id=InterfaceId(device=router, name="lan"), role=InterfaceRole.EDGE, capacity_bps=1, shares_ppm={},
            prefixes=(subnet,),
        )  # fmt: skip
        device = devices[router]
        devices[router] = device.model_copy(update={"interfaces": device.interfaces | {"lan": port}})
        address = IPv4Address(f"10.0.{number}.2")
        hosts[name] = Host(name=name, domain="d", address=address, attached_to=port.id)
    return network.model_copy(update={"devices": devices, "hosts": hosts})


NETWORK = with_hosts(network_of(4, DIAMOND), "n0", "n3")


def ways(request: Reservation, most: int = 9, network: Network = NETWORK) -> list[list[str]]:
    first = find_paths(request, network)
    return [devices(paths[0]) for paths in candidate_paths(request, network, first, most)]


def test_they_come_by_their_metrics_without_the_first() -> None:
    assert devices(find_paths(wanted(), NETWORK)[0]) == ["n0", "n1", "n3"]
    assert ways(wanted()) == [["n0", "n2", "n3"], ["n0", "n1", "n2", "n3"], ["n0", "n2", "n1", "n3"], ["n0", "n3"]]
    assert ways(wanted(), most=1) == [["n0", "n2", "n3"]]


def test_a_direct_link_that_is_dearer_is_not_taken_for_the_shortest() -> None:
    assert ways(wanted())[-1] == ["n0", "n3"]


def test_the_routers_of_via_are_crossed_in_their_order() -> None:
    assert ways(wanted(via=("n2",))) == [["n0", "n1", "n2", "n3"], ["n0", "n2", "n1", "n3"]]
    assert ways(wanted(via=("n2", "n1"))) == []


def test_both_directions_cross_the_same_routers() -> None:
    for forward, back in candidate_paths(
        both := wanted(direction=Direction.BOTH), NETWORK, find_paths(both, NETWORK), 9
    ):
        assert devices(back) == devices(forward)[::-1]


edges = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 9), st.integers(1, 9)), max_size=12)


@given(edges)
def test_routes_are_all_ways_of_routers_by_their_least_sums(links: Links) -> None:
    network = network_of(6, links)
    costs: dict[tuple[str, ...], int] = {}
    for cost, steps in all_ways(network, "n0", "n5", ()):
        way = ("n0", *(router for router, _ in steps))
        costs[way] = min(cost, costs.get(way, cost))
    routes = list(islice(topology_of(network).routes("n0", "n5"), 1000))
    assert sorted(routes) == sorted(costs)
    assert [costs[way] for way in routes] == sorted(costs.values())
