"""Checks that the parts of a network fit each other: links, shares, addresses, end systems, SLSs.

Each check looks only at parts that could be built, so that one error is not reported as two.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from slotcar.base.assured import class_key
from slotcar.base.model_errors import nearest
from slotcar.base.registry import FOLDERS, facts_of
from slotcar.base.units import format_latency, format_rate
from slotcar.base.vocabulary import InterfaceRole
from slotcar.network.building import InventoryDraft
from slotcar.network.class_checks import check_assured_classes
from slotcar.network.findings import Findings
from slotcar.network.marking import check_markings
from slotcar.network.model import Device, Interface, InterfaceId, Sls
from slotcar.network.reading import InventoryNode, Key
from slotcar.network.shaping_checks import check_shaping
from slotcar.network.sls_terms import sources_wrong
from slotcar.network.variables import format_share

MILLION = 1_000_000


def check(draft: InventoryDraft, findings: Findings) -> None:
    """Notes everything that does not fit."""
    for interface in draft.interfaces.values():
        _shares(draft, interface, findings)
        _role(draft, interface, findings)
        _link(draft, interface, findings)
        _scheduler(draft, interface, findings)
        _owners(draft, interface, findings)
    for device in draft.devices.values():
        _dead_man(draft, device, findings)
    _overlaps(draft, findings)
    _twin_addresses(draft, findings)
    for name in draft.hosts:
        _host(draft, name, findings)
        _accounts(draft, name, findings)
    for sls in draft.sls.values():
        _sls(draft, sls, findings)
    _sls_twins(draft, findings)
    check_assured_classes(draft, findings)
    check_markings(draft, findings)
    check_shaping(draft, findings)


def _key(interface: InterfaceId, *last: str) -> Key:
    return ("slotcar_interfaces", interface.name, *last)


def _looked_up(
    draft: InventoryDraft, node: InventoryNode, key: Key, named: InterfaceId, findings: Findings
) -> Interface | None:
    """The interface that a value names; None where there is none, which is noted, or where it could not be built."""
    if named.device not in draft.named:
        hint = nearest(named.device, list(draft.named))
        findings.add(node, key, f"is unknown: there is no router {named.device}", named, hint)
    elif named.name not in draft.named[named.device]:
        hint = nearest(named.name, draft.named[named.device])
        findings.add(node, key, f"is unknown: {named.device} has no interface {named.name}", named, hint)
    return draft.interfaces.get(named)


def _is_named(draft: InventoryDraft, interface: InterfaceId) -> bool:
    return interface.name in draft.named.get(interface.device, ())


def _shares(draft: InventoryDraft, interface: Interface, findings: Findings) -> None:
    total_ppm = sum(interface.shares_ppm.values())
    if total_ppm <= MILLION:
        return
    node = draft.nodes[interface.id.device]
    own = _key(interface.id, "shares")
    parts = " + ".join(f"{service} {format_share(share)}" for service, share in interface.shares_ppm.items())
    key = own if own in node.places else ("slotcar_shares",)
    findings.add(node, key, "is more than the whole link", f"{parts} = {format_share(total_ppm)}", "say at most 100 %")


def _scheduler(draft: InventoryDraft, interface: Interface, findings: Findings) -> None:
    """A choice that a platform does not have, and would pass over, is refused where it is written."""
    device = draft.devices.get(interface.id.device)
    if device is None or interface.scheduler in facts_of(device.platform).schedulers:
        return
    node, key = draft.nodes[device.name], _key(interface.id, "scheduler")
    if node.variables["slotcar_interfaces"][interface.id.name].get("scheduler") is None:
        key = ("slotcar_scheduler",)
        if node.variables.get("slotcar_scheduler") is None:
            return
    those = " or ".join(name for name in FOLDERS if facts_of(name).schedulers)
    hint = f"say it where slotcar_platform is {those}, or leave it out"
    findings.add(node, key, f"cannot be chosen on {device.platform}", interface.scheduler, hint)


def _owners(draft: InventoryDraft, interface: Interface, findings: Findings) -> None:
    """Only end systems have owners, and owners are named of what is behind the interface."""
    node = draft.nodes[interface.id.device]
    if interface.owners and interface.role is not InterfaceRole.EDGE:
        hint = "only behind an edge interface are there end systems"
        findings.add(
            node, _key(interface.id, "owners"), f"cannot be on an interface of role {interface.role}", "", hint
        )
        return
    networks = ", ".join(str(network) for network in interface.behind) or "nothing: it has no address and no prefixes"
    for prefix in interface.owners:
        if not any(prefix.subnet_of(network) for network in interface.behind):
            message = f"is outside of what is behind {interface.id}, {networks}"
            findings.add(node, _key(interface.id, "owners", str(prefix)), message, prefix)


def _dead_man(draft: InventoryDraft, device: Device, findings: Findings) -> None:
    """Only a router that acts by itself can fall back by itself."""
    if device.dead_man_s is not None and not facts_of(device.platform).acts(device.options):
        words = dict.fromkeys(facts_of(name).acts_words for name in FOLDERS)
        hint = f"say it for {', or for '.join(filter(None, words))}, or leave it out"
        key = ("slotcar_dead_man",)
        findings.add(draft.nodes[device.name], key, "needs a router that acts by itself", device.platform, hint)


def _right_role(draft: InventoryDraft, interface: Interface) -> InterfaceRole | None:
    """The role that follows from who is at the other end (RFC 2475); None where that is not known, which is reported."""
    ours, neighbour = draft.domain_of[interface.id.device], interface.neighbour
    if neighbour is None:
        linked = any(other.neighbour == interface.id for other in draft.interfaces.values())
        return None if linked else InterfaceRole.EDGE
    theirs = draft.domain_of.get(neighbour.device)
    if theirs is None or neighbour.device == interface.id.device:
        return None
    return InterfaceRole.CORE if theirs == ours else InterfaceRole.INTER_DOMAIN


def _role(draft: InventoryDraft, interface: Interface, findings: Findings) -> None:
    """An interface's role and its neighbour must tell the same story."""
    node, key, role = draft.nodes[interface.id.device], _key(interface.id, "role"), interface.role
    if interface.prefixes and role is not InterfaceRole.EDGE:
        hint = "only behind an edge interface are there end systems"
        findings.add(node, _key(interface.id, "prefixes"), f"cannot be on an interface of role {role}", "", hint)
    if role is InterfaceRole.EDGE and interface.neighbour is None:
        return
    right = _right_role(draft, interface)
    if right is None or right is role:
        return
    if role is InterfaceRole.EDGE:
        hint = f"say `{right}`, or leave one of the two out"
        findings.add(node, key, "faces end systems, and has a neighbour", role, hint)
    elif interface.neighbour is None:
        hint = "name the interface at the other end, `neighbour: DEVICE:INTERFACE`, or make it `role: edge`"
        findings.add(node, key, "needs a neighbour", role, hint)
    else:
        why = f"its neighbour {interface.neighbour} is in the domain {draft.domain_of[interface.neighbour.device]}"
        findings.add(node, key, f"does not fit: {why}", role, f"say `{right}`, or leave the role out")


def _link(draft: InventoryDraft, interface: Interface, findings: Findings) -> None:
    """A link has two ends that name each other and agree."""
    other_id, node = interface.neighbour, draft.nodes[interface.id.device]
    if other_id is None:
        return
    key = _key(interface.id, "neighbour")
    if other_id.device == interface.id.device:
        findings.add(node, key, "is on the same router", other_id, "a link joins two routers")
        return
    other = _looked_up(draft, node, key, other_id, findings)
    if other is not None:
        if other.neighbour is not None and not _is_named(draft, other.neighbour):
            return
        if other.neighbour != interface.id:
            says = f"names {other.neighbour}" if other.neighbour else "names no neighbour"
            hint = f"say `neighbour: {interface.id}` there, or mend this one"
            findings.add(node, key, f"is a link with one end: {other_id} {says}", other_id, hint)
        elif str(interface.id) < str(other_id):
            _agree(draft, interface, other, findings)


def _agree(draft: InventoryDraft, one: Interface, other: Interface, findings: Findings) -> None:
    """Capacity, layer-2 overhead, propagation and subnet are the link's, so both ends say the same; a metric is each
    end's own."""
    node, place = draft.nodes[one.id.device], draft.nodes[other.id.device].place(_key(other.id))

    def differ(name: str, own_value: str, other_value: str) -> None:
        message = f"differs from the other end's, {other_value} at {other.id} ({place.file}:{place.line})"
        findings.add(node, _key(one.id, name), message, own_value, "both ends of a link say the same")

    if one.capacity_bps != other.capacity_bps:
        differ("capacity", format_rate(one.capacity_bps), format_rate(other.capacity_bps))
    if one.overhead_bytes != other.overhead_bytes:
        differ("overhead_bytes", str(one.overhead_bytes), str(other.overhead_bytes))
    if one.propagation_us != other.propagation_us:
        own, others = (
            "none" if end.propagation_us is None else format_latency(end.propagation_us) for end in (one, other)
        )
        differ("propagation", own, others)
    if one.address and other.address and one.address.network != other.address.network:
        message = f"is in another subnet than the other end's, {other.address} at {other.id}"
        findings.add(node, _key(one.id, "address"), f"{message} ({place.file}:{place.line})", one.address)


def _networks(draft: InventoryDraft) -> Iterator[tuple[IPv4Network, InterfaceId, Key]]:
    for interface in draft.interfaces.values():
        if interface.address is not None:
            yield interface.address.network, interface.id, _key(interface.id, "address")
        for prefix in interface.prefixes:
            yield prefix, interface.id, _key(interface.id, "prefixes")


def _overlaps(draft: InventoryDraft, findings: Findings) -> None:
    """No address is behind two interfaces; the two ends of one link share their subnet.

    Sorted, a network that overlaps an earlier one is inside the last of those still open, so one pass finds them.
    """
    open_networks: list[tuple[IPv4Network, InterfaceId]] = []
    for network, owner, key in sorted(_networks(draft), key=lambda one: (one[0], str(one[1]), one[2])):
        while open_networks and not network.subnet_of(open_networks[-1][0]):
            open_networks.pop()
        strangers = [one for one in open_networks if not _may_share(draft, owner, one[1])]
        if strangers:
            around, other = strangers[-1]
            place = draft.nodes[other.device].place(_key(other))
            message = f"overlaps {around} of {other} ({place.file}:{place.line})"
            findings.add(draft.nodes[owner.device], key, message, network, "every address is behind one interface")
        open_networks.append((network, owner))


def _may_share(draft: InventoryDraft, owner: InterfaceId, other: InterfaceId) -> bool:
    # The two ends of a link whose subnets overlap and differ are told so by `_agree`.
    linked = draft.interfaces[owner].neighbour == other or draft.interfaces[other].neighbour == owner
    return owner == other or linked


def _twin_addresses(draft: InventoryDraft, findings: Findings) -> None:
    first: dict[IPv4Address, str] = {}
    for interface in draft.interfaces.values():
        if interface.address is None:
            continue
        address = interface.address.ip
        if address in first:
            key = _key(interface.id, "address")
            findings.add(draft.nodes[interface.id.device], key, f"is the address of {first[address]} too", address)
        first.setdefault(address, str(interface.id))
    for name, variables in draft.hosts.items():
        address = variables.slotcar_address
        if address in first:
            findings.add(draft.nodes[name], ("slotcar_address",), f"is the address of {first[address]} too", address)
        first.setdefault(address, name)


def _accounts(draft: InventoryDraft, name: str, findings: Findings) -> None:
    """Accounts are given to owners that may reserve there at all."""
    node, host = draft.nodes[name], draft.hosts[name]
    for owner in host.slotcar_host_accounts or {}:
        if host.slotcar_owners is not None and owner not in host.slotcar_owners:
            hint = "an owner binds processes only where it may reserve: name it there too"
            findings.add(node, ("slotcar_host_accounts", owner), "is none of its slotcar_owners", owner, hint)


def _host(draft: InventoryDraft, name: str, findings: Findings) -> None:
    """An end system is behind an edge interface, with an address of what is behind it."""
    node, host = draft.nodes[name], draft.hosts[name]
    behind, key = host.slotcar_attached_to, ("slotcar_attached_to",)
    interface = _looked_up(draft, node, key, behind, findings)
    if interface is None:
        return
    if interface.role is not InterfaceRole.EDGE:
        if interface.neighbour is not None:
            hint = "end systems are behind edge interfaces"
            findings.add(node, key, f"is no edge interface but {interface.role}", behind, hint)
        return
    if interface.behind and not any(host.slotcar_address in network for network in interface.behind):
        networks = ", ".join(str(network) for network in interface.behind)
        message = f"is outside of what is behind {behind}, {networks}"
        findings.add(node, ("slotcar_address",), message, host.slotcar_address)


def _sls(draft: InventoryDraft, sls: Sls, findings: Findings) -> None:
    """An SLS binds two neighbours, at an inter-domain interface of the domain that accepts the traffic."""
    node, key = draft.groups[sls.downstream], ("slotcar_sls", sls.name)
    if sls.upstream not in draft.groups:
        others = [name for name in draft.groups if name != sls.downstream]
        hint = nearest(sls.upstream, others)
        findings.add(node, (*key, "upstream"), "is no domain of this inventory", sls.upstream, hint)
    elif sls.upstream == sls.downstream:
        findings.add(
            node, (*key, "upstream"), "is this domain itself", sls.upstream, "say where the traffic comes from"
        )
        return
    ingress = _looked_up(draft, node, (*key, "ingress"), sls.ingress, findings)
    if ingress is not None:
        _sls_ingress(draft, sls, ingress, findings)
    _sls_figures(draft, sls, findings)


def _sls_figures(draft: InventoryDraft, sls: Sls, findings: Findings) -> None:
    """Peak, scope, and figures that cannot all be meant."""
    node, key = draft.groups[sls.downstream], ("slotcar_sls", sls.name)
    if sls.peak_bps is not None and sls.peak_bps < sls.rate_bps:
        hint = f"say at least the rate, {format_rate(sls.rate_bps)}"
        findings.add(node, (*key, "peak"), "is less than the rate", format_rate(sls.peak_bps), hint)
    for egress in sls.egresses:
        interface = _looked_up(draft, node, (*key, "egress"), egress, findings)
        owner = draft.domain_of.get(egress.device)
        if egress == sls.ingress:
            findings.add(node, (*key, "egress"), "is where the traffic comes in", egress, "say where it may leave")
        elif interface is not None and owner != sls.downstream:
            hint = f"say an interface of {sls.downstream}: what it promises ends there"
            findings.add(node, (*key, "egress"), f"is an interface of another domain, {owner}", egress, hint)
    for number, message, written, hint in sources_wrong(sls):
        where = (*key, "pscheduler") if number is None else (*key, "pscheduler", str(number))
        findings.add(node, where, message, written, hint)
    if sls.quantile_ppm < MILLION and sls.delay_us is None and sls.variation_us is None:
        hint = "say `delay` or `variation` too, or leave it out"
        findings.add(node, (*key, "quantile"), "is of nothing", format_share(sls.quantile_ppm), hint)


def _sls_ingress(draft: InventoryDraft, sls: Sls, ingress: Interface, findings: Findings) -> None:
    node, key = draft.groups[sls.downstream], ("slotcar_sls", sls.name)
    where, neighbour, at = (*key, "ingress"), ingress.neighbour, ingress.id
    owner = draft.domain_of[at.device]
    if owner != sls.downstream:
        hint = f"say an interface of {sls.downstream}, or write the SLS in group_vars/{owner}.yml"
        findings.add(node, where, f"is an interface of another domain, {owner}", at, hint)
        return
    right = _right_role(draft, ingress)
    if right is not InterfaceRole.INTER_DOMAIN:
        if right is not None:
            hint = f"say the interface where traffic of {sls.upstream} comes in"
            findings.add(node, where, f"is no inter-domain interface but {right}", at, hint)
        return
    peer = draft.domain_of.get(neighbour.device) if neighbour else None
    if peer is not None and sls.upstream in draft.groups and peer not in (sls.upstream, owner):
        hint = f"say where traffic of {sls.upstream} comes in, or `upstream: {peer}`"
        findings.add(node, where, f"faces the domain {peer}, not {sls.upstream}", at, hint)
    if sls.rate_bps > ingress.capacity_bps:
        message = f"is more than the link carries, {format_rate(ingress.capacity_bps)} at {at}"
        findings.add(node, (*key, "rate"), message, format_rate(sls.rate_bps))


def _sls_twins(draft: InventoryDraft, findings: Findings) -> None:
    """At one ingress, one service, or one of its classes, has one SLS at a time; one may follow the other."""
    sls_by_ingress: dict[tuple[str, InterfaceId], list[Sls]] = {}
    for sls in draft.sls.values():
        if draft.domain_of.get(sls.ingress.device) != sls.downstream:
            continue
        earlier = sls_by_ingress.setdefault((class_key(sls.service, sls.assured_class), sls.ingress), [])
        for other in earlier:
            if other.validity is None or sls.validity is None or other.validity.overlaps(sls.validity):
                hint = "keep one of them, or give them validities that do not overlap"
                message = f"holds at the same time as {other.name}, for the same service at the same interface"
                findings.add(draft.groups[sls.downstream], ("slotcar_sls", sls.name), message, "", hint)
        earlier.append(sls)
