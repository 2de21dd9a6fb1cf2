"""What one may ask for: endpoints, services, and the operator's limits. Pure; JSON-ready, as `documents` is."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from ipaddress import IPv4Address
from typing import cast

from slotcar.base.settings import Settings
from slotcar.base.vocabulary import ASSURED_DSCPS, DSCP, RESERVED_SERVICES, InterfaceRole, Service
from slotcar.book.rules.endpoints import EndpointOwners
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.quotas import Usage
from slotcar.network.model import Network
from slotcar_client.wire import documents

#: PHB and treatment of each service (docs/design.md rule 17).
_TREATMENTS = {
    Service.IP_PREMIUM: ("EF", "policed at the edge, excess dropped; served before everything else"),
    Service.ASSURED_RATE: (
        "AF1x",
        "metered in colours at the edge, excess re-marked; dropped first when out of profile",
    ),
    Service.BEST_EFFORT: ("DF", "what is left"),
    Service.QBSS: ("CS1", "at least 1 % of the link, whatever is unused, dropped first"),
}


def endpoints_document(network: Network, owners: EndpointOwners, owner: str | None) -> documents.Endpoints:
    """End systems by name, and networks whose addresses may be said; those that `owner` may use, all where it is None."""

    def may_use(address: IPv4Address) -> bool:
        return owner is None or owners.may_use(owner, address).allowed

    hosts: list[documents.Host] = [
        {"name": host.name, "address": str(host.address), "domain": host.domain}
        for host in network.hosts.values()
        if may_use(host.address)
    ]
    networks: list[documents.Network] = [
        {"prefix": str(prefix), "domain": device.domain}
        for device in network.devices.values()
        for interface in device.interfaces.values()
        if interface.role is InterfaceRole.EDGE
        for prefix in interface.behind
        if may_use(prefix.network_address)
    ]
    return {
        "hosts": sorted(hosts, key=lambda one: one["name"]),
        "networks": sorted(networks, key=lambda one: (one["domain"], one["prefix"])),
    }


def services_document() -> documents.Services:
    return {
        "items": [
            {
                "service": service.value,
                "reserved": service in RESERVED_SERVICES,
                "phb": phb,
                "dscps": list(ASSURED_DSCPS) if service is Service.ASSURED_RATE else [DSCP[service]],
                "treatment": words,
            }
            for service, (phb, words) in _TREATMENTS.items()
        ]
    }


def limits_document(settings: Settings, policy: Policy, owner: str, usage: Usage) -> documents.Limits:
    """The operator's limits, with what the owner has of its quotas; volumes are in bits."""
    quota = policy.quota_of(owner)
    return {
        "owner": owner,
        "horizon_s": _seconds(policy.horizon),
        "hold_s": _seconds(settings.hold),
        "longest_hold_s": None if policy.longest_hold is None else _seconds(policy.longest_hold),
        "approval_rate_bps": policy.gate.rate_bps,
        "approval_duration_s": None if policy.gate.duration is None else _seconds(policy.gate.duration),
        "max_windows": settings.max_windows,
        "max_body_bytes": settings.max_body_bytes,
        "webhook_hosts": list(settings.webhook_hosts),
        "quotas": [
            {
                "what": cast(documents.QuotaName, one.name.removesuffix("_bits")),
                "limit": getattr(quota, one.name),
                "in_use": getattr(usage, one.name),
            }
            for one in fields(quota)
        ],
    }


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())
