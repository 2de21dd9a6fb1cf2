"""Every change of a router with modular policies, a 12000 or MQC, is taken by IOS line by line, gives what was wanted,
costs other flows no packet on the way, and is undone exactly. Numbers 50 apart have one list's number between them on a
12000, so that lists are handed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.platforms import renderer_of
from slotcar.platforms.intent import QosIntent, intents_at
from slotcar.reservation.model import Reservation
from slotcar_lab.ios.grammar import check
from tests.support.examples import examples
from tests.support.rendering import all_away
from tests.unit.platforms.watching import between, check_asked_in_order, check_hitless, check_taken_and_undone
from tests.unit.platforms.worlds import active, population, successions

RENDER = Path(__file__).parents[1] / "golden" / "render"
Succession = tuple[dict[int, Reservation], dict[int, Reservation]]


@dataclass(frozen=True)
class World:
    """A platform's inventory, the ends of its flows, its devices, and the releases whose parser takes a change."""

    platform: str
    inventory: str
    ends: tuple[tuple[str, str], ...]
    devices: tuple[str, ...]
    releases: tuple[str, ...]

    def intents(self, name: str, succession: Succession) -> tuple[QosIntent, QosIntent]:
        network = network_of(self.inventory)
        first, second = (
            intents_at(
                active(population(network, {n: between(one, dict(self.ends)) for n, one in chosen.items()})), network
            )[name]
            for chosen in succession
        )
        return first, second


@cache
def network_of(inventory: str) -> Network:
    return load_network(RENDER / "inventories" / inventory)


WORLDS = (
    World(
        "cisco-gsr", "cisco-gsr", (("src", "bo-data"), ("dst", "mi-data")),
        ("bo-gsr", "core-gsr", "mi-gsr"), ("12", "15"),
    ),
    World(
        "cisco-mqc", "cisco-mqc", (("src", "north-data"), ("dst", "south-data")),
        ("north-edge", "north-gw", "hub", "south-gw"), ("12", "15", "16"),
    ),
)  # fmt: skip
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.platform)


@pytest.mark.in_short("cisco-mqc")
@each_world
@given(data=st.data(), succession=successions())
@examples(25, 100)
def test_a_change_is_taken_and_undone(world: World, data: st.DataObject, succession: Succession) -> None:
    name, release = data.draw(st.sampled_from(world.devices)), data.draw(st.sampled_from(world.releases))
    device = network_of(world.inventory).devices[name]
    check_taken_and_undone(device, *world.intents(name, succession), release)


@pytest.mark.slow
@each_world
@given(data=st.data(), succession=successions())
@examples(25, 100)
def test_a_change_costs_no_packet_of_a_flow_that_it_does_not_concern(
    world: World, data: st.DataObject, succession: Succession
) -> None:
    name = data.draw(st.sampled_from(world.devices))
    check_hitless(network_of(world.inventory).devices[name], *world.intents(name, succession))


@each_world
@given(data=st.data(), succession=successions())
@examples(10, 40)
def test_a_packet_of_a_flow_is_in_the_class_of_its_most_specific_flow(
    world: World, data: st.DataObject, succession: Succession
) -> None:
    name = data.draw(st.sampled_from(world.devices))
    check_asked_in_order(network_of(world.inventory).devices[name], world.intents(name, succession))


@each_world
@given(data=st.data(), succession=successions())
@examples(10, 40)
def test_every_line_is_in_the_table_of_the_platform(world: World, data: st.DataObject, succession: Succession) -> None:
    name = data.draw(st.sampled_from(world.devices))
    device = network_of(world.inventory).devices[name]
    renderer = renderer_of(device)
    first, second = (renderer.configuration(intent, device) for intent in world.intents(name, succession))
    change = renderer.change(first, second, device)
    for lines in (first.lines, change.apply, change.undo, all_away(renderer, device, second)):
        assert check(world.platform, "\n".join(lines)) == []
