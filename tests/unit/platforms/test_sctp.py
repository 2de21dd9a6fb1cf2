"""Flows of SCTP: by their ports on Linux, whose filters know them, and by their addresses everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.base.vocabulary import Protocol
from slotcar.network import load_network
from slotcar.platforms import Configuration, Unrenderable, renderer_of
from slotcar.platforms.ios.list_matching import Taking, takes_some
from slotcar.platforms.ios.objects import Entry
from slotcar.platforms.ios.reading import entry as read_entry
from slotcar.reservation.model import Endpoint
from tests.unit.platforms import worlds

#: How each platform names a flow of SCTP without ports.
LISTED = "permit 132 host "
MATCHES = {
    "cisco-car": LISTED,
    "cisco-cat6500": LISTED,
    "cisco-gsr": LISTED,
    "cisco-iosxe-netconf": "<protocol>132</protocol>",
    "cisco-mqc": LISTED,
    "juniper-junos": "<protocol>sctp</protocol>",
    "linux-tc": " ip_proto sctp ",
}
#: Whose interfaces and SLSs have names of their own.
INVENTORIES = Path(__file__).parents[2] / "golden" / "render" / "inventories"
OWN_INVENTORY = {
    "cisco-cat6500": ("cern-se", "cern-ce"), "cisco-iosxe-netconf": ("north-data", "south-data"),
    "juniper-junos": ("north-data", "south-data"),
}  # fmt: skip


def configuration(platform: str, port: int | None) -> Configuration:
    source, destination = OWN_INVENTORY.get(platform, ("src", "dst"))
    where = load_network(INVENTORIES / platform) if platform in OWN_INVENTORY else worlds.network(platform)
    ends = {"source": Endpoint(host=source), "destination": Endpoint(host=destination, port=port)}
    intents = worlds.intents(where, worlds.entry(where, protocol=Protocol.SCTP, **ends))
    edge = next(name for name, intent in intents.items() if intent.flows and where.devices[name].platform == platform)
    return renderer_of(where.devices[edge]).configuration(intents[edge], where.devices[edge])


@pytest.mark.parametrize("platform", sorted(MATCHES))
def test_all_sctp_between_two_hosts_is_a_flow(platform: str) -> None:
    assert MATCHES[platform] in configuration(platform, None).text


@pytest.mark.parametrize("platform", sorted(MATCHES.keys() - {"linux-tc"}))
def test_ports_of_sctp_are_refused_where_lists_do_not_know_them(platform: str) -> None:
    why = r"flow forward has ports of SCTP, and .+ know those of TCP and UDP alone: leave the ports out, for all SCTP"
    with pytest.raises(Unrenderable, match=why):
        configuration(platform, 5001)


def test_linux_knows_a_flow_of_sctp_by_its_port() -> None:
    assert " ip_proto sctp dst_ip 10.0.3.2 src_ip 10.0.0.2 dst_port 5001 " in configuration("linux-tc", 5001).text


@pytest.mark.parametrize("word", ["132", "sctp"])
def test_ios_prints_sctp_by_its_number_or_by_its_name(word: str) -> None:
    line = f"permit {word} host 192.0.2.1 host 192.0.2.2"
    ours = Entry("132", "192.0.2.1", None, "192.0.2.2", None)
    assert read_entry(line) == ours
    assert takes_some([f"permit {word} any any"], ours) is Taking.YES
    assert takes_some(["permit tcp any any"], ours) is Taking.NO
