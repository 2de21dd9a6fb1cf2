"""Builds the parts of a `Network` from an inventory's nodes, and notes what is wrong with each part by itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from pydantic import ValidationError

from slotcar.base.model_errors import nearest
from slotcar.base.registry import FOLDERS, facts_of, names_in, options_model
from slotcar.base.vocabulary import InterfaceRole
from slotcar.network.class_shares import classes_on, shares_with
from slotcar.network.connections import ConnectionVariables
from slotcar.network.findings import Findings
from slotcar.network.model import Device, Domain, Host, Interface, InterfaceId, Network, Sls
from slotcar.network.places import add_place, is_place, variables_of, variables_of_managers
from slotcar.network.reading import Inventory, InventoryNode, SourceLocation
from slotcar.network.sls_terms import sls_with
from slotcar.network.variables import (
    DEVICE_NAME,
    INTERFACE_NAME,
    SLS_NAME,
    DomainVariables,
    HostVariables,
    InterfaceVariables,
    RouterVariables,
    SlsVariables,
    known_variables,
    only,
)

HOSTS_GROUP = "slotcar_hosts"
DOMAINS_GROUP = "domains"
#: The variables that are read of each kind of node.
OF_DOMAINS = ("slotcar_domain", "slotcar_sls")
OF_ROUTERS = ("slotcar_interfaces", *RouterVariables.model_fields)
OF_HOSTS = tuple(HostVariables.model_fields)
#: Those that interfaces inherit.
OF_INTERFACES = (
    "slotcar_capacity", "slotcar_shares", "slotcar_assured_shares", "slotcar_metric", "slotcar_overhead_bytes",
    "slotcar_scheduler",
)  # fmt: skip
#: What of an interface may be wrong without a word about the link that it is on.
NOT_OF_A_LINK = ("shares", "assured_shares", "metric", "scheduler", "shape_to_sls", "owners")
#: What of an end system may be wrong without a word about where it is.
NOT_OF_A_PLACE = ("slotcar_owners", "slotcar_host_accounts", "slotcar_roles", "slotcar_monitoring_domain")
#: An SLS of these fits every link.
SLS_STAND_IN = {"rate": "1 kbit/s", "burst": "8 kB", "excess": "drop"}
#: How much alike an unknown variable and a known one must be, their common prefix left away, to be a slip of the pen.
SLIP = 0.8


@dataclass(slots=True)
class InventoryDraft:
    """What could be built. One error causes no second: what was written and could not be built is known by name.

    Attributes:
        nodes: the inventory's node of each router and end system; `groups` those of the domains.
        domain_of: the domain of each router.
        named: the interfaces that were written for each node, whether or not it is a router of one domain.
    """

    source: str
    nodes: dict[str, InventoryNode] = field(default_factory=dict)
    groups: dict[str, InventoryNode] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    domain_of: dict[str, str] = field(default_factory=dict)
    named: dict[str, list[str]] = field(default_factory=dict)
    devices: dict[str, Device] = field(default_factory=dict)
    interfaces: dict[InterfaceId, Interface] = field(default_factory=dict)
    hosts: dict[str, HostVariables] = field(default_factory=dict)
    sls: dict[str, Sls] = field(default_factory=dict)

    def network(self) -> Network:
        """The draft as a network, everything sorted by name: equal inventories give equal networks."""
        hosts = {
            name: Host(
                name=name,
                domain=self.domain_of[variables.slotcar_attached_to.device],
                address=variables.slotcar_address,
                attached_to=variables.slotcar_attached_to,
                owners=variables.slotcar_owners,
                accounts=dict(sorted((variables.slotcar_host_accounts or {}).items())),
                roles=tuple(sorted(variables.slotcar_roles or ())),
                monitoring_domain=variables.slotcar_monitoring_domain,
            )
            for name, variables in sorted(self.hosts.items())
        }
        return Network(
            domains=dict(sorted(self.domains.items())),
            devices=dict(sorted(self.devices.items())),
            hosts=hosts,
            sls=dict(sorted(self.sls.items())),
            source=self.source,
        )


def build(inventory: Inventory, findings: Findings) -> InventoryDraft:
    """Every part that can be built; the rest is noted in `found`."""
    draft = InventoryDraft(inventory.source)
    for name, node in inventory.domains.items():
        _domain(draft, name, node, findings)
    if not draft.groups:
        nowhere = InventoryNode("all", frozenset(), {}, {}, SourceLocation(inventory.source))
        findings.add(
            nowhere, (), f"has no domain below its group `{DOMAINS_GROUP}`", "", "make a group for each domain"
        )
    for node in inventory.hosts.values():
        _classify(draft, node, findings)
    for name in draft.domain_of:
        if is_place(draft.nodes[name]):
            add_place(draft, name, draft.domain_of[name], findings)
        else:
            _router(draft, draft.nodes[name], findings)
    for name, variables in draft.hosts.items():
        domain = draft.domain_of.get(variables.slotcar_attached_to.device)
        if domain is not None and variables_of(draft.nodes[name]):
            add_place(draft, name, domain, findings)
    for name, node in draft.groups.items():
        _all_sls(draft, name, node, findings)
    return draft


def _note_variables(node: InventoryNode, read: Collection[str], findings: Findings) -> None:
    """Notes which variables that are `read` of this node failed, and which others look like slips of the pen."""
    for key, message in node.problems:
        if key[0] in read:
            findings.unread(node, key, message)
    for name in node.variables:
        if name in known_variables():
            continue
        ratios = {
            variable: SequenceMatcher(None, name[8:], variable[8:]).ratio() for variable in sorted(known_variables())
        }
        best = max(ratios, key=ratios.__getitem__)
        if ratios[best] >= SLIP:
            findings.add(node, (name,), "is no variable that is read", "", f"did you mean `{best}`?")


def _domain(draft: InventoryDraft, name: str, node: InventoryNode, findings: Findings) -> None:
    draft.groups[name] = node
    _note_variables(node, OF_DOMAINS, findings)
    variables = findings.parse(DomainVariables, node, ("slotcar_domain",), node.variables.get("slotcar_domain", {}))
    variables = variables or DomainVariables()
    draft.domains[name] = Domain(
        name=name,
        over_provisioned=variables.over_provisioned,
        description=variables.description,
        controller=variables.controller,
        certificate=variables.certificate,
        nsi=variables.nsi.side if variables.nsi else None,
        at_most_bps=variables.at_most,
        tells_free=variables.tells_free,
        sls_at_most_bps=variables.sls_at_most,
        sls_with_reservations={service: one.burst for service, one in variables.sls_with_reservations.items()},
        services=variables.services,
        assured_classes={
            one: data.class_of(one, number) for number, (one, data) in enumerate(variables.assured_classes.items())
        },
    )


def _classify(draft: InventoryDraft, node: InventoryNode, findings: Findings) -> None:
    """Whether a node is a router, an end system, or none of Slotcar's business."""
    domains = sorted(node.groups & set(draft.groups))
    is_host = HOSTS_GROUP in node.groups
    written = node.variables.get("slotcar_interfaces")
    draft.named[node.name] = [str(name) for name in written] if isinstance(written, Mapping) else []
    group_names = ", ".join(sorted(draft.groups))
    if is_host and domains:
        hint = f"leave it in the one group that it belongs to, `{HOSTS_GROUP}` or its domain"
        findings.add(node, (), "is both an end system and a router", f"{HOSTS_GROUP}, {', '.join(domains)}", hint)
    elif is_host:
        draft.nodes[node.name] = node
        _note_variables(node, (*OF_HOSTS, *variables_of_managers()), findings)
        own = only(HostVariables, node.variables)
        variables = findings.parse_for_checks(HostVariables, node, (), own, dict.fromkeys(NOT_OF_A_PLACE))
        if variables is not None:
            draft.hosts[node.name] = variables
    elif len(domains) > 1:
        findings.add(node, (), "is a router in more than one domain", ", ".join(domains), "leave it in one of them")
    elif domains:
        draft.nodes[node.name] = node
        draft.domain_of[node.name] = domains[0]
    elif "slotcar_interfaces" in node.variables or DOMAINS_GROUP in node.groups:
        hint = f"put it into one of the groups below `{DOMAINS_GROUP}`: {group_names}" if group_names else ""
        findings.add(node, (), "is a router in no domain", "", hint)
    elif "slotcar_attached_to" in node.variables:
        findings.add(node, (), f"is an end system that is not in the group `{HOSTS_GROUP}`", "", "put it there")


def _router(draft: InventoryDraft, node: InventoryNode, findings: Findings) -> None:
    name, domain = node.name, draft.domain_of[node.name]
    _note_variables(node, OF_ROUTERS, findings)
    if not DEVICE_NAME.fullmatch(name):
        findings.add(node, (), "is no name for a router", "", "use letters, digits, `.`, `_` and `-`")
    for key in OF_DOMAINS:
        if node.variables.get(key) != draft.groups[domain].variables.get(key):
            hint = f"write it in group_vars/{domain}.yml"
            findings.add(node, (key,), f"is said for a router, but is a variable of its domain, {domain}", "", hint)
    router = findings.parse(RouterVariables, node, (), only(RouterVariables, node.variables))
    # What a template or a secret did not give here, a play may have: it is asked again there.
    findings.parse(ConnectionVariables, node, (), only(ConnectionVariables, node.variables))
    if router is not None and router.slotcar_burst_floor > router.slotcar_burst_ceiling:
        ceiling = f"slotcar_burst_ceiling, {router.slotcar_burst_ceiling} B"
        findings.add(node, ("slotcar_burst_floor",), f"is above {ceiling}", f"{router.slotcar_burst_floor} B")
    interfaces = _interfaces(draft, node, router or _router_for_checks(node), findings)
    if router is None:
        return
    _check_options(draft, node, router, findings)
    draft.devices[name] = Device(
        name=name,
        domain=domain,
        platform=router.slotcar_platform,
        interfaces=dict(sorted(interfaces.items())),
        burst_ceiling_bytes=router.slotcar_burst_ceiling,
        dead_man_s=router.slotcar_dead_man,
        position=(router.slotcar_position.x, router.slotcar_position.y) if router.slotcar_position else None,
        burst_floor_bytes=router.slotcar_burst_floor,
        options=dict(sorted(router.slotcar_options.items())),
    )


def _router_for_checks(node: InventoryNode) -> RouterVariables | None:
    """A refused router with its interfaces, for further checks; None where the interfaces are wrong themselves."""
    own = {key: node.variables[key] for key in OF_INTERFACES if key in node.variables}
    try:
        return RouterVariables.model_validate({"slotcar_platform": next(iter(FOLDERS)), **own})
    except ValidationError:
        return None


def _check_options(draft: InventoryDraft, node: InventoryNode, router: RouterVariables, findings: Findings) -> None:
    """Notes options that the router's platform does not have, values that it does not take, and names of interfaces that
    the router does not have."""
    model, interfaces = facts_of(router.slotcar_platform).options, draft.named[node.name]
    written = router.slotcar_options
    findings.parse(options_model(model, written, interfaces), node, ("slotcar_options",), written)
    for option in model.NAME_INTERFACES if interfaces else ():
        value = written.get(option)
        for name in names_in(value) if isinstance(value, str) else ():
            if name not in interfaces:
                message = f"is unknown: {node.name} has no interface {name}"
                findings.add(node, ("slotcar_options", option), message, value, nearest(name, interfaces))


def _interfaces(
    draft: InventoryDraft, node: InventoryNode, router: RouterVariables | None, findings: Findings
) -> dict[str, Interface]:
    """The interfaces that could be built."""
    written = node.variables.get("slotcar_interfaces")
    if not isinstance(written, Mapping) or not written:
        hint = "say a mapping from each interface's name to what it is, such as `eth1: {capacity: 155 Mbit/s}`"
        findings.add(
            node, ("slotcar_interfaces",), "is missing" if written is None else "names no interface", "", hint
        )
        return {}
    built = {}
    for name, data in written.items():
        key = ("slotcar_interfaces", str(name))
        if not INTERFACE_NAME.fullmatch(str(name)):
            hint = "use the name that the router gives it, such as `eth1` or `ATM1/0/0`"
            findings.add(node, key, "is no name for an interface", "", hint)
        variables = findings.parse_for_checks(InterfaceVariables, node, key, data, dict.fromkeys(NOT_OF_A_LINK))
        if variables is None or router is None:
            continue
        interface = _interface(draft, node, str(name), variables, router, findings)
        if interface is not None:
            built[str(name)] = draft.interfaces[interface.id] = interface
    return built


def _interface(
    draft: InventoryDraft,
    node: InventoryNode,
    name: str,
    own: InterfaceVariables,
    router: RouterVariables,
    findings: Findings,
) -> Interface | None:
    """One interface; what it does not say itself comes from the router's variable of the same name."""
    key = ("slotcar_interfaces", name)
    capacity_bps = router.slotcar_capacity if own.capacity is None else own.capacity
    written = node.variables["slotcar_interfaces"][name]
    if capacity_bps is None and not written.keys() <= InterfaceVariables.model_fields.keys():
        return None  # it may be what an unknown key means
    if capacity_bps is None and findings.is_unread(node, ("slotcar_capacity",)):
        return None
    if capacity_bps is None:
        hint = "say the link's rate, such as `155 Mbit/s`, here or as slotcar_capacity"
        findings.add(node, (*key, "capacity"), "is missing", "", hint)
        return None
    shares = router.slotcar_shares if own.shares is None else own.shares
    place = InterfaceId(device=node.name, name=name)
    class_shares = router.slotcar_assured_shares if own.assured_shares is None else own.assured_shares
    classes = classes_on(draft.domains[draft.domain_of[node.name]], class_shares, place, node, findings)
    shares = shares_with(shares, classes, place, node, findings)
    return Interface(
        id=place,
        role=own.role or _role(draft, node.name, own.neighbour),
        capacity_bps=capacity_bps,
        shares_ppm=dict(sorted(shares.items())),
        assured_classes=classes,
        address=own.address,
        prefixes=tuple(sorted(set(own.prefixes or ()))),
        neighbour=own.neighbour,
        overhead_bytes=router.slotcar_overhead_bytes if own.overhead_bytes is None else own.overhead_bytes,
        propagation_us=own.propagation,
        metric=router.slotcar_metric if own.metric is None else own.metric,
        scheduler=router.slotcar_scheduler if own.scheduler is None else own.scheduler,
        notice_us=router.slotcar_notice if own.notice is None else own.notice,
        shapes_to_sls=router.slotcar_shape_to_sls if own.shape_to_sls is None else own.shape_to_sls,
        background_ppm=router.slotcar_background if own.background is None else own.background,
        owners=dict(sorted((own.owners or {}).items())),
        description=own.description,
    )


def _role(draft: InventoryDraft, router: str, neighbour: InterfaceId | None) -> InterfaceRole:
    """What an interface that states no role must be: it follows from who is at its other end."""
    if neighbour is None:
        return InterfaceRole.EDGE
    same = draft.domain_of.get(neighbour.device) == draft.domain_of[router]
    return InterfaceRole.CORE if same else InterfaceRole.INTER_DOMAIN


def _all_sls(draft: InventoryDraft, domain: str, node: InventoryNode, findings: Findings) -> None:
    written = node.variables.get("slotcar_sls", {})
    if not isinstance(written, Mapping):
        findings.add(
            node, ("slotcar_sls",), "is no mapping", written, "say a mapping from each SLS's name to what it is"
        )
        return
    for name, data in written.items():
        key = ("slotcar_sls", str(name))
        if not SLS_NAME.fullmatch(str(name)):
            findings.add(node, key, "is no name for an SLS", "", "use letters, digits, `.`, `_` and `-`")
        variables = findings.parse_for_checks(SlsVariables, node, key, data, SLS_STAND_IN)
        if str(name) in draft.sls:
            first = draft.sls[str(name)].downstream
            findings.add(
                node, key, f"is the name of an SLS of the domain {first} too", "", "every SLS has its own name"
            )
        elif variables is not None:
            draft.sls[str(name)] = sls_with(str(name), domain, variables)
