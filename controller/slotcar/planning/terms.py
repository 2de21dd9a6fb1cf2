"""The operator's rules, of the settings and the inventory together."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.registry import facts_of
from slotcar.base.settings import OwnerQuota, Settings
from slotcar.book.rules.endpoints import endpoint_owners
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.quotas import Quota
from slotcar.book.rules.reserving import ReservingRules
from slotcar.network.model import Network
from slotcar.policy.questions import named
from slotcar.policy.site import Site, site_of
from slotcar.policy.unheard import nearly_named


def policy_of(settings: Settings, network: Network) -> Policy:
    """
    Raises:
        InvalidInput: what the inventory says of rights is not in order.
    """
    usual = OwnerQuota(
        reservations=settings.quota_reservations,
        windows=settings.quota_windows,
        holds=settings.quota_holds,
        volume=settings.quota_volume_bytes,
    )
    site = site_of(settings.inventory)
    if problems := list(_not_in_network(site, network)):
        raise InvalidInput(problems)
    return Policy(
        gate=Gate(settings.approval_rate_bps, settings.approval_duration, site.policies),
        horizon=settings.horizon,
        longest_hold=settings.longest_hold,
        frozen=settings.frozen_horizon,
        quota=_quota(usual, usual),
        owner_quotas={owner: _quota(own, usual) for owner, own in settings.owner_quotas.items()},
        endpoints=endpoint_owners(network, site.policies),
        reserving=_reserving(site, network),
        least_rate_bps=max((facts_of(one.platform).police_floor_bps for one in network.devices.values()), default=0),
    )


def _reserving(site: Site, network: Network) -> ReservingRules:
    hosts: dict[str, list[str]] = {}
    for name, host in network.hosts.items():
        hosts.setdefault(str(host.address), []).append(name)
    domains = {name: device.domain for name, device in network.devices.items()}
    return ReservingRules(site, domains, _agreements(network), hosts)


def _not_in_network(site: Site, network: Network) -> Iterator[Problem]:
    known: dict[str, Collection[str]] = {
        "Host": {*network.hosts, *network.devices},
        "Domain": {*network.domains, *site.domains},
    }
    if "Link" in {kind for rule in site.policies.rules for kind, _ in rule.entities}:
        known["Link"] = {str(one.id) for device in network.devices.values() for one in device.interfaces.values()}
    return nearly_named(site.policies.rules, known)


def _agreements(network: Network) -> dict[str, dict[str, Any]]:
    """What each domain may ask for, as policies are told."""
    return {
        name: {
            **({} if domain.at_most_bps is None else {"at_most_bps": domain.at_most_bps}),
            **({} if domain.sls_at_most_bps is None else {"sls_at_most_bps": domain.sls_at_most_bps}),
            **({"services": [named("Service", one.value) for one in domain.services]} if domain.services else {}),
        }
        for name, domain in network.domains.items()
    }


def _quota(own: OwnerQuota, usual: OwnerQuota) -> Quota:
    """An owner's quota; what its entry leaves out is as for everybody."""
    limits = usual.model_dump() | own.model_dump(exclude_unset=True)
    volume_bytes = limits["volume"]
    return Quota(
        limits["reservations"],
        limits["windows"],
        limits["holds"],
        volume_bytes * 8 if volume_bytes is not None else None,
    )
