"""What the policers of a Catalyst counted is read by its command line, of flows that were pushed to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.vocabulary import Service
from slotcar.platforms.counting import Amount, Count
from slotcar.platforms.intent.model import QosIntent
from slotcar_lab.ios import Counters, Router, Routers
from tests.integration.netconf.conftest import RENDER
from tests.support.cisco import startup
from tests.support.counted import Counted, flow_places

NAME, EDGE = "cern-lan", "GigabitEthernet1/1"
INVENTORY = RENDER / "inventories" / "cisco-cat6500"
ENDS = {"source": {"host": "cern-se"}}
FLOWS: tuple[dict[str, Any], ...] = (
    {"name": "ef", **ENDS, "destination": {"host": "infn-se", "port": 5004}},
    {"name": "af", **ENDS, "destination": {"host": "infn-se", "port": 5005}, "service": "assured-rate"},
)
EF, AF = Service.IP_PREMIUM, Service.ASSURED_RATE


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[tuple[Counted, Router]]:
    device = Counted(INVENTORY, tmp_path / "bare", {}).network.devices[NAME]
    with Routers() as routers:
        router = routers.add(NAME, device.platform, startup(device))
        known_hosts = tmp_path / "known_hosts"
        known_hosts.write_text(routers.known_hosts)
        variables = {
            "ansible_host": router.address, "ansible_port": router.port, "ansible_user": router.user,
            "ansible_password": router.password, "slotcar_known_hosts": str(known_hosts),
        }  # fmt: skip
        yield Counted(INVENTORY, tmp_path / "world", {NAME: variables}), router


def pushed_flows(counted: Counted) -> QosIntent:
    return counted.push(counted.entries(FLOWS, datetime.now(UTC)))[NAME]


def test_flows_are_counted_as_ip_bytes_without_packets(switch: tuple[Counted, Router]) -> None:
    counted, router = switch
    intent = pushed_flows(counted)
    places = flow_places(intent)
    for service, conformed, exceeded in ((EF, 900_000, 100_000), (AF, 450_000, 50_000)):
        counters = Counters(conformed_bytes=conformed, exceeded_bytes=exceeded)
        router.count(EDGE, "input", f"SLOTCAR-F{places[service].number}", counters)
    counted.read()
    assert counted.counts(NAME, intent) == {
        places[EF]: Count(Amount(0, 900_000), dropped=Amount(0, 100_000)),
        places[AF]: Count(Amount(0, 450_000), Amount(0, 50_000)),
    }


def test_a_flow_that_is_policed_anew_counts_from_zero(switch: tuple[Counted, Router]) -> None:
    counted, router = switch
    intent = pushed_flows(counted)
    place = flow_places(intent)[EF]
    router.count(EDGE, "input", f"SLOTCAR-F{place.number}", Counters(conformed_bytes=900_000))
    router.clear_counters()
    counted.read()
    assert counted.counts(NAME, intent)[place] == Count()
