"""One to many: the tree over domains, what routers match, and refusals in words."""

from __future__ import annotations

from typing import Any

import pytest

from slotcar.admission import demands
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.network.path import NoPath, find_paths
from slotcar.network.path.candidates import candidate_paths
from slotcar.network.path.flow import flow_matches
from slotcar.reservation.model import Reservation
from tests.unit.path.test_find_paths import INVENTORIES, devices, wanted

GROUP = "239.1.2.3"


@pytest.fixture(scope="module")
def datagrid() -> Network:
    return load_network(INVENTORIES / "datagrid")


def to_many(*receivers: str, **more: Any) -> Reservation:
    return wanted("cern-se", GROUP, 1044, receivers=receivers, **more)


def test_the_tree_of_three_sites(datagrid: Network) -> None:
    reservation = to_many("frascati-se", "infn-se", "lyon-se")
    paths = find_paths(reservation, datagrid)
    assert [devices(path) for path in paths] == [
        ["cern-lan", "cern-gw", "geant-ch", "geant-it", "garr-mi", "garr-bo"],
        ["cern-lan", "cern-gw", "geant-ch", "geant-it", "garr-mi", "garr-bo", "infn-cnaf"],
        ["cern-lan", "cern-gw", "geant-ch", "geant-fr"],
    ]
    places = [demand.resource for demand in demands(reservation, paths, datagrid)]
    assert len(set(places)) == len(places)
    assert {path.sls[:1] for path in paths} == {("cern-geant-ip-premium",)}
    (match,) = flow_matches(reservation, paths)
    assert (match.source_address, match.destination_address, match.destination_port) == ("10.40.11.2", GROUP, 1044)
    assert list(candidate_paths(reservation, datagrid, paths, 3)) == []


@pytest.mark.parametrize(
    ("receivers", "key", "words"),
    [
        (("infn-se", "infn"), "receivers", "there is no end system infn"),
        (("10.99.0.1",), "receivers", "10.99.0.1 is behind no edge interface of this network"),
        (("geant-ch",), "receivers", "geant-ch is a router, not an end system"),
        (("10.40.11.3",), "receivers", "cern-se and 10.40.11.3 are both behind cern-lan:GigabitEthernet1/1"),
    ],
)
def test_receivers_that_cannot_be(datagrid: Network, receivers: tuple[str, ...], key: str, words: str) -> None:
    with pytest.raises(NoPath, match=words) as refusal:
        find_paths(to_many(*receivers), datagrid)
    assert refusal.value.key == key


def test_a_receiver_beyond_an_sls_that_is_not_there_is_named(datagrid: Network) -> None:
    less = {name: sls for name, sls in datagrid.sls.items() if name != "geant-garr-ip-premium"}
    with pytest.raises(NoPath, match=r"no SLS for ip-premium from geant into garr .+ between cern-se and infn-se"):
        find_paths(to_many("lyon-se", "infn-se"), datagrid.model_copy(update={"sls": less}))
