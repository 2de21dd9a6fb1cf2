"""From intent to the element `configuration`: what Slotcar wants of a router with Junos. Pure."""

from __future__ import annotations

from slotcar.network.model import Device
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.juniper_junos.document import document_of
from slotcar.platforms.juniper_junos.egress import egress_of
from slotcar.platforms.juniper_junos.ingress import ingress_of
from slotcar.platforms.netconf.tree import Node


def wanted(intent: QosIntent, device: Device) -> Node | None:
    """
    Raises:
        Unrenderable: what the router cannot express, or has no room for.
    """
    return document_of([*ingress_of(intent, device), *egress_of(intent, device)])
