"""Every change of a 7500 is taken by IOS, gives what was wanted, opens no hole on the way, and is undone exactly."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.network import load_network
from slotcar.network.model import Device, Network
from slotcar.platforms import Configuration, Unrenderable, renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.reservation.model import Endpoint, Reservation
from tests.support.examples import examples
from tests.support.rendering import all_away
from tests.unit.platforms.ios import Ios, Port
from tests.unit.platforms.worlds import active, population, successions

#: What an operator has on the same devices: other lists, other CAR lines, limits of WFQ's queues.
LISTS = {
    101: ["permit icmp any any"],
    2599: ["remark ours", "permit ip host 198.51.100.1 any"],
    150: ["permit tcp any any eq 80"],
}
RATE_LISTS = {5: "5", 20: "1"}
CAR = (
    "rate-limit input access-group 101 128000 8000 8000 conform-action transmit exceed-action drop",
    "rate-limit output access-group 2599 96000 8000 8000 conform-action transmit exceed-action drop",
    "rate-limit input access-group rate-limit 5 8000 1500 1500 conform-action transmit exceed-action transmit",
)
OTHERS = ("description to the lab", "ip access-group 101 in", "fair-queue tos 1 limit 64", "random-detect")
TOP = ["ip access-list extended OURS", " permit ip any any", "!", "snmp-server community x"]


@cache
def garnet() -> Network:
    return load_network(Path(__file__).parents[2] / "inventories" / "garnet")


operators = st.dictionaries(
    st.sampled_from(["FastEthernet4/0/0", "ATM1/0/0", "ATM1/0/0.60", "ATM2/0/0"]),
    st.tuples(st.lists(st.sampled_from(CAR), unique=True), st.lists(st.sampled_from(OTHERS), unique=True)),
)
DEVICES = ("anl-7507-1", "anl-7507-2", "anl-7507-3")
ENDS = {"src": "anl-premium", "dst": "anl-sink"}


def start(device: Device, brownfield: dict[str, tuple[list[str], list[str]]]) -> Ios:
    names = {*device.interfaces, *(name.partition(".")[0] for name in device.interfaces)}
    ios = Ios(names)
    ios.state.lists |= {number: list(entries) for number, entries in LISTS.items()}
    ios.state.rate_lists |= RATE_LISTS
    ios.state.others = list(TOP)
    for name, (car, others) in brownfield.items():
        if name in names:
            ios.state.ports[name] = Port(list(car), None, list(others))
    return ios


def read(ios: Ios, device: Device) -> Configuration:
    renderer = renderer_of(device)
    (command,) = renderer.readback_commands(device)
    return renderer.running({command: ios.text()}, device)


def wanted(device: Device, chosen: dict[int, Reservation]) -> Configuration:
    carried = {
        number: one.model_copy(
            update={end: Endpoint(host=ENDS[getattr(one, end).host], port=getattr(one, end).port) for end in one_ends}
        )
        for number, one in chosen.items()
    }
    where = garnet()
    return renderer_of(device).configuration(
        intents_at(active(population(where, carried)), where)[device.name], device
    )


one_ends = ("source", "destination")


@given(name=st.sampled_from(DEVICES), succession=successions(), brownfield=operators)
@examples(15, 60)
def test_a_change_is_taken_by_ios_and_its_undo_gives_back_what_was(
    name: str,
    succession: tuple[dict[int, Reservation], dict[int, Reservation]],
    brownfield: dict[str, tuple[list[str], list[str]]],
) -> None:
    device = garnet().devices[name]
    renderer = renderer_of(device)
    first, second = (wanted(device, chosen) for chosen in succession)
    ios = start(device, brownfield)
    bare = ios.snapshot()

    manage = renderer.change(read(ios, device), first, device)
    ios.run(manage.apply)
    managed = ios.snapshot()
    assert read(ios, device) == first

    change = renderer.change(read(ios, device), second, device)
    ios.run(change.apply)
    assert read(ios, device) == second
    assert renderer.change(read(ios, device), second, device).empty

    ios.run(change.undo)
    assert ios.state == managed
    ios.run(manage.undo)
    assert ios.state == bare


@given(name=st.sampled_from(DEVICES), succession=successions(), brownfield=operators)
@examples(8, 20)
def test_a_purge_takes_everything_of_slotcars_and_nothing_of_others(
    name: str,
    succession: tuple[dict[int, Reservation], dict[int, Reservation]],
    brownfield: dict[str, tuple[list[str], list[str]]],
) -> None:
    device = garnet().devices[name]
    renderer = renderer_of(device)
    ios = start(device, brownfield)
    bare = ios.snapshot()
    ios.run(renderer.change(read(ios, device), wanted(device, succession[0]), device).apply)
    ios.run(all_away(renderer, device, read(ios, device)))
    assert ios.state == bare


@given(name=st.sampled_from(DEVICES), succession=successions(), brownfield=operators)
@examples(8, 30)
def test_a_router_of_an_older_slotcar_is_known_and_marked(
    name: str,
    succession: tuple[dict[int, Reservation], dict[int, Reservation]],
    brownfield: dict[str, tuple[list[str], list[str]]],
) -> None:
    """It has no `SLOTCAR-OWNS`. The first push writes that and what differs; its undo gives the older state back."""
    device = garnet().devices[name]
    renderer = renderer_of(device)
    ios = start(device, brownfield)
    bare = ios.snapshot()
    first, second = (wanted(device, chosen) for chosen in succession)
    ios.run(renderer.change(read(ios, device), first, device).apply)
    del ios.state.named["SLOTCAR-OWNS"]
    older = ios.snapshot()

    change = renderer.change(read(ios, device), first, device)
    assert change.apply[0] == "ip access-list extended SLOTCAR-OWNS"
    assert all(line.startswith((" remark ", " deny ", " exit")) for line in change.apply[1:])
    change = renderer.change(read(ios, device), second, device)
    ios.run(change.apply)
    assert read(ios, device) == second
    ios.run(change.undo)
    assert ios.state == older
    ios.run(all_away(renderer, device, read(ios, device)))
    assert ios.state == bare


@given(weights=st.tuples(*[st.integers(1, 33)] * 3), brownfield=operators)
@examples(8, 30)
def test_weights_of_an_operator_are_never_taken_over(
    weights: tuple[int, int, int], brownfield: dict[str, tuple[list[str], list[str]]]
) -> None:
    device = garnet().devices["anl-7507-1"]
    ios = start(device, brownfield)
    ios.state.ports["ATM1/0/0"].weights = dict(enumerate(weights, 1))
    running = read(ios, device)
    assert not running.lines
    with pytest.raises(Unrenderable, match="ATM1/0/0 has `fair-queue tos`, which is not Slotcar's"):
        renderer_of(device).change(running, wanted(device, {}), device)
