"""What a controller of one domain reserves and configures of a network in which others are drawn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.network.elsewhere import neighbours_of, seen_by
from slotcar.network.path import NoPath, find_paths
from slotcar.planning.routing import route
from slotcar.platforms.intent import intents_at
from slotcar.reservation.model import Endpoint, Reservation
from tests.unit.domains.networks import lab, lab_of

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


def premium(source: str = "10.10.11.2", destination: str = "10.10.21.2") -> Reservation:
    return Reservation.constant(
        name="tonight", owner="hep", source=Endpoint(host=source), destination=Endpoint(host=destination),
        protocol=Protocol.UDP, service=Service.IP_PREMIUM, windows=[Window(NOW, NOW + timedelta(hours=1))],
        rate_bps=10_000_000, direction=Direction.BOTH,
    )  # fmt: skip


def test_each_domain_demands_its_own_part_and_both_sides_count_an_sls() -> None:
    parts = {domain: {str(one.resource) for one in demands_of(domain)} for domain in lab().domains}
    assert parts["anl"] & parts["esnet"] == {"sls:anl-esnet-ip-premium", "sls:esnet-anl-ip-premium"}
    assert parts["esnet"] & parts["lbnl"] == {"sls:esnet-lbnl-ip-premium", "sls:lbnl-esnet-ip-premium"}
    assert parts["anl"].isdisjoint(parts["lbnl"])
    whole = {str(one.resource) for one in route(premium(), lab()).demands}
    assert set().union(*parts.values()) == whole


def demands_of(domain: str) -> tuple:  # type: ignore[type-arg]
    return route(premium(), lab_of(domain)).demands


def test_a_domain_configures_and_admits_at_its_own_border() -> None:
    entry = route(premium(), lab_of("esnet")).entry("r-1", 1, NOW)
    assert [path.first_reserved_device for path in entry.paths] == ["esnet-hub", "esnet-hub"]
    assert list(intents_at([], lab_of("esnet"))) == ["esnet-hub"]


def test_neighbours_are_at_the_other_ends_of_links() -> None:
    assert neighbours_of(lab(), "esnet") == ("anl", "lbnl")
    assert neighbours_of(lab(), "anl") == ("esnet",)


def test_a_border_of_its_own_needs_an_sls_and_that_of_others_does_not() -> None:
    for domain, crossing in (("anl", "into esnet"), ("lbnl", "")):
        network = lab_of(domain)
        without = {name: one for name, one in network.sls.items() if one.upstream != "anl"}
        bare = network.model_copy(update={"sls": without})
        if crossing:
            with pytest.raises(NoPath, match="from anl into esnet"):
                find_paths(premium(), bare)
        else:
            find_paths(premium(), bare)


def test_a_domain_that_is_not_there_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match=r"SLOTCAR_DOMAIN: is no domain of the inventory .got cern.; say one of anl"
    ):
        seen_by(lab(), "cern")
