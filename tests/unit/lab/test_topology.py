"""Topologies are checked, and their routes follow the shortest path the same way each time."""

from __future__ import annotations

from ipaddress import IPv4Interface
from pathlib import Path

import pytest
from pydantic import ValidationError

from slotcar.network import load_network
from slotcar.network.model import InterfaceId
from slotcar_lab.demo.run import INVENTORY, RATES_BPS
from slotcar_lab.topology import End, Kind, Link, Node, Route, Topology, garnet


def router(name: str) -> Node:
    return Node(name=name, kind=Kind.ROUTER)


def link(number: int, *ends: tuple[str, str], metric: int = 10, **details: int) -> Link:
    link_ends = tuple(
        End(node=node, interface=interface, address=IPv4Interface(f"10.0.{number}.{host}/24"), metric=metric)
        for host, (node, interface) in enumerate(ends, start=1)
    )
    return Link(ends=link_ends, **details)


def via(topology: Topology, node: str) -> dict[str, str]:
    return {str(route.destination): route.via for route in topology.routes(node)}


def test_routes_lead_along_the_chain() -> None:
    assert via(garnet(), "anl-border") == {
        "10.10.3.0/30": "10.10.2.2",
        "10.10.11.0/24": "10.10.1.1",
        "10.10.12.0/24": "10.10.1.1",
        "10.10.21.0/24": "10.10.2.2",
        "10.10.22.0/24": "10.10.2.2",
    }


def test_a_host_reaches_everything_through_its_router() -> None:
    assert set(via(garnet(), "lbnl-traffic").values()) == {"10.10.22.1"}


def test_a_cheaper_detour_wins_over_a_direct_link() -> None:
    triangle = Topology(
        nodes=tuple(router(name) for name in "abc"),
        links=(
            link(1, ("a", "eth1"), ("b", "eth1"), metric=100),
            link(2, ("a", "eth2"), ("c", "eth1")),
            link(3, ("c", "eth2"), ("b", "eth2")),
            link(4, ("b", "eth3"), ("c", "eth3"), metric=1000),
        ),
    )
    assert via(triangle, "a")["10.0.3.0/24"] == "10.0.2.2"
    assert via(triangle, "a")["10.0.4.0/24"] == "10.0.2.2"


def test_hosts_forward_nothing_even_on_two_links() -> None:
    bypass = Topology(
        nodes=(router("a"), router("b"), router("c"), Node(name="h", kind=Kind.HOST)),
        links=(
            link(1, ("a", "eth1"), ("b", "eth1")),
            link(2, ("b", "eth2"), ("c", "eth1")),
            link(3, ("a", "eth2"), ("h", "eth1"), metric=1),
            link(4, ("c", "eth2"), ("h", "eth2"), metric=1),
        ),
    )
    assert via(bypass, "a")["10.0.4.0/24"] == "10.0.1.2"


def test_islands_have_no_routes_to_each_other() -> None:
    islands = Topology(
        nodes=tuple(router(name) for name in "abcd"),
        links=(link(1, ("a", "eth1"), ("b", "eth1")), link(2, ("c", "eth1"), ("d", "eth1"))),
    )
    assert islands.routes("a") == ()


def test_routes_are_sorted_and_repeatable() -> None:
    routes = garnet().routes("esnet-hub")
    assert list(routes) == sorted(routes)
    assert routes == garnet().routes("esnet-hub")
    assert isinstance(routes[0], Route)


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([link(1, ("a", "eth1"), ("x", "eth1"))], "there is no node x"),
        ([link(1, ("a", "eth1"), ("b", "eth1")), link(2, ("a", "eth1"), ("b", "eth2"))], "a:eth1 is on more than one"),
        ([link(1, ("a", "eth1"), ("b", "eth1")), link(1, ("a", "eth2"), ("b", "eth2"))], "two links share one subnet"),
    ],
    ids=["unknown node", "doubled interface", "doubled subnet"],
)
def test_inconsistent_links_are_refused_in_words(links: list[Link], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Topology(nodes=(router("a"), router("b")), links=tuple(links))


def test_doubled_nodes_and_addresses_are_refused() -> None:
    with pytest.raises(ValidationError, match="nodes named twice: a"):
        Topology(nodes=(router("a"), router("a")), links=())
    same = IPv4Interface("10.0.1.1/24")
    with pytest.raises(ValidationError, match="one address twice"):
        Topology(
            nodes=(router("a"), router("b")),
            links=(
                Link(ends=(End(node="a", interface="e", address=same), End(node="b", interface="e", address=same))),
            ),
        )


def test_names_that_linux_refuses_are_refused_here() -> None:
    with pytest.raises(ValidationError):
        End(node="a", interface="GigabitEthernet0/1", address=IPv4Interface("10.0.0.1/24"))


def test_the_fingerprint_tells_topologies_apart() -> None:
    assert garnet().fingerprint() == garnet().fingerprint()
    assert garnet().fingerprint() != garnet((100_000_000, 60_000_000, 50_000_000)).fingerprint()
    assert Topology.model_validate(garnet().model_dump(mode="json")) == garnet()


@pytest.mark.parametrize(
    ("inventory", "built"),
    [(Path(__file__).parents[3] / "inventories" / "lab", garnet()), (INVENTORY, garnet(RATES_BPS))],
    ids=["lab", "demo"],
)
def test_wires_carry_what_the_inventory_says_that_they_carry(inventory: Path, built: Topology) -> None:
    network = load_network(inventory)
    for wire in built.links:
        for end in wire.ends:
            if wire.rate_bps:
                assert (
                    network.interface(InterfaceId(device=end.node, name=end.interface)).capacity_bps == wire.rate_bps
                )
