"""Packets of flows, where a router puts them while it is being changed, and what holds of every change of it."""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.network.model import Device
from slotcar.platforms import Configuration, renderer_of
from slotcar.platforms.intent.model import EdgeFlow, FlowMatch, QosIntent
from slotcar.platforms.ios.objects import PREFIX
from slotcar.reservation.model import Endpoint, Reservation, constant_slots
from tests.support.rendering import all_away
from tests.unit.platforms.mqc_ios import MqcIos, Packet, State

#: A port that no test binds.
UNBOUND = 40_000
#: IOS before HQF polices 200 Mb/s: a peak of twice the rates of four flows, with the headers of small packets.
MOST_BPS = 9_000_000


def between(one: Reservation, ends: Mapping[str, str]) -> Reservation:
    """The reservation between hosts of another network, with a rate of which several fit the smallest policer."""
    moved = {
        end: Endpoint(host=ends[getattr(one, end).host], port=getattr(one, end).port)
        for end in ("source", "destination")
    }
    slots = constant_slots(one.windows, min(one.peak_rate_bps, MOST_BPS), one.direction)
    return one.model_copy(update={**moved, "slots": slots})


def packet_of(match: FlowMatch, mark: str = "") -> Packet:
    """A packet that only this match and wider ones have."""
    return Packet(
        match.protocol.value,
        match.source_address,
        match.source_port or UNBOUND,
        match.destination_address,
        match.destination_port or UNBOUND,
        mark,
    )


def covers(wide: FlowMatch, narrow: FlowMatch) -> bool:
    """Whether `packet_of(narrow)` is one of `wide`."""
    return (
        (wide.protocol, wide.source_address, wide.destination_address)
        == (narrow.protocol, narrow.source_address, narrow.destination_address)
        and wide.source_port in (None, narrow.source_port)
        and wide.destination_port in (None, narrow.destination_port)
    )


def meet(one: FlowMatch, other: FlowMatch) -> bool:
    """Whether a packet can be of both."""
    return (
        (one.protocol, one.source_address, one.destination_address)
        == (other.protocol, other.source_address, other.destination_address)
        and (one.source_port == other.source_port or None in (one.source_port, other.source_port))
        and (one.destination_port == other.destination_port or None in (one.destination_port, other.destination_port))
    )


def unconcerned(before: QosIntent, after: QosIntent) -> list[EdgeFlow]:
    """Flows that are in both, of which no flow that comes, goes or changes shares a packet."""
    same = set(before.flows) & set(after.flows)
    others = {*before.flows, *after.flows} - same
    return [
        flow
        for flow in same
        if not any(one.interface == flow.interface and meet(one.match, flow.match) for one in others)
        and not any(one != flow and one.interface == flow.interface and meet(one.match, flow.match) for one in same)
    ]


def keeps_its_class(ios: MqcIos, flows: list[EdgeFlow]) -> None:
    """From now on every line must leave these flows in their class."""

    def look(line: str) -> None:
        for flow in flows:
            name = ios.class_of(flow.interface.name, packet_of(flow.match))
            assert name == f"{PREFIX}F{flow.number}", f"{flow.label} is in {name} after `{line}`"

    ios.watch = look


def read(ios: MqcIos, device: Device, release: str = "15") -> Configuration:
    (command,) = renderer_of(device).readback_commands(device)
    return renderer_of(device).running({command: ios.text(release)}, device)


def in_any_order(state: State) -> object:
    """All that there is; of classes that share no packet IOS keeps an order that means nothing."""
    policies = {name: {one: set(body) for one, body in classes.items()} for name, classes in state.policies.items()}
    maps = {name: (one.how, tuple(one.matches)) for name, one in state.maps.items()}
    ports = {name: set(lines) for name, lines in state.ports.items()}
    return state.lists, maps, policies, state.slots, ports, {h: set(lines) for h, lines in state.sections.items()}


def check_taken_and_undone(device: Device, first: QosIntent, second: QosIntent, release: str) -> None:
    """From nothing to the first, to the second, and back."""
    renderer = renderer_of(device)
    one, other = (renderer.configuration(intent, device) for intent in (first, second))
    ios = MqcIos(device.interfaces)
    bare = ios.snapshot()

    manage = renderer.change(read(ios, device), one, device)
    ios.run(manage.apply)
    managed = ios.snapshot()
    assert read(ios, device, release) == one

    change = renderer.change(read(ios, device, release), other, device)
    ios.run(change.apply)
    assert read(ios, device, release) == other
    assert renderer.change(read(ios, device, release), other, device).empty

    ios.run(change.undo)
    assert read(ios, device, release) == one
    assert in_any_order(ios.state) == in_any_order(managed)
    ios.run(manage.undo)
    assert ios.state == bare

    ios.run(manage.apply)
    ios.run(all_away(renderer, device, read(ios, device, release)))
    assert ios.state == bare


def hands_on(flow: EdgeFlow, before: Configuration, after: Configuration) -> bool:
    """Whether the flow's old list becomes another flow's and its new one was another's: three flows of one number modulo
    100, of which one comes or goes."""
    lists = [
        configuration.text.partition(f" {PREFIX}F{flow.number}\n match access-group ")[2].partition("\n")[0]
        for configuration in (before, after)
    ]
    left = [f"access-list {lists[0]} " in after.text, f"access-list {lists[1]} " in before.text]
    return lists[0] != lists[1] and left == [True, True]


def check_hitless(device: Device, first: QosIntent, second: QosIntent) -> None:
    """Every line of the change and of its undo, with the flows that it does not concern in their class."""
    renderer = renderer_of(device)
    configurations = [renderer.configuration(one, device) for one in (first, second)]
    ios = MqcIos(device.interfaces)
    ios.run(renderer.change(Configuration(device.name, device.platform), configurations[0], device).apply)
    change = renderer.change(*configurations, device)
    attached = {name: list(lines) for name, lines in ios.state.ports.items()}
    keeps_its_class(ios, [flow for flow in unconcerned(first, second) if not hands_on(flow, *configurations)])
    ios.run(change.apply)
    ios.run(change.undo)
    kept = {name: [line for line in lines if line in attached[name]] for name, lines in ios.state.ports.items()}
    assert kept == attached


def check_asked_in_order(device: Device, intents: tuple[QosIntent, QosIntent]) -> None:
    """After each change a packet is in the class of the most specific flow that it is of."""
    renderer = renderer_of(device)
    ios = MqcIos(device.interfaces)
    for intent in intents:
        ios.run(renderer.change(read(ios, device), renderer.configuration(intent, device), device).apply)
        for flow in intent.flows:
            best = min(
                (one for one in intent.flows if one.interface == flow.interface and covers(one.match, flow.match)),
                key=lambda one: ([one.match.source_port, one.match.destination_port].count(None), one.number),
            )
            assert ios.class_of(flow.interface.name, packet_of(flow.match)) == f"{PREFIX}F{best.number}"
