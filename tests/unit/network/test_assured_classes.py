"""Classes of the assured rate: what each has of an interface, which of them a path serves, and what borders re-mark."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from slotcar.admission.resources import capacities, demands
from slotcar.base.assured import AssuredClass
from slotcar.base.vocabulary import Service
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.network.path import find_paths
from slotcar.network.path.errors import NoPath
from slotcar.platforms.intent import intents_at
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.views.topology import network_document
from tests.support.requests import reservation

ROOT = Path(__file__).parents[3]


@cache
def network() -> Network:
    return load_network(ROOT / "examples" / "assured-classes" / "hosts.yml")


def wanted_of(assured_class: str | None, service: Service = Service.ASSURED_RATE) -> Reservation:
    ends = {"source": Endpoint(host="west-data"), "destination": Endpoint(host="east-data")}
    return reservation("r", 1_000_000, service=service, assured_class=assured_class, **ends)


def test_each_class_has_its_share_of_every_interface_and_nothing_else_is_called_assured_rate() -> None:
    of_line = {
        resource.part: bps for resource, bps in capacities(network()).items() if resource.place == "west-router:eth2"
    }
    assert {part: bps for part, bps in of_line.items() if part.startswith("out:")} == {
        "out:ip-premium": 5_000_000,
        "out:assured-rate/bronze": 2_000_000,
        "out:assured-rate/silver": 2_000_000,
        "out:assured-rate/video": 2_000_000,
        "out:assured-rate/gold": 8_000_000,
    }


def test_a_reservation_asks_for_its_class_in_every_domain() -> None:
    wanted = wanted_of("gold")
    parts = {str(one.resource) for one in demands(wanted, find_paths(wanted, network()), network())}
    assert parts == {
        "if:west-router:eth1:in:assured-rate/gold",
        "if:west-router:eth2:out:assured-rate/gold",
        "sls:west-east-gold",
        "if:east-router:eth2:in:assured-rate/gold",
        "if:east-router:eth1:out:assured-rate/gold",
    }


@pytest.mark.parametrize(
    ("assured_class", "service", "words"),
    [
        (None, Service.ASSURED_RATE, "west has several classes of the assured rate"),
        (
            "tin",
            Service.ASSURED_RATE,
            "west has no assured class tin: say `assured_class`, one of bronze, silver, video, gold",
        ),
        ("silver", Service.ASSURED_RATE, "east has no assured class silver: say `assured_class`, one of gold, bronze"),
        (None, Service.QBSS, "west does not offer qbss: its code point is that of the assured class bronze"),
    ],
)
def test_what_a_domain_does_not_serve_is_refused_in_words(
    assured_class: str | None, service: Service, words: str
) -> None:
    with pytest.raises(NoPath, match=words):
        find_paths(wanted_of(assured_class, service), network())


def test_a_class_where_no_domain_has_any_is_a_mistake() -> None:
    lab = load_network(ROOT / "inventories" / "lab")
    wanted = wanted_of("gold").model_copy(
        update={"source": Endpoint(host="anl-premium"), "destination": Endpoint(host="lbnl-premium")}
    )
    with pytest.raises(NoPath, match="no domain on the way has an assured class gold: leave `assured_class` out"):
        find_paths(wanted, lab)


def test_only_the_assured_rate_has_classes() -> None:
    with pytest.raises(ValueError, match="ip-premium has no assured class"):
        wanted_of("gold", Service.IP_PREMIUM)


def test_what_comes_in_becomes_the_domains_own() -> None:
    by_sls = {one.sls: one for one in intents_at((), network())["east-router"].aggregates}
    gold, bronze = by_sls["west-east-gold"], by_sls["west-east-bronze"]
    assert (gold.arriving, gold.own) == ((32,), (18, 20, 22))
    assert (bronze.arriving, bronze.own) == ((8,), (10, 12, 14))


@pytest.mark.parametrize(
    ("dscps", "colours"), [((10, 12, 14), (10, 12, 14)), ((24, 16), (24, 16, 16)), ((32,), (32, 0, 0))]
)
def test_a_colour_without_a_code_point_has_that_of_the_next(dscps: tuple[int, ...], colours: tuple[int, ...]) -> None:
    assert AssuredClass("gold", dscps=dscps).colours == colours


def test_the_network_says_its_classes() -> None:
    west = next(one for one in network_document(network())["domains"] if one["name"] == "west")
    assert west["assured_classes"][0] == {"name": "bronze", "code_points": [8]}
