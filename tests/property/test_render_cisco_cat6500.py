"""Every change of a Catalyst is taken by IOS, gives what was wanted, costs other flows nothing, and is undone exactly."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from slotcar.base.vocabulary import Protocol, Service
from slotcar.network import load_network
from slotcar.network.model import Device, Network
from slotcar.platforms import Configuration, renderer_of
from slotcar.platforms.cisco_cat6500.limits import grain_bps
from slotcar.platforms.intent import intents_at
from slotcar.platforms.ios.configuration import ios_of
from slotcar.reservation.model import Endpoint, Reservation
from tests.support.examples import examples
from tests.support.rendering import all_away
from tests.unit.platforms.cat6500 import Catalyst, meaning
from tests.unit.platforms.worlds import active, population, successions
from tests.unit.platforms.worlds import wanted as reservation

ENDS = {"src": "cern-se", "dst": "cern-ce"}
#: What an operator has on the same switch and what is in nobody's way.
TOP = [
    "ip access-list extended OURS",
    " permit ip any any",
    "!",
    "class-map match-any VOICE",
    "  match ip precedence 5",
    "policy-map VOICE",
    "  class VOICE",
    "    police 1000000 32000 32000    conform-action transmit     exceed-action drop",
    "mls qos aggregate-policer PHONES 64000 8000 8000 conform-action transmit exceed-action drop",
    "mls qos map policed-dscp normal-burst  34 to 0",
]
OTHERS = ("description to the lab", "ip access-group OURS in", "load-interval 30", "rcv-queue cos-map 1 3 4")
OPTIONS: tuple[dict[str, str | int | bool], ...] = (
    {},
    {"marking": "precedence"},
    {"microflow": True},
    {"approximate": True, "port_type": "2q2t"},
    {"approximate": True, "port_type:GigabitEthernet1/1": "2q2t", "marking": "precedence"},
)
devices = st.tuples(st.sampled_from(["cern-lan", "infn-lan"]), st.sampled_from(OPTIONS))
operators = st.dictionaries(
    st.sampled_from(["GigabitEthernet1/1", "GigabitEthernet2/1"]), st.lists(st.sampled_from(OTHERS), unique=True)
)


@cache
def lans() -> Network:
    return load_network(Path(__file__).parents[1] / "golden" / "render" / "inventories" / "cisco-cat6500")


def device_of(chosen: tuple[str, dict[str, str | int | bool]]) -> Device:
    name, options = chosen
    device = lans().devices[name]
    return device.model_copy(update={"options": device.options | options})


def start(device: Device, brownfield: dict[str, list[str]]) -> Catalyst:
    kinds = {}
    for name in device.interfaces:
        option = f"port_type:{name}" if f"port_type:{name}" in device.options else "port_type"
        kinds[name] = str(device.options.get(option, "1p2q2t"))
    switch = Catalyst(kinds | {"GigabitEthernet9/1": "1p2q2t"})
    switch.state.others = list(TOP)
    for name, lines in brownfield.items():
        if name in switch.state.ports:
            switch.state.ports[name].others = list(lines)
    return switch


def read(switch: Catalyst, device: Device) -> Configuration:
    renderer = renderer_of(device)
    (command,) = renderer.readback_commands(device)
    return renderer.running({command: switch.text()}, device)


def wanted(device: Device, chosen: dict[int, Reservation]) -> Configuration:
    carried = {
        number: one.model_copy(
            update={end: Endpoint(host=ENDS[getattr(one, end).host], port=getattr(one, end).port) for end in BOTH}
        )
        for number, one in chosen.items()
    }
    where = lans()
    return renderer_of(device).configuration(
        intents_at(active(population(where, carried)), where)[device.name], device
    )


BOTH = ("source", "destination")


@given(chosen=devices, succession=successions(), brownfield=operators)
@examples(15, 60)
def test_a_change_is_taken_by_ios_and_its_undo_gives_back_what_was(
    chosen: tuple[str, dict[str, str | int | bool]],
    succession: tuple[dict[int, Reservation], dict[int, Reservation]],
    brownfield: dict[str, list[str]],
) -> None:
    device = device_of(chosen)
    renderer = renderer_of(device)
    first, second = (wanted(device, one) for one in succession)
    switch = start(device, brownfield)
    bare = switch.snapshot()

    manage = renderer.change(read(switch, device), first, device)
    switch.run(manage.apply)
    managed = switch.snapshot()
    assert read(switch, device).lines == first.lines

    change = renderer.change(read(switch, device), second, device)
    switch.run(change.apply)
    assert read(switch, device).lines == second.lines
    assert renderer.change(read(switch, device), second, device).empty

    switch.run(change.undo)
    assert meaning(switch.state) == meaning(managed)
    assert read(switch, device).lines == first.lines
    switch.run(manage.undo)
    assert meaning(switch.state) == meaning(bare)


def flow(port: int | None = None, source_port: int | None = None, protocol: Protocol = Protocol.UDP) -> Reservation:
    ends = {"source": Endpoint(host="src", port=source_port), "destination": Endpoint(host="dst", port=port)}
    return reservation(**ends, protocol=protocol, rate_bps=1, packet_size_bytes=128, rtt_us=1)


@given(chosen=devices, succession=successions())
@example(
    chosen=("cern-lan", {}),
    succession=(
        {1: flow(22), 2: flow()},
        {1: flow(22), 2: flow(protocol=Protocol.TCP), 3: flow(protocol=Protocol.TCP), 50: flow(22, 22)},
    ),
)
@example(
    chosen=("cern-lan", {}),
    succession=({1: flow(22), 2: flow()}, {1: flow(22), 50: flow(22, 22)}),
)
@examples(15, 60)
def test_a_flow_that_stays_is_served_alike_after_every_line(
    chosen: tuple[str, dict[str, str | int | bool]],
    succession: tuple[dict[int, Reservation], dict[int, Reservation]],
) -> None:
    device = device_of(chosen)
    renderer = renderer_of(device)
    first, second = (wanted(device, one) for one in succession)
    switch = start(device, {})
    switch.run(renderer.change(read(switch, device), first, device).apply)
    after = start(device, {})
    after.run(renderer.change(read(after, device), second, device).apply)
    change = renderer.change(first, second, device)
    stay = {
        (port, packet): treated[1]
        for port in device.interfaces
        for packet in packets(first)
        if not rebound(first, second, packet)
        if (treated := switch.treatment(port, packet)) == after.treatment(port, packet)
    }
    for line in switch.steps(change.apply):
        for (port, packet), actions in stay.items():
            assert switch.treatment(port, packet)[1] == actions, f"{packet} at {port} after: {line}"


def rebound(first: Configuration, second: Configuration, packet: tuple[str, ...]) -> bool:
    """Whether the packet is in a flow that gets other ports, so that its class moves past others while its list has both:
    such a packet may be policed with that flow for a moment (docs/reference/platforms)."""
    old, new = ios_of(first), ios_of(second)
    for name in old.class_maps.keys() & new.class_maps.keys():
        ends = [entry.ends for tree in (old, new) for entry in tree.permits_of(tree.acl_of(name))]
        bound = {(end[2], end[4]).count(None) for end in ends}
        fits = (
            all(word is None or str(word) == str(part) for word, part in zip(end, packet, strict=False))
            for end in ends
        )
        if len(bound) > 1 and any(fits):
            return True
    return False


def packets(configuration: Configuration) -> list[tuple[str, ...]]:
    """A packet of each flow, and of each code point that an SLS or QBSS entitles."""
    drawn = []
    for line in configuration.lines:
        words = line.split()
        if words[0] == "permit":
            hosts = [words[n + 1] for n, word in enumerate(words) if word == "host"]
            ports = [_port_after(words, host) for host in hosts]
            drawn.append((words[1], hosts[0], ports[0], hosts[1], ports[1], "0"))
    return drawn + [("udp", "10.9.9.9", "1", "10.9.9.8", "2", dscp) for dscp in ("8", "10", "12", "40", "46")]


def _port_after(words: list[str], host: str) -> str:
    after = words[words.index(host) + 1 :]
    return after[1] if after[:1] == ["eq"] else "4000"


@given(chosen=devices, succession=successions(), data=st.data())
@examples(15, 60)
def test_a_change_that_was_cut_off_is_finished_or_taken_back(
    chosen: tuple[str, dict[str, str | int | bool]],
    succession: tuple[dict[int, Reservation], dict[int, Reservation]],
    data: st.DataObject,
) -> None:
    device = device_of(chosen)
    renderer = renderer_of(device)
    nothing = read(start(device, {}), device)
    states = [nothing, *(wanted(device, one) for one in succession)]
    before, after = data.draw(st.permutations(states).map(lambda two: two[:2]))
    switch = start(device, {})
    switch.run(renderer.change(nothing, before, device).apply)
    change = renderer.change(before, after, device).apply
    cut = data.draw(st.integers(0, len(change)))
    for _ in zip(range(cut), switch.steps(change), strict=False):
        pass
    end = data.draw(st.sampled_from([before, after]))
    switch.run(renderer.change(read(switch, device), end, device).apply)
    assert read(switch, device).lines == end.lines


@given(chosen=devices, succession=successions(), brownfield=operators)
@examples(8, 20)
def test_a_purge_takes_everything_of_slotcars_and_nothing_of_others(
    chosen: tuple[str, dict[str, str | int | bool]],
    succession: tuple[dict[int, Reservation], dict[int, Reservation]],
    brownfield: dict[str, list[str]],
) -> None:
    device = device_of(chosen)
    renderer = renderer_of(device)
    switch = start(device, brownfield)
    bare = switch.snapshot()
    switch.run(renderer.change(read(switch, device), wanted(device, succession[0]), device).apply)
    switch.run(all_away(renderer, device, read(switch, device)))
    assert meaning(switch.state) == meaning(bare)


@given(chosen=devices, succession=successions())
@examples(10, 40)
def test_a_policer_passes_no_less_than_was_admitted_and_what_the_hardware_keeps(
    chosen: tuple[str, dict[str, str | int | bool]],
    succession: tuple[dict[int, Reservation], dict[int, Reservation]],
) -> None:
    device = device_of(chosen)
    carried = {
        number: one.model_copy(
            update={end: Endpoint(host=ENDS[getattr(one, end).host], port=getattr(one, end).port) for end in BOTH}
        )
        for number, one in succession[0].items()
    }
    intent = intents_at(active(population(lans(), carried)), lans())[device.name]
    lines = renderer_of(device).configuration(intent, device).lines
    for flow in intent.flows:
        if flow.service in (Service.IP_PREMIUM, Service.ASSURED_RATE):
            police = lines[lines.index(f" class SLOTCAR-F{flow.number}") + 1].replace("police flow", "police").split()
            rate, burst = int(police[1]), int(police[2])
            assert rate >= flow.cir_bps
            assert rate - flow.cir_bps < max(grain_bps(rate), 32_768) or rate == 32_768
            assert rate % grain_bps(rate) == 0
            assert burst >= flow.cbs_bytes
