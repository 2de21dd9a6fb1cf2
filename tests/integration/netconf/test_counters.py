"""What IOS-XE tells of its policies by `get`, over the session of a reading, from a server with Cisco's models.

netconfd forwards no packet: what it tells was put there by the test, in the elements of the vendor's model of state.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.vocabulary import Service
from slotcar.platforms.cisco_iosxe_netconf.counters import SPACE
from slotcar.platforms.counting import Amount, Count, FlowPlace, QueuePlace
from slotcar.platforms.intent.model import QosIntent
from slotcar.rollout.netconf import netconf_login
from slotcar.rollout.netconf.session import NetconfSession
from tests.integration.netconf.conftest import RENDER
from tests.integration.netconf.server import CISCO, CISCO_THAT_COUNTS, Models, Server
from tests.support.counted import Counted, flow_places
from tests.support.netconf_world import BASE, startup

NAME, EDGE, OUT = "north-edge", "GigabitEthernet0/1", "GigabitEthernet0/0"
ENDS = {"source": {"host": "north-data"}}
FLOWS: tuple[dict[str, Any], ...] = (
    {"name": "ef", **ENDS, "destination": {"host": "south-data", "port": 5004}},
    {"name": "af", **ENDS, "destination": {"host": "south-data", "port": 5005}, "service": "assured-rate"},
)
EF, AF = Service.IP_PREMIUM, Service.ASSURED_RATE
#: Of a packet of 1,000 bytes of IP, as IOS counts it.
FRAME = 1_014


class Site:
    """The golden cases' `north-edge`, on a server."""

    def __init__(self, folder: Path, models: Models) -> None:
        # netconfd's socket needs a short path.
        self._short = tempfile.TemporaryDirectory(prefix="slotcar-")
        self.server = Server(Path(self._short.name), models=models)
        self.server.start()
        self.counted = Counted(RENDER / "inventories" / "cisco-iosxe-netconf", folder, {NAME: self.server.variables})
        self.put(startup(self.counted.network.devices[NAME]))

    def put(self, config: str) -> None:
        session = NetconfSession(NAME, netconf_login(NAME, self.server.variables))
        session.open()
        try:
            session.do("edit_config", target="candidate", config=config)
            session.do("commit")
        finally:
            session.close()

    def tell(self, *policies: str) -> None:
        """State of interfaces: `policies` are elements `interface`."""
        self.put(f'<config xmlns="{BASE}"><interfaces xmlns="{SPACE}">{"".join(policies)}</interfaces></config>')

    def pushed_flows(self) -> QosIntent:
        return self.counted.push(self.counted.entries(FLOWS, datetime.now(UTC)))[NAME]

    def close(self) -> None:
        self.server.stop()
        self._short.cleanup()


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Any]:
    opened: list[Site] = []

    def make(models: Models) -> Site:
        opened.append(Site(tmp_path, models))
        return opened[-1]

    yield make
    for site in opened:
        site.close()


def entry(name: str, *parts: str) -> str:
    """A class's part of a policy."""
    inner = f"<classifier-entry-name>{name}</classifier-entry-name><parent-path>{name}</parent-path>"
    return f"<diffserv-target-classifier-stats>{inner}{''.join(parts)}</diffserv-target-classifier-stats>"


def numbers(prefix: str, packets: int) -> str:
    return f"<{prefix}-pkts>{packets}</{prefix}-pkts><{prefix}-bytes>{packets * FRAME}</{prefix}-bytes>"


def policed(place: FlowPlace, *meters: tuple[int, int]) -> str:
    """Meters: packets that succeed and that fail."""
    total = f"<classifier-entry-stats>{numbers('classified', sum(meters[0]))}</classifier-entry-stats>"
    parts = (
        f"<meter-stats><meter-id>{number}</meter-id>{numbers('meter-succeed', within)}{numbers('meter-failed', beyond)}"
        "</meter-stats>"
        for number, (within, beyond) in enumerate(meters, 1)
    )
    return entry(f"SLOTCAR-F{place.number}", total, *parts)


def interface(name: str, direction: str, policy: str, *entries: str) -> str:
    keys = f"<direction>{direction}</direction><policy-name>{policy}</policy-name>"
    return f"<interface><name>{name}</name><diffserv-info>{keys}{''.join(entries)}</diffserv-info></interface>"


def test_policers_and_queues_are_counted_as_ip_bytes(make_site: Any) -> None:
    site: Site = make_site(CISCO_THAT_COUNTS)
    intent = site.pushed_flows()
    places = flow_places(intent)
    queue = f"<queuing-stats>{numbers('output', 990)}<drop-pkts>10</drop-pkts></queuing-stats>"
    site.tell(
        interface(
            EDGE, "qos-inbound", f"SLOTCAR-IN-{EDGE}",
            policed(places[EF], (1_000, 100)), policed(places[AF], (500, 50), (30, 20)), entry("OPERATORS"),
        ),
        interface(OUT, "qos-outbound", f"SLOTCAR-OUT-{OUT}", entry("SLOTCAR-EF", queue)),
    )  # fmt: skip
    site.counted.read()
    counts = site.counted.counts(NAME, intent)
    assert counts[places[EF]] == Count(Amount(1_000, 1_000_000), dropped=Amount(100, 100_000))
    assert counts[places[AF]] == Count(Amount(500, 500_000), Amount(50, 50_000))
    assert counts[QueuePlace(OUT, EF)] == Count(Amount(990, 990_000), dropped=Amount(10))


def test_a_peer_without_such_state_is_read_and_has_counted_nothing(make_site: Any) -> None:
    """It knows the model of its configuration alone: its answer is empty, and what it carried is unknown."""
    site: Site = make_site(CISCO)
    intent = site.pushed_flows()
    site.counted.read()
    assert site.counted.counts(NAME, intent) == {}
