"""From owned IOS objects to the elements of Cisco's native models, which say in XML what IOS says in lines.

The models: Cisco-IOS-XE-native, -policy and -acl, as IOS-XE 16.9 has them (`docs/reference/platforms/`). Their ranges are
no narrower than the limits of `cisco-mqc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from slotcar.platforms.cisco_iosxe_netconf.canonical import ordered
from slotcar.platforms.cisco_iosxe_netconf.tree import ACL, NATIVE, POLICY, Node
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.objects import (
    AccessList,
    ClassMap,
    Entry,
    Interface,
    Match,
    Police,
    PolicyClass,
    RandomDetect,
)
from slotcar.platforms.model import Unrenderable

#: Interfaces to which the policy model adds `service-policy`.
INTERFACES = (
    "FastEthernet",
    "FiveGigabitEthernet",
    "FortyGigabitEthernet",
    "GigabitEthernet",
    "HundredGigE",
    "Port-channel",
    "TenGigabitEthernet",
    "Tunnel",
    "TwentyFiveGigE",
    "TwoGigabitEthernet",
    "Vlan",
)
#: Numbers of a list's entries, as IOS itself gives them.
SEQUENCE_STEP = 10
_NAME = re.compile(r"^([A-Za-z-]+?)(\d[\d/.:]*)$")
#: What the policy model calls an action that sets a code point; of what exceeds, the plain name takes a table only.
_SET_DSCP = {
    "conform": "conform-set-dscp-transmit",
    "exceed": "exceed-set-dscp-transmit-table",
    "violate": "violate-set-dscp-transmit",
}


def native_of(owned: Ios, device: str) -> Node | None:
    """The owned part of `native`; None where nothing is owned.

    Raises:
        Unrenderable: an interface or a statement that the models do not have.
    """
    lists = [_list(one) for one in owned.lists.values()]
    policy = [_class_map(one) for one in owned.class_maps.values()]
    policy += [
        _of(POLICY, "policy-map", name, (_class(one, f"{device} {name}") for one in policy_map.classes))
        for name, policy_map in owned.policies.items()
    ]
    interfaces = [_interface(one, device) for one in owned.interfaces.values()]
    parts = [
        Node(NATIVE, "ip", children=(Node(NATIVE, "access-list", children=tuple(lists)),)) if lists else None,
        Node(NATIVE, "policy", children=tuple(policy)) if policy else None,
        Node(NATIVE, "interface", children=tuple(interfaces)) if interfaces else None,
    ]
    children = tuple(part for part in parts if part is not None)
    return ordered(Node(NATIVE, "native", children=children)) if children else None


def _of(space: str, kind: str, name: str, children: Iterable[Node], key: str = "name") -> Node:
    """A list's entry."""
    return Node(space, kind, children=(Node(space, key, name), *children))


def _leaves(space: str, **values: str | int | None) -> Iterator[Node]:
    return (Node(space, name.replace("_", "-"), str(value)) for name, value in values.items() if value is not None)


def _within(space: str, path: str, *children: Node) -> Node:
    """Containers in one another, by a path such as `match/ip`; the last one holds the children."""
    first, _, rest = path.partition("/")
    return Node(space, first, children=(_within(space, rest, *children),) if rest else children)


def _unknown(what: str, where: str) -> Unrenderable:
    return Unrenderable(f"{where}: the models have no place for `{what}`")


# -- lists and class maps ----------------------------------------------------------------------------------------------


def _list(one: AccessList) -> Node:
    rules = (
        _of(ACL, "access-list-seq-rule", str(SEQUENCE_STEP * n), [_rule(entry, one.name)], "sequence")
        for n, entry in enumerate(one.entries, 1)
    )
    return _of(ACL, "extended", one.name, rules)


def _rule(entry: Entry, where: str) -> Node:
    if entry.remark:
        return Node(ACL, "remark", entry.remark)
    if entry.other:
        raise _unknown(entry.other, where)
    leaves = _leaves(
        ACL,
        action="permit",
        protocol=entry.protocol,
        host=entry.source,
        src_eq=entry.source_port,
        dst_host=entry.destination,
        dst_eq=entry.destination_port,
    )
    return Node(ACL, "ace-rule", children=tuple(leaves))


def _class_map(one: ClassMap) -> Node:
    return _of(
        POLICY, "class-map", one.name, [Node(POLICY, "prematch", one.how), *(_match(m, one.name) for m in one.matches)]
    )


def _match(match: Match, where: str) -> Node:
    if match.acl:
        return _within(POLICY, "match/access-group", Node(POLICY, "name", match.acl))
    if match.field != "dscp":
        raise _unknown(match.other or f"match ip {match.field}", where)
    return _within(POLICY, "match/ip", *(Node(POLICY, "dscp", str(point)) for point in match.points))


# -- policy maps -------------------------------------------------------------------------------------------------------


def _class(one: PolicyClass, where: str) -> Node:
    if one.other:
        raise _unknown(one.other[0], f"{where} {one.name}")
    actions = (
        _of(POLICY, "action-list", kind, content, "action-type")
        for kind, content in _actions(one)
        if content is not None
    )
    return _of(POLICY, "class", one.name, actions)


def _actions(one: PolicyClass) -> Iterator[tuple[str, list[Node] | None]]:
    """The entries of a class's `action-list`: a kind and what is in it; None where the class has no such action."""
    detection = one.random_detect
    yield "police", [_police(one.police)] if one.police else None
    yield "set", _leaf("set/ip/dscp", "dscp-val", one.mark.point) if one.mark else None
    yield "shape", _shape(one) if one.shape_bps else None
    yield "service-policy", [Node(POLICY, "service-policy", one.service_policy)] if one.service_policy else None
    yield "priority", _leaf("priority", "percent", one.priority_percent)
    yield "bandwidth", _leaf("bandwidth", "percent", one.bandwidth_percent)
    yield "fair-queue", [] if one.fair_queue else None
    limit = _leaves(POLICY, queue_limit_value=one.queue_limit_packets, queue_limit_type="packets")
    yield "queue-limit", [_within(POLICY, "queue-limit", *limit)] if one.queue_limit_packets else None
    yield "random-detect", [_random_detect(detection)] if detection else None


def _leaf(path: str, name: str, value: int | str | None) -> list[Node] | None:
    return [_within(POLICY, path, Node(POLICY, name, str(value)))] if value is not None else None


def _shape(one: PolicyClass) -> list[Node]:
    excess = 0 if one.shape_bc_bits else None
    leaves = _leaves(
        POLICY,
        bit_rate=one.shape_bps, bits_per_interval_sustained=one.shape_bc_bits, bits_per_interval_excess=excess,
    )  # fmt: skip
    return [_within(POLICY, "shape/average", *leaves)]


def _police(one: Police) -> Node:
    rates = [*_leaves(POLICY, cir=one.cir_bps, bc=one.bc_bytes, pir=one.pir_bps)]
    if one.be_bytes is not None:
        rates.append(_within(POLICY, "pir-be", *_leaves(POLICY, be=one.be_bytes)))
    whens = {"conform": one.conform, "exceed": one.exceed, "violate": one.violate}
    actions = [_police_action(when, action) for when, action in whens.items() if action]
    return _within(POLICY, "police-policy-map/police", *rates, Node(POLICY, "actions", children=tuple(actions)))


def _police_action(when: str, action_text: str) -> Node:
    action, _, point = action_text.partition(" ")
    name = _SET_DSCP[when] if point else f"{when}-{action}"
    return _within(POLICY, f"{name}/{when}-action", Node(POLICY, action, point))


def _random_detect(one: RandomDetect) -> Node:
    profiles = (
        _of(
            POLICY, "dscp", str(profile.point),
            _leaves(
                POLICY,
                min_threshold=profile.min_packets, max_threshold=profile.max_packets, denominator=profile.denominator,
            ),
            "dscp-val",
        )
        for profile in one.profiles
    )  # fmt: skip
    ecn = [Node(POLICY, "ecn")] if one.ecn else []
    return Node(POLICY, "random-detect", children=(Node(POLICY, "dscp-based"), *profiles, *ecn))


# -- interfaces --------------------------------------------------------------------------------------------------------


def _interface(one: Interface, device: str) -> Node:
    match = _NAME.match(one.name)
    kind, number = match.groups() if match else (one.name, "")
    if kind not in INTERFACES or (kind == "Port-channel" and "." in number):
        raise Unrenderable(
            f"{device} {one.name}: the policy model has no service-policy there; it has one on {', '.join(INTERFACES)}"
        )
    policies = {"input": one.input_policy, "output": one.output_policy}
    attached = tuple(Node(POLICY, way, policy) for way, policy in policies.items() if policy)
    return _of(NATIVE, kind, number, [Node(POLICY, "service-policy", children=attached)])
