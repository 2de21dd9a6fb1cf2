"""Paths: endpoints, the shortest way, pinned routers, SLSs at crossings, and refusals in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.network import load_network
from slotcar.network.model import Device, Domain, InterfaceId, Network
from slotcar.network.path import NoPath, find_paths
from slotcar.reservation.model import Endpoint, Reservation
from tests.support.networks import line_network

INVENTORIES = Path(__file__).parents[3] / "inventories"
START = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def wanted(source: str = "src", destination: str = "dst", port: int | None = None, **changes: Any) -> Reservation:
    values: dict[str, Any] = {
        "name": "flow",
        "owner": "tester",
        "protocol": Protocol.UDP,
        "service": Service.IP_PREMIUM,
        "rate_bps": 1_000_000,
        "windows": (Window(START, START + HOUR),),
    }
    ends = {"source": Endpoint(host=source, port=port), "destination": Endpoint(host=destination, port=port)}
    return Reservation.constant(**(values | ends | changes))


def at(text: str) -> InterfaceId:
    device, name = text.split(":")
    return InterfaceId(device=device, name=name)


def devices(path: Any) -> list[str]:
    return [hop.device for hop in path.hops]


@pytest.fixture(scope="module")
def lab() -> Network:
    return load_network(INVENTORIES / "lab")


@pytest.fixture(scope="module")
def datagrid() -> Network:
    return load_network(INVENTORIES / "datagrid")


def test_both_directions_of_the_labs_premium_flow(lab: Network) -> None:
    forward, back = find_paths(wanted("anl-premium", "lbnl-premium", direction=Direction.BOTH), lab)
    assert devices(forward) == ["anl-edge", "anl-border", "esnet-hub", "lbnl-edge"]
    assert forward.edge == at("anl-edge:eth2")
    assert forward.hops[-1].egress == at("lbnl-edge:eth2")
    assert forward.sls == ("anl-esnet-ip-premium", "esnet-lbnl-ip-premium")
    assert (forward.source, forward.source_address) == ("anl-premium", "10.10.11.2")
    assert devices(back) == devices(forward)[::-1]
    assert back.sls == ("lbnl-esnet-ip-premium", "esnet-anl-ip-premium")
    assert (back.source, back.destination_address) == ("lbnl-premium", "10.10.11.2")
    assert back.edge == at("lbnl-edge:eth2")


@pytest.mark.parametrize(
    ("direction", "sources"), [("forward", ["src"]), ("reverse", ["dst"]), ("both", ["src", "dst"])]
)
def test_one_path_for_each_reserved_direction_forward_first(direction: str, sources: list[str]) -> None:
    paths = find_paths(wanted(direction=Direction(direction)), line_network())
    assert [path.source for path in paths] == sources


def test_each_hop_begins_where_the_one_before_it_ends() -> None:
    network = line_network(6)
    (path,) = find_paths(wanted(), network)
    for left, entered in zip(path.hops, path.hops[1:], strict=False):
        assert network.interface(left.egress).neighbour == entered.ingress
        assert entered.ingress.device == entered.egress.device == entered.device


def test_an_address_is_behind_the_edge_whose_subnet_has_it() -> None:
    (path,) = find_paths(wanted("10.0.0.77", "10.0.3.2"), line_network())
    assert (path.source, path.source_address, path.edge) == ("10.0.0.77", "10.0.0.77", at("r1:eth1"))
    assert path.hops == find_paths(wanted(), line_network())[0].hops


def test_a_port_is_irrelevant() -> None:
    network = line_network()
    assert find_paths(wanted(port=5001), network) == find_paths(wanted(), network)


def test_two_edges_of_one_router_are_one_hop() -> None:
    (path,) = find_paths(wanted(), line_network(1))
    assert [(hop.ingress, hop.egress) for hop in path.hops] == [(at("r1:eth1"), at("r1:eth2"))]
    assert path.sls == ()


@pytest.mark.parametrize("service", [Service.BEST_EFFORT, Service.QBSS])
def test_services_without_a_promise_need_no_sls(service: Service) -> None:
    (path,) = find_paths(wanted(service=service), line_network())
    assert (path.service, path.sls) == (service, ())


def test_the_services_own_sls_is_collected() -> None:
    (path,) = find_paths(wanted(service=Service.ASSURED_RATE), line_network())
    assert path.sls == ("alpha-transit-assured-rate", "transit-omega-assured-rate")


@pytest.mark.parametrize("name", ["lab", "garnet", "datagrid"])
def test_every_pair_of_hosts_has_a_path_in_every_kept_inventory(name: str) -> None:
    network = load_network(INVENTORIES / name)
    services = {sls.service for sls in network.sls.values()} | {Service.BEST_EFFORT, Service.QBSS}
    for source, destination in permutations(network.hosts, 2):
        for service in services:
            (path,) = find_paths(wanted(source, destination, service=service), network)
            assert path.hops


def test_an_over_provisioned_domain_is_crossed_without_sls_or_reservation(datagrid: Network) -> None:
    (path,) = find_paths(wanted("cern-se", "sara-se"), datagrid)
    assert path.unreserved_devices == {"surfnet-ams"}
    assert "surfnet-ams" in devices(path)
    # Into GÉANT only: neither into SURFnet nor out of it (D7.3 §3.2.1).
    assert path.sls == ("cern-geant-ip-premium",)


def test_the_order_of_the_inventory_does_not_choose_among_equal_ways(datagrid: Network) -> None:
    # nl-de-ch-it and nl-uk-fr-ch-it beside nl-de-it: the least sum wins, whatever comes first in the files.
    turned = datagrid.model_copy(update={"devices": dict(reversed(datagrid.devices.items()))})
    for source, destination in permutations(datagrid.hosts, 2):
        wish = wanted(source, destination)
        assert find_paths(wish, turned) == find_paths(wish, datagrid)


def test_via_pins_the_way_and_is_turned_round_on_the_way_back(datagrid: Network) -> None:
    pinned = wanted("cern-se", "infn-se", via=("geant-fr", "geant-uk", "geant-nl"), direction=Direction.BOTH)
    forward, back = find_paths(pinned, datagrid)
    geant = ["geant-ch", "geant-fr", "geant-uk", "geant-nl", "geant-de", "geant-it"]
    assert [name for name in devices(forward) if name.startswith("geant")] == geant
    assert devices(back) == devices(forward)[::-1]


def test_via_may_name_the_ends_own_routers() -> None:
    network = line_network()
    assert find_paths(wanted(via=("r1", "r2", "r3")), network) == find_paths(wanted(), network)


def test_the_sls_that_holds_over_the_reservation_is_chosen() -> None:
    network = line_network()
    old = network.sls["alpha-transit-ip-premium"]
    year = Window(START - 365 * 24 * HOUR, START)
    agreed = dict(network.sls)
    agreed[old.name] = old.model_copy(update={"validity": year})
    agreed["renewed"] = old.model_copy(update={"name": "renewed", "validity": Window(START, START + 48 * HOUR)})
    network = network.model_copy(update={"sls": agreed})
    assert find_paths(wanted(), network)[0].sls[0] == "renewed"
    before = wanted(windows=(Window(START - HOUR, START),))
    assert find_paths(before, network)[0].sls[0] == old.name


def over_provisioned(network: Network, name: str) -> Network:
    domains = network.domains | {name: Domain(name=name, over_provisioned=True)}
    return network.model_copy(update={"domains": domains})


def test_without_slss_only_over_provisioned_crossings_are_open() -> None:
    bare = line_network().model_copy(update={"sls": {}})
    with pytest.raises(NoPath) as refusal:
        find_paths(wanted(), bare)
    assert str(refusal.value) == (
        "there is no SLS for ip-premium from alpha into transit at r2:eth1,"
        " nor from transit into omega at r3:eth1, on the way between src and dst"
    )
    assert find_paths(wanted(), over_provisioned(bare, "transit"))[0].unreserved_devices == {"r2"}
    assert find_paths(wanted(service=Service.QBSS), bare)[0].sls == ()


def unlinked() -> Network:
    """Two lines of one router each that nothing joins."""
    left, right = line_network(1), line_network(1)
    lone = right.devices["r1"].interfaces["eth2"]
    other = lone.model_copy(update={"id": at("r9:eth2"), "address": None})
    device = Device(name="r9", domain="alpha", platform="linux-tc", interfaces={"eth2": other})
    hosts = {
        "src": left.hosts["src"],
        "dst": right.hosts["dst"].model_copy(update={"attached_to": at("r9:eth2")}),
    }
    return left.model_copy(update={"devices": left.devices | {"r9": device}, "hosts": hosts})


REFUSALS = {
    "slip": (wanted("scr"), "there is no end system scr; did you mean src?"),
    "unknown": (
        wanted("nobody"),
        "there is no end system nobody; end systems are dst, src, and any address behind an edge interface will do",
    ),
    "router": (wanted("r2"), "r2 is a router, not an end system; end systems are dst, src"),
    "ipv6": (
        wanted("2001:db8::1"),
        "2001:db8::1 is an IPv6 address, and this network is IPv4: name the end system or its IPv4 address",
    ),
    "elsewhere": (
        wanted("192.0.2.1"),
        "192.0.2.1 is behind no edge interface of this network;"
        " behind edge interfaces are 10.0.0.0/24 (r1:eth1), 10.0.3.0/24 (r3:eth2)",
    ),
    "routers-address": (
        wanted("10.0.0.254"),
        "10.0.0.254 is the address of the router interface r1:eth1, not of an end system behind it",
    ),
    "core-address": (
        wanted("10.0.1.1"),
        "10.0.1.1 is behind no edge interface of this network;"
        " behind edge interfaces are 10.0.0.0/24 (r1:eth1), 10.0.3.0/24 (r3:eth2)",
    ),
    "same-edge": (
        wanted("src", "10.0.0.9"),
        "src and 10.0.0.9 are both behind r1:eth1: what they send each other crosses no router",
    ),
    "via-slip": (wanted(via=("r22",)), "the path is to go via r22, and there is no such router; did you mean r2?"),
    "via-unknown": (
        wanted(via=("core",)),
        "the path is to go via core, and there is no such router; routers are r1, r2, r3",
    ),
    "via-twice": (wanted(via=("r2", "r2")), "the path is to go via r2 twice, and a path crosses a router once"),
    "via-end-first": (
        wanted(via=("r3", "r2")),
        "the path cannot go via r3 there: it is where the path ends or begins",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_has_no_path_is_told_why(case: str) -> None:
    wish, sentence = REFUSALS[case]
    network = line_network()
    with pytest.raises(NoPath) as refusal:
        find_paths(wish, network)
    # `did you mean` may name more than one.
    assert str(refusal.value).startswith(sentence.removesuffix("?"))


def test_what_is_not_linked_is_told_so() -> None:
    with pytest.raises(
        NoPath, match=r"no way from src \(behind r1:eth1\) to dst \(behind r9:eth2\): no chain of links"
    ):
        find_paths(wanted(), unlinked())


def test_pins_that_turn_back_are_told_so() -> None:
    with pytest.raises(NoPath, match=r"via r3, r2: from r1 it cannot reach r3 without crossing a router twice"):
        find_paths(wanted(via=("r3", "r2")), line_network(4))


def test_pins_between_two_edges_of_one_router_are_told_so(lab: Network) -> None:
    with pytest.raises(NoPath, match="both ends are behind anl-edge itself"):
        find_paths(wanted("anl-premium", "anl-traffic", via=("anl-border",)), lab)
