"""Every change of a NETCONF router gives what was wanted, touches nothing of an operator's, and is undone exactly."""

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
from tests.unit.platforms.watching import between
from tests.unit.platforms.worlds import active, population, successions
from tests.unit.platforms.yang_tree import NATIVE, POLICY, Datastore

INVENTORY = Path(__file__).parents[1] / "golden" / "render" / "inventories" / "cisco-iosxe-netconf"
ENDS = {"src": "north-data", "dst": "south-data"}
DEVICES = st.sampled_from(["north-edge", "north-gw", "hub", "south-gw"])
Succession = tuple[dict[int, Reservation], dict[int, Reservation]]
#: Beside, and on the same interfaces: names that begin alike, a policy on an interface that Slotcar does not know.
OPERATOR = f"""
<native xmlns="{NATIVE}">
  <hostname>ops</hostname>
  <ip><access-list><extended xmlns="http://cisco.com/ns/yang/Cisco-IOS-XE-acl"><name>SLOT</name></extended></access-list></ip>
  <policy>
    <class-map xmlns="{POLICY}"><name>OPS</name><prematch>match-any</prematch></class-map>
    <policy-map xmlns="{POLICY}"><name>ops-SLOTCAR-X</name><class><name>OPS</name></class></policy-map>
  </policy>
  <interface>
    <GigabitEthernet><name>0/0</name><description>up</description></GigabitEthernet>
    <GigabitEthernet><name>0/7</name><service-policy xmlns="{POLICY}"><input>OPS</input></service-policy></GigabitEthernet>
    <FastEthernet><name>0/2/0</name></FastEthernet>
  </interface>
</native>
"""


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


def read(store: Datastore, device: Device) -> Configuration:
    (command,) = renderer_of(device).readback_commands(device)
    return renderer_of(device).running({command: store.reply}, device)


def ports_named(store: Datastore, device: Device) -> None:
    """A router has its interfaces, whether or not anybody configures them."""
    for name in device.interfaces:
        kind = name.rstrip("0123456789/.")
        store.edit(
            tuple(
                f'<config xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><native xmlns="{NATIVE}"><interface>'
                f"<{kind}><name>{name.removeprefix(kind)}</name></{kind}></interface></native></config>".splitlines()
            )
        )


@given(name=DEVICES, succession=successions())
@examples(30, 100)
def test_a_change_is_made_and_undone(name: str, succession: Succession) -> None:
    device = network().devices[name]
    renderer = renderer_of(device)
    first, second = (renderer.configuration(intent, device) for intent in intents_of(name, succession))
    store = Datastore(OPERATOR)
    ports_named(store, device)
    bare = store.meaning

    manage = renderer.change(read(store, device), first, device)
    store.edit(manage.apply)
    assert read(store, device) == first
    managed = store.meaning

    change = renderer.change(read(store, device), second, device)
    store.edit(change.apply)
    assert read(store, device) == second
    assert renderer.change(read(store, device), second, device).empty
    assert change.empty == (first == second)

    store.edit(change.undo)
    assert read(store, device) == first
    assert store.meaning == managed
    store.edit(all_away(renderer, device, read(store, device)))
    assert read(store, device).lines == ()
    assert store.meaning == bare


@given(name=DEVICES, succession=successions())
@examples(10, 40)
def test_a_change_names_no_entry_that_is_the_same(name: str, succession: Succession) -> None:
    """Lists and class maps of flows that stay are not in the edit at all."""
    device = network().devices[name]
    renderer = renderer_of(device)
    first, second = (renderer.configuration(intent, device) for intent in intents_of(name, succession))
    change = renderer.change(first, second, device)
    entries = [blocks(configuration.lines) for configuration in (first, second)]
    changed = set(blocks(change.apply))
    assert not {key for key in changed if entries[0].get(key) == entries[1].get(key)}


def blocks(lines: tuple[str, ...]) -> dict[tuple[str, str], list[str]]:
    """Lists, class maps and policy maps by kind and name, each with its lines."""
    by_name: dict[tuple[str, str], list[str]] = {}
    open_block: list[str] = []
    kind = ""
    for line in lines:
        word = line.strip().strip("<>/").split(" ")[0]
        if line.strip().startswith(f"</{kind}>") and kind:
            by_name[kind, open_block[1].strip()] = open_block
            kind = ""
        elif not kind and word in {"extended", "class-map", "policy-map"}:
            kind, open_block = word, [line]
        elif kind:
            open_block.append(line)
    return by_name
