"""Code points along a path: what one router marks, every later one must take for the same service.

Inside a domain nothing translates them, so a router that marks by DSCP and a later one that reads IP precedence disagree:
AF11 is precedence 1 there, which is QBSS. Where a service is offered over both, that is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from slotcar.base.model_errors import listed
from slotcar.base.registry import facts_of
from slotcar.base.vocabulary import CODE_POINTS, InterfaceRole, Marking, Service, service_of
from slotcar.network.building import InventoryDraft
from slotcar.network.findings import Findings
from slotcar.network.model import Device, Interface

OPTION = "marking"
_SERVICES = (Service.IP_PREMIUM, Service.ASSURED_RATE, Service.QBSS)


def check_markings(draft: InventoryDraft, findings: Findings) -> None:
    """Notes options that are no marking of their platform, and routers whose marks a later one takes for another
    service that is offered over both."""
    markings = {name: _marking(draft, device, findings) for name, device in draft.devices.items()}
    configured = {
        name: marking
        for name, marking in markings.items()
        if marking is not None
        and not draft.devices[name].resources
        and not draft.domains[draft.domain_of[name]].over_provisioned
    }
    pairs: dict[tuple[str, str], list[Service]] = {}
    for service in _SERVICES:
        links = _Links.of(draft, service)
        known = {name for name in configured if not _has_classes(draft, name, service)}
        for marking in Marking:
            wrong = {name for name in known if _mistaken(service, marking, draft.devices[name], configured[name])}
            for marker, reader in _meetings(draft, service, links, wrong):
                if configured.get(marker) is marking and marker in known:
                    pairs.setdefault((marker, reader), []).append(service)
    for (marker, reader), services in sorted(pairs.items()):
        _refuse(draft, marker, reader, services, configured, findings)


def _marking(draft: InventoryDraft, device: Device, findings: Findings) -> Marking | None:
    """What the router marks and matches by; None where the option is none, which is noted."""
    markings = facts_of(device.platform).markings
    option = device.options.get(OPTION)
    if option is None:
        return markings[0]
    if option in markings:
        return Marking(option)
    key = ("slotcar_options", OPTION)
    hint = (
        f"say {' or '.join(markings)}"
        if len(markings) > 1
        else f"leave it out: it marks by {markings[0]}, and only so"
    )
    findings.add(draft.nodes[device.name], key, f"is no marking of {device.platform}", option, hint)
    return None


def _has_classes(draft: InventoryDraft, router: str, service: Service) -> bool:
    """Whether the service has code points of the domain's own there, which borders translate (`class_checks.py`)."""
    return service is Service.ASSURED_RATE and bool(draft.domains[draft.domain_of[router]].assured_classes)


def served_as(dscp: int, device: Device, marking: Marking) -> Service:
    """The service of which the router takes the code point to be."""
    return facts_of(device.platform).served_as.get(dscp // 8) or service_of(dscp, marking)


def _mistaken(service: Service, by: Marking, reader: Device, reading: Marking) -> bool:
    """Whether the router serves some code point that is the service's by `by` as another one."""
    return any(served_as(dscp, reader, reading) is not service for dscp in CODE_POINTS[by][service])


@dataclass(frozen=True, slots=True)
class _Links:
    """Over which links the service is offered: `into` a router from those that send to it."""

    into: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, draft: InventoryDraft, service: Service) -> _Links:
        agreed = {(sls.ingress, sls.upstream) for sls in draft.sls.values() if sls.service is service}
        links = cls({name: [] for name in draft.devices})
        for one in draft.interfaces.values():
            other = draft.interfaces.get(one.neighbour) if one.neighbour else None
            if other is None or other.neighbour != one.id or not {one.id.device, other.id.device} <= links.into.keys():
                continue
            own_domain, other_domain = (draft.domains[draft.domain_of[end.id.device]] for end in (one, other))
            offered = all(
                domain.over_provisioned or _offers(end, service)
                for domain, end in ((own_domain, one), (other_domain, other))
            )
            if own_domain.name != other_domain.name and not (
                own_domain.over_provisioned or other_domain.over_provisioned
            ):
                offered &= _enters(draft, service, other, (other.id, own_domain.name) in agreed)
            if offered:
                links.into[other.id.device].append(one.id.device)
        return links


def _offers(interface: Interface, service: Service) -> bool:
    return interface.shares_ppm.get(service, 0) > 0


def _enters(draft: InventoryDraft, service: Service, ingress: Interface, agreed: bool) -> bool:
    """Whether code points of the service come into a domain: by an SLS; QBSS is open to everybody, but for platforms
    that reset it there."""
    if service is not Service.QBSS:
        return agreed
    return service not in facts_of(draft.devices[ingress.id.device].platform).resets


def _meetings(draft: InventoryDraft, service: Service, links: _Links, wrong: set[str]) -> Iterator[tuple[str, str]]:
    """Routers that mark the service, each with the nearest one of `wrong` that the marks come to."""
    nearest = {name: name for name in sorted(wrong)}
    waiting = deque(nearest)
    while waiting:
        here = waiting.popleft()
        for other in sorted(links.into[here]):
            if other not in nearest:
                nearest[other] = nearest[here]
                waiting.append(other)
    for name in sorted(_markers(draft, service, links)):
        if name in nearest and name not in wrong:
            yield name, nearest[name]


def _markers(draft: InventoryDraft, service: Service, links: _Links) -> set[str]:
    """Where flows of the service are marked: the first router that Slotcar configures, from an edge on."""
    starts = {
        interface.id.device
        for interface in draft.interfaces.values()
        if interface.role is InterfaceRole.EDGE
        and (_offers(interface, service) or draft.domains[draft.domain_of[interface.id.device]].over_provisioned)
    } & set(links.into)
    onwards: dict[str, list[str]] = {}
    for name, senders in links.into.items():
        for sender in senders:
            onwards.setdefault(sender, []).append(name)
    markers, reached, waiting = set(), set(starts), deque(starts)
    while waiting:
        here = waiting.popleft()
        if not draft.domains[draft.domain_of[here]].over_provisioned:
            markers.add(here)
            continue
        fresh = set(onwards.get(here, ())) - reached
        reached |= fresh
        waiting.extend(fresh)
    return markers


def _refuse(
    draft: InventoryDraft,
    marker: str,
    reader: str,
    services: list[Service],
    markings: Mapping[str, Marking],
    findings: Findings,
) -> None:
    node, ours, theirs = draft.nodes[marker], markings[marker], markings[reader]
    option = ("slotcar_options", OPTION)
    key = option if OPTION in draft.devices[marker].options else ("slotcar_platform",)
    first = services[0]
    dscp = next(d for d in CODE_POINTS[ours][first] if served_as(d, draft.devices[reader], theirs) is not first)
    point, other_point = _point(dscp, ours), _point(dscp, theirs)
    service = served_as(dscp, draft.devices[reader], theirs)
    read_there = f"{other_point} there, " if other_point != point else ""
    message = (
        f"marks {' and '.join(services)} by {_marking_name(ours)}, and such traffic comes to {reader}, which goes by"
        f" {_marking_name(theirs)}: {point} is {read_there}served as {service}"
    )
    findings.add(node, key, message, ours, _hint(draft, marker, reader, markings, services))


def _marking_name(marking: Marking) -> str:
    return "DSCP" if marking is Marking.DSCP else "IP precedence"


def _point(dscp: int, marking: Marking) -> str:
    return f"DSCP {dscp}" if marking is Marking.DSCP else f"precedence {dscp // 8}"


def _hint(
    draft: InventoryDraft, marker: str, reader: str, markings: Mapping[str, Marking], services: list[Service]
) -> str:
    """A hint: a marking that all routers can use and who does not yet; else one for these two; else to part them."""
    can = {name: facts_of(draft.devices[name].platform).markings for name in markings}
    for names in (sorted(markings), (marker, reader)):
        common = [one for one in Marking if all(one in can[name] for name in names)]
        if common:
            others = {one: [name for name in names if markings[name] is not one] for one in common}
            best = min(common, key=lambda one: len(others[one]))
            return f"say `slotcar_options: {{{OPTION}: {best}}}` for {listed(others[best])}"
    return (
        f"{draft.devices[marker].platform} and {draft.devices[reader].platform} have no marking in common: leave"
        f" {' and '.join(services)} out of the shares, or of the SLSs, between them"
    )
