"""What a router with Junos counted is read over the session of a reading, of flows that were pushed to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.vocabulary import Service
from slotcar.platforms.counting import Amount, Count, QueuePlace
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.model import Unreadable
from slotcar_lab.junos import Packets
from tests.integration.netconf.conftest import RENDER
from tests.support.counted import Counted, flow_places
from tests.support.junos import Emulated
from tests.support.junos import startup as operators

NAME, GATEWAY = "north-edge", "north-gw"
ENDS = {"source": {"host": "north-data"}}
FLOWS: tuple[dict[str, Any], ...] = (
    {"name": "ef", **ENDS, "destination": {"host": "south-data", "port": 5004}},
    {"name": "af", **ENDS, "destination": {"host": "south-data", "port": 5005}, "service": "assured-rate"},
    {"name": "be", **ENDS, "destination": {"host": "south-data", "port": 5006}, "service": "qbss"},
)
EF, AF, OTHER = Service.IP_PREMIUM, Service.ASSURED_RATE, Service.QBSS
INVENTORY = RENDER / "inventories" / "juniper-junos"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[Counted, dict[str, Emulated]]]:
    bare = Counted(INVENTORY, tmp_path / "bare", {})
    servers = {
        name: Emulated(tmp_path / name, device, startup=operators(device))
        for name, device in bare.network.devices.items()
        if name in (NAME, GATEWAY)
    }
    for server in servers.values():
        server.start()
    yield Counted(INVENTORY, tmp_path / "world", {name: one.variables for name, one in servers.items()}), servers
    for server in servers.values():
        server.stop()


def pushed_flows(world: Counted) -> QosIntent:
    return world.push(world.entries(FLOWS, datetime.now(UTC)))[NAME]


def test_flows_and_queues_are_counted_as_ip_bytes(world: tuple[Counted, dict[str, Emulated]]) -> None:
    counted, servers = world
    intent, router = pushed_flows(counted), servers[NAME].router
    places = flow_places(intent)
    filter_name = "SLOTCAR-IN-ge-0-0-1-0"
    for service, (came, exceeded) in {EF: (1_000, 100), AF: (500, 50), OTHER: (7, 0)}.items():
        packets = [Packets(one, one * 1_000) for one in (came, exceeded)]
        router.count(filter_name, f"SLOTCAR-F{places[service].number}", *packets)
    router.count_queue("ge-0/0/0", "SLOTCAR-EF", Packets(900, 900 * 1_014), 3)
    counted.read()
    counts = counted.counts(NAME, intent)
    assert counts[places[EF]] == Count(Amount(900, 900_000), dropped=Amount(100, 100_000))
    assert counts[places[AF]] == Count(Amount(450, 450_000), Amount(50, 50_000))
    assert counts[places[OTHER]] == Count(Amount(7, 7_000))
    assert counts[QueuePlace("ge-0/0/0.0", EF)] == Count(Amount(900, 900_000), dropped=Amount(3))


def test_the_queues_of_a_unit_are_its_own_and_its_tag_no_ip_byte(world: tuple[Counted, dict[str, Emulated]]) -> None:
    counted, servers = world
    intent = counted.push(counted.entries(FLOWS, datetime.now(UTC)))[GATEWAY]
    router = servers[GATEWAY].router
    router.count_queue("ge-0/0/1", "SLOTCAR-EF", Packets(77, 77 * 1_018))
    router.count_queue("ge-0/0/1.100", "SLOTCAR-EF", Packets(900, 900 * 1_018))
    counted.read()
    assert counted.counts(GATEWAY, intent)[QueuePlace("ge-0/0/1.100", EF)] == Count(Amount(900, 900_000))


def test_a_push_that_changes_a_filter_begins_its_counters_again(world: tuple[Counted, dict[str, Emulated]]) -> None:
    counted, servers = world
    intent, router = pushed_flows(counted), servers[NAME].router
    place = flow_places(intent)[EF]
    router.count("SLOTCAR-IN-ge-0-0-1-0", f"SLOTCAR-F{place.number}", Packets(1_000, 1_000_000))
    counted.read()
    assert counted.counts(NAME, intent)[place].in_profile.packets == 1_000
    fewer = counted.push(counted.entries(FLOWS[:1], datetime.now(UTC)))[NAME]
    counted.read()
    assert counted.counts(NAME, fewer)[flow_places(fewer)[EF]] == Count()


def test_a_router_that_refuses_is_read_and_not_counted(world: tuple[Counted, dict[str, Emulated]]) -> None:
    """Its configuration is read all the same, and the push that follows is not touched."""
    counted, _ = world
    intent = pushed_flows(counted)
    answered = counted.questions.answered[NAME]
    refused = dict.fromkeys(answered.outputs, "% north-edge: `dispatch`: permission denied")
    counted.questions.answered = {NAME: type(answered)(answered.configuration, refused)}
    with pytest.raises(Unreadable, match=r"north-edge: it does not tell its counters: .*permission denied"):
        counted.counts(NAME, intent)
