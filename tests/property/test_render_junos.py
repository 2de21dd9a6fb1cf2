"""Every change of a router with Junos gives what was wanted, touches nothing of an operator's, and is undone exactly."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from slotcar.network import load_network
from slotcar.network.model import Device, Network
from slotcar.platforms import Configuration, renderer_of
from slotcar.platforms.intent import QosIntent, intents_at
from slotcar.reservation.model import Reservation
from tests.support.examples import examples
from tests.support.rendering import all_away
from tests.unit.platforms.junos_tree import Candidate
from tests.unit.platforms.watching import between
from tests.unit.platforms.worlds import active, population, successions

INVENTORY = Path(__file__).parents[1] / "golden" / "render" / "inventories" / "juniper-junos"
BROWNFIELD = Path(__file__).parents[1] / "golden" / "brownfield" / "junos-edge.xml"
ENDS = {"src": "north-data", "dst": "south-data"}
DEVICES = st.sampled_from(["north-edge", "north-gw", "hub", "south-gw"])
Succession = tuple[dict[int, Reservation], dict[int, Reservation]]


@cache
def network() -> Network:
    return load_network(INVENTORY)


def intents_of(name: str, succession: Succession) -> list[QosIntent]:
    return [
        intents_at(active(population(network(), {n: between(one, ENDS) for n, one in chosen.items()})), network())[
            name
        ]
        for chosen in succession
    ]


def read(candidate: Candidate, device: Device) -> Configuration:
    (command,) = renderer_of(device).readback_commands(device)
    return renderer_of(device).running({command: candidate.reply}, device)


def with_options(device: Device, **options: str | int | bool) -> Device:
    return device.model_copy(update={"options": {**device.options, **options}})


def circle(device: Device, candidate: Candidate, intents: list[QosIntent]) -> None:
    """Managed, changed, changed back, purged: each time there is what was wanted, and beside it what was there."""
    renderer = renderer_of(device)
    first, second = (renderer.configuration(intent, device) for intent in intents)
    bare = candidate.meaning

    candidate.edit(renderer.change(read(candidate, device), first, device).apply)
    assert read(candidate, device).lines == first.lines
    managed = candidate.meaning

    change = renderer.change(read(candidate, device), second, device)
    candidate.edit(change.apply)
    assert read(candidate, device).lines == second.lines
    assert renderer.change(read(candidate, device), second, device).empty
    assert change.empty == (first == second)
    assert renderer.stored(second.lines, device) == second

    candidate.edit(change.undo)
    assert read(candidate, device).lines == first.lines
    assert candidate.meaning == managed
    candidate.edit(all_away(renderer, device, read(candidate, device)))
    assert read(candidate, device).lines == ()
    assert candidate.meaning == bare


@given(name=DEVICES, succession=successions())
@examples(12, 60)
def test_a_change_is_made_and_undone(name: str, succession: Succession) -> None:
    candidate = Candidate("<configuration/>" if name != "north-gw" else UNITS)
    circle(network().devices[name], candidate, intents_of(name, succession))


UNITS = (
    "<configuration><interfaces><interface><name>ge-0/0/1</name><per-unit-scheduler/></interface></interfaces>"
    "</configuration>"
)


@given(succession=successions())
@examples(6, 30)
def test_beside_an_operators_own_and_in_front_of_an_operators_filter(succession: Succession) -> None:
    device = with_options(network().devices["north-edge"], **{"input_filter:ge-0/0/1.0": "EDGE-IN"})
    candidate = Candidate(BROWNFIELD.read_text(encoding="utf-8"))
    circle(device, candidate, intents_of("north-edge", succession))


@given(name=DEVICES, succession=successions())
@examples(6, 30)
def test_a_change_names_nothing_that_stands_without_reservations(name: str, succession: Succession) -> None:
    device = network().devices[name]
    renderer = renderer_of(device)
    first, second = (renderer.configuration(intent, device) for intent in intents_of(name, succession))
    edit = "\n".join(renderer.change(first, second, device).apply)
    for word in ("<schedulers", "<classifiers", "<drop-profiles", "<forwarding-classes"):
        assert word not in edit
