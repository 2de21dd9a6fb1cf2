"""Every change of a modular QoS router is taken by IOS line by line, gives what was wanted, costs other flows no packet on
the way, and is undone exactly.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.intent import QosIntent, intents_at
from controller.network import load_network
from controller.network.model import Network
from controller.render import renderer_of
from controller.reservation.model import Reservation
from lab.ios.grammar import check
from tests.unit.render.watching import between, check_asked_in_order, check_hitless, check_taken_and_undone
from tests.unit.render.worlds import active, population, successions

INVENTORY = Path(__file__).parents[1] / "golden" / "render" / "mqc-inventory"
ENDS = {"src": "north-data", "dst": "south-data"}
DEVICES = st.sampled_from(["north-edge", "north-gw", "hub", "south-gw"])
RELEASES = st.sampled_from(["12", "15", "16"])
Succession = tuple[dict[int, Reservation], dict[int, Reservation]]


@cache
def network() -> Network:
    return load_network(INVENTORY)


def intents_of(name: str, succession: Succession) -> tuple[QosIntent, QosIntent]:
    first, second = (
        intents_at(active(population(network(), {n: between(one, ENDS) for n, one in chosen.items()})), network())[
            name
        ]
        for chosen in succession
    )
    return first, second


@given(name=DEVICES, succession=successions(), release=RELEASES)
@settings(max_examples=100, deadline=None)
def test_a_change_is_taken_and_undone(name: str, succession: Succession, release: str) -> None:
    check_taken_and_undone(network().devices[name], *intents_of(name, succession), release)


@given(name=DEVICES, succession=successions())
@settings(max_examples=100, deadline=None)
def test_a_change_costs_no_packet_of_a_flow_that_it_does_not_concern(name: str, succession: Succession) -> None:
    check_hitless(network().devices[name], *intents_of(name, succession))


@given(name=DEVICES, succession=successions())
@settings(max_examples=40, deadline=None)
def test_a_packet_of_a_flow_is_in_the_class_of_its_most_specific_flow(name: str, succession: Succession) -> None:
    check_asked_in_order(network().devices[name], intents_of(name, succession))


@given(name=DEVICES, succession=successions())
@settings(max_examples=40, deadline=None)
def test_every_line_is_in_the_table_of_the_platform(name: str, succession: Succession) -> None:
    device = network().devices[name]
    renderer = renderer_of(device)
    first, second = (renderer.configuration(intent, device) for intent in intents_of(name, succession))
    change = renderer.change(first, second, device)
    for lines in (first.lines, change.apply, change.undo, renderer.purge(device, second)):
        assert check("cisco-mqc", "\n".join(lines)) == []
