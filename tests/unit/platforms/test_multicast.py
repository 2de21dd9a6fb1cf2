"""A flow to a multicast group: on every platform one flow at its first router, by its source and the group."""

from __future__ import annotations

import pytest

from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.platforms import renderer_of
from slotcar.reservation.model import Endpoint
from tests.unit.platforms import worlds
from tests.unit.platforms.test_sctp import INVENTORIES, OWN_INVENTORY

GROUP = "239.1.2.3"
#: How each platform names the packets from a source to the group.
LISTED = "permit udp host {source} host 239.1.2.3 eq 1044"
MATCHES = {
    "cisco-car": LISTED,
    "cisco-cat6500": LISTED,
    "cisco-gsr": LISTED,
    "cisco-iosxe-netconf": "<dst-host>239.1.2.3</dst-host>",
    "cisco-mqc": LISTED,
    "juniper-junos": "<name>239.1.2.3/32</name>",
    "linux-tc": "ip_proto udp dst_ip 239.1.2.3 src_ip {source} dst_port 1044",
}


def world(platform: str) -> tuple[Network, str, str]:
    source, receiver = OWN_INVENTORY.get(platform, ("src", "dst"))
    where = load_network(INVENTORIES / platform) if platform in OWN_INVENTORY else worlds.network(platform)
    return where, source, receiver


@pytest.mark.parametrize("platform", sorted(MATCHES))
def test_a_group_is_matched_by_its_address(platform: str) -> None:
    where, source, receiver = world(platform)
    beside = worlds.entry(where, 2, source=Endpoint(host=source), destination=Endpoint(host=receiver, port=1044))
    ends = {"source": Endpoint(host=source), "destination": Endpoint(host=GROUP, port=1044)}
    intents = worlds.intents(where, worlds.entry(where, 1, receivers=(receiver,), **ends), beside)
    (edge,) = (name for name, intent in intents.items() if intent.flows)
    of_group, of_host = intents[edge].flows
    assert (of_group.cir_bps, of_group.cbs_bytes) == (of_host.cir_bps, of_host.cbs_bytes)
    text = renderer_of(where.devices[edge]).configuration(intents[edge], where.devices[edge]).text
    assert MATCHES[platform].format(source=of_group.match.source_address) in text
