"""What a provider publishes: its discovery document (OGF GFD.236) and its topology in NML (GFD.206)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lxml import etree  # type: ignore[import-untyped]

from slotcar.base.timebase import iso
from slotcar.domains.nsi.names import (
    DISCOVERY,
    DISCOVERY_TYPE,
    NML,
    PROVIDER_VERSION,
    REQUESTER_VERSION,
    TOPOLOGY_TYPE,
)
from slotcar.domains.nsi.points import stp_of
from slotcar.network import Network

_DISCOVERY, _NML = f"{{{DISCOVERY}}}", f"{{{NML}}}"


@dataclass(frozen=True, slots=True)
class NsiIdentity:
    """`nsa`: this agent. network: its topology. url: where its parts are reached from outside, no slash at the end."""

    nsa: str
    network: str
    url: str

    @property
    def provider(self) -> str:
        return f"{self.url}/provider"

    @property
    def requester(self) -> str:
        return f"{self.url}/requester"


def discovery_document(
    identity: NsiIdentity, domain: str, version: datetime, software: str, peers: tuple[str, ...] = ()
) -> bytes:
    """Who this agent is, where it is asked, and with which agents it works."""
    root = etree.Element(f"{_DISCOVERY}nsa", nsmap={"nsa": DISCOVERY}, id=identity.nsa, version=iso(version))
    for name, text in (("name", domain), ("softwareVersion", software), ("networkId", identity.network)):
        etree.SubElement(root, name).text = text
    for kind, address in (
        (PROVIDER_VERSION, identity.provider),
        (REQUESTER_VERSION, identity.requester),
        (DISCOVERY_TYPE, f"{identity.url}/discovery"),
        (TOPOLOGY_TYPE, f"{identity.url}/topology"),
    ):
        interface = etree.SubElement(root, "interface")
        etree.SubElement(interface, "type").text = kind
        etree.SubElement(interface, "href").text = address
    etree.SubElement(root, "feature", type="vnd.ogf.nsi.cs.v2.role.uPA")
    for peer in peers:
        etree.SubElement(root, "peersWith").text = peer
    return bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True))


def topology_document(identity: NsiIdentity, network: Network, domain: str, version: datetime) -> bytes:
    """The domain's end systems as ports both ways. What lies between them is the domain's own business."""
    root = etree.Element(f"{_NML}Topology", nsmap={"nml": NML}, id=identity.network, version=iso(version))
    etree.SubElement(root, f"{_NML}name").text = domain
    hosts = sorted(network.hosts)
    for host in hosts:
        stp = stp_of(host, identity.network)
        port = etree.SubElement(root, f"{_NML}BidirectionalPort", id=stp)
        etree.SubElement(port, f"{_NML}name").text = host
        for way in ("in", "out"):
            etree.SubElement(port, f"{_NML}PortGroup", id=f"{stp}:{way}")
    for way, kind in (("in", "hasInboundPort"), ("out", "hasOutboundPort")):
        relation = etree.SubElement(root, f"{_NML}Relation", type=f"{NML}{kind}")
        for host in hosts:
            etree.SubElement(relation, f"{_NML}PortGroup", id=f"{stp_of(host, identity.network)}:{way}")
    return bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True))
