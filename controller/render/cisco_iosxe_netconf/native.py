"""From owned IOS objects to the elements of Cisco's native models, which say in XML what IOS says in lines.

The models: Cisco-IOS-XE-native, -policy and -acl, as IOS-XE 16.9 has them (`docs/reference/platforms/`). Their ranges are
no narrower than the limits of `cisco-mqc`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from controller.render.cisco_iosxe_netconf.canonical import ordered
from controller.render.cisco_iosxe_netconf.tree import ACL, NATIVE, POLICY, Node
from controller.render.ios.owned import ClassMap, Owned, PolicyClass
from controller.render.model import Unrenderable

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
_ENTRY = re.compile(r"^permit (\S+) host (\S+)(?: eq (\d+))? host (\S+)(?: eq (\d+))?$")
_POLICE = re.compile(
    r"^police cir (\d+) bc (\d+)(?: pir (\d+) be (\d+))? conform-action (.+?) exceed-action (.+?)(?: violate-action (.+))?$"
)
#: What the policy model calls an action that sets a code point; of what exceeds, the plain name takes a table only.
_SET_DSCP = {
    "conform": "conform-set-dscp-transmit",
    "exceed": "exceed-set-dscp-transmit-table",
    "violate": "violate-set-dscp-transmit",
}


def native_of(owned: Owned, device: str) -> Node | None:
    """The owned part of `native`; None where nothing is owned.

    Raises:
        Unrenderable: an interface or a statement that the models do not have.
    """
    lists = [_list(name, entries) for name, entries in owned.lists.items()]
    policy = [_class_map(name, one) for name, one in owned.class_maps.items()]
    policy += [
        _of(POLICY, "policy-map", name, (_class(one, f"{device} {name}") for one in classes))
        for name, classes in owned.policies.items()
    ]
    interfaces = [_interface(name, lines, device) for name, lines in owned.interfaces.items() if lines]
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


def _leaves(space: str, **told: str | None) -> Iterator[Node]:
    return (Node(space, name.replace("_", "-"), text) for name, text in told.items() if text is not None)


def _within(space: str, path: str, *children: Node) -> Node:
    """Containers in one another, by a path such as `match/ip`; the last one holds the children."""
    first, _, rest = path.partition("/")
    return Node(space, first, children=(_within(space, rest, *children),) if rest else children)


# -- lists and class maps ----------------------------------------------------------------------------------------------


def _list(name: str, entries: Iterable[str]) -> Node:
    rules = (
        _of(ACL, "access-list-seq-rule", str(SEQUENCE_STEP * n), [_rule(entry)], "sequence")
        for n, entry in enumerate(entries, 1)
    )
    return _of(ACL, "extended", name, rules)


def _rule(entry: str) -> Node:
    if entry.startswith("remark "):
        return Node(ACL, "remark", entry.removeprefix("remark "))
    found = _ENTRY.match(entry)
    if found is None:
        raise LookupError(f"`{entry}` is in no form that the access-list model is given")
    protocol, source, source_port, destination, destination_port = found.groups()
    told = _leaves(
        ACL,
        action="permit",
        protocol=protocol,
        host=source,
        src_eq=source_port,
        dst_host=destination,
        dst_eq=destination_port,
    )
    return Node(ACL, "ace-rule", children=tuple(told))


def _class_map(name: str, one: ClassMap) -> Node:
    return _of(POLICY, "class-map", name, [Node(POLICY, "prematch", one.how), *map(_match, one.matches)])


def _match(line: str) -> Node:
    _, how, what, *said = line.split()
    if (how, what) == ("ip", "dscp"):
        return _within(POLICY, "match/ip", *(Node(POLICY, "dscp", point) for point in said))
    if (how, what) == ("access-group", "name"):
        return _within(POLICY, "match/access-group", Node(POLICY, "name", said[0]))
    raise LookupError(f"`{line}` is in no form that the policy model is given")


# -- policy maps -------------------------------------------------------------------------------------------------------


def _class(one: PolicyClass, where: str) -> Node:
    if any(line.startswith(" conform-color ") for line in one.body):
        raise Unrenderable(
            f"{where}: the policy model has no colour-aware policer (conform-color), which the option colour_aware"
            f" asks for in class {one.name}; leave the option out, or use the platform cisco-mqc"
        )
    actions: dict[str, list[Node]] = {}
    for line in one.body:
        kind = line.split()[0]
        actions.setdefault(kind, []).extend(_ACTIONS[kind](line))
    lists = (
        _of(POLICY, "action-list", kind, [_joined(kind, parts)] if parts else [], "action-type")
        for kind, parts in actions.items()
    )
    return _of(POLICY, "class", one.name, lists)


def _joined(kind: str, parts: list[Node]) -> Node:
    """One action that IOS tells in several lines."""
    return parts[0] if len(parts) == 1 else Node(POLICY, kind, children=tuple(c for p in parts for c in p.children))


def _police(line: str) -> list[Node]:
    found = _POLICE.match(line)
    if found is None:
        raise LookupError(f"`{line}` is in no form that the policy model is given")
    cir_bps, bc_bytes, pir_bps, be_bytes, *told = found.groups()
    rates = [*_leaves(POLICY, cir=cir_bps, bc=bc_bytes, pir=pir_bps)]
    if be_bytes is not None:
        rates.append(_within(POLICY, "pir-be", Node(POLICY, "be", be_bytes)))
    whens = zip(("conform", "exceed", "violate"), told, strict=True)
    actions = [_police_action(when, action) for when, action in whens if action is not None]
    return [_within(POLICY, "police-policy-map/police", *rates, Node(POLICY, "actions", children=tuple(actions)))]


def _police_action(when: str, told: str) -> Node:
    action, _, point = told.partition(" ")
    name = _SET_DSCP[when] if point else f"{when}-{action}"
    return _within(POLICY, f"{name}/{when}-action", Node(POLICY, action, point))


def _random_detect(line: str) -> list[Node]:
    what, *said = line.split()[1:]
    if not said:
        return [_within(POLICY, "random-detect", Node(POLICY, what))]
    point, least, most, denominator = said
    told = _leaves(POLICY, min_threshold=least, max_threshold=most, denominator=denominator)
    return [_within(POLICY, "random-detect", _of(POLICY, "dscp", point, told, "dscp-val"))]


def _percent(line: str) -> list[Node]:
    kind, _, percent = line.split()
    return [_within(POLICY, kind, Node(POLICY, "percent", percent))]


def _queue_limit(line: str) -> list[Node]:
    _, packets, unit = line.split()
    return [_within(POLICY, "queue-limit", *_leaves(POLICY, queue_limit_value=packets, queue_limit_type=unit))]


_ACTIONS: Mapping[str, Callable[[str], list[Node]]] = {
    "police": _police,
    "priority": _percent,
    "bandwidth": _percent,
    "queue-limit": _queue_limit,
    "random-detect": _random_detect,
    "fair-queue": lambda _: [],
    "set": lambda line: [_within(POLICY, "set/ip/dscp", Node(POLICY, "dscp-val", line.split()[-1]))],
    "shape": lambda line: [_within(POLICY, "shape/average", Node(POLICY, "bit-rate", line.split()[-1]))],
    "service-policy": lambda line: [Node(POLICY, "service-policy", line.split()[-1])],
}


# -- interfaces --------------------------------------------------------------------------------------------------------


def _interface(name: str, lines: Iterable[str], device: str) -> Node:
    found = _NAME.match(name)
    kind, number = found.groups() if found else (name, "")
    if kind not in INTERFACES or (kind == "Port-channel" and "." in number):
        raise Unrenderable(
            f"{device} {name}: the policy model has no service-policy there; it has one on {', '.join(INTERFACES)}"
        )
    told = (line.split() for line in lines)
    policies = (Node(POLICY, way, policy) for _, way, policy in told)
    return _of(NATIVE, kind, number, [Node(POLICY, "service-policy", children=tuple(policies))])
