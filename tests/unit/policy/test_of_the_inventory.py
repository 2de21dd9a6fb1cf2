"""What policies say of hosts, links and domains of the inventory: by whichever name a request has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.settings import Settings
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.network.path import find_paths
from slotcar.planning.terms import policy_of
from slotcar.reservation.model import Endpoint, Reservation
from tests.unit.domains.networks import lab

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(("source", "destination"), [("anl-premium", "lbnl-premium"), ("10.10.11.2", "10.10.21.2")])
def test_a_host_is_the_same_by_its_name_and_by_its_address(source: str, destination: str) -> None:
    """Who wrote the address went past a `forbid` about the host, and a neighbour's segment never had a name."""
    reservation = Reservation.constant(
        name="tonight", owner="hep", source=Endpoint(host=source), destination=Endpoint(host=destination),
        protocol=Protocol.UDP, service=Service.IP_PREMIUM, rate_bps=1_000_000,
        windows=[Window(NOW, NOW + timedelta(hours=1))],
    )  # fmt: skip
    needs = policy_of(Settings(), lab()).reserving.needs(reservation, find_paths(reservation, lab()))
    hosts = {name for kind, name in needs if kind == "Host"}
    assert hosts == {"anl-premium", "lbnl-premium", "10.10.11.2", "10.10.21.2"}


@pytest.mark.parametrize(
    ("entity", "words"),
    [
        ('resource in Host::"lbnl-premum"', r'no-way: the inventory has no Host::"lbnl-premum"; perhaps lbnl-premium'),
        ('resource in Domain::"esnett"', r'the inventory has no Domain::"esnett"; perhaps esnet is meant'),
        (
            'resource in Link::"esnet-hubb:eth1"',
            r'the inventory has no Link::"esnet-hubb:eth1"; perhaps esnet-hub:eth1',
        ),
        ('resource in Service::"ip-premum"', r'nothing is in Service::"ip-premum"; known are assured-rate'),
    ],
)
def test_a_name_of_the_inventory_that_is_written_otherwise_is_refused(tmp_path: Path, entity: str, words: str) -> None:
    """A `forbid` about it would forbid nothing, and nobody would be told."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "hosts.yml").write_text("all: {}")
    policy = f'@id("no-way") forbid (principal, action == Action::"reserve", {entity});'
    (tmp_path / "policies" / "own.cedar").write_text(policy)
    with pytest.raises(InvalidInput, match=words):
        policy_of(Settings(inventory=tmp_path), lab())


def test_what_has_no_near_name_may_come_yet(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    policy = '@id("no-way") forbid (principal, action == Action::"reserve", resource in Host::"storage-array");'
    (tmp_path / "policies" / "own.cedar").write_text(policy)
    policy_of(Settings(inventory=tmp_path), lab())
