"""What of a router's answer is Slotcar's, in canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from slotcar.platforms.juniper_junos.document import (
    FILTER,
    ROOT,
    SPACES,
    Path,
    in_space,
    is_key,
    is_shared,
    ordered,
)
from slotcar.platforms.juniper_junos.objects import PREFIX, TERM_OF_OTHERS
from slotcar.platforms.model import Unreadable
from slotcar.platforms.netconf.question import get_config
from slotcar.platforms.netconf.tree import NETCONF, Node, parse

#: Leaves whose number Junos may print with k, m or g, which are decimal.
_NUMBERS = frozenset(
    {
        "bandwidth-limit", "burst-size-limit", "committed-information-rate", "committed-burst-size",
        "peak-information-rate", "peak-burst-size", "excess-burst-size", "rate", "temporal",
    }
)  # fmt: skip
_NUMBER = re.compile(r"^(\d+)([kmg])$")
_UNITS = {"k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
#: Match values that Junos may print by name or by number.
_WORDS = {
    "dscp": {"ef": "46", "af11": "10", "af12": "12", "af13": "14", "be": "0", "cs0": "0", "cs1": "8"},
    "protocol": {"6": "tcp", "17": "udp", "132": "sctp"},
}
_APPLIED = ("apply-groups", "apply-groups-except")
#: Marks Slotcar's term in an operator's filter where others are asked before it: it differs from what is wanted.
_MISPLACED = Node(SPACES["firewall"], "apply-macro", children=(Node(SPACES["firewall"], "name", "not-first"),))


def question() -> str:
    """Filters, policers, class of service, and what is attached to interfaces and the forwarding table, also by way of
    groups. No more: other parts of a configuration hold secrets, and a reading is kept in a file."""
    holders = ("", "family/", "family/inet/")
    applied_there = (f"{holder}{one}" for holder in holders for one in _APPLIED)
    firewall = _subtree("firewall", ("family/inet/filter", "policer", "three-color-policer", *applied_there))
    # An address, so that `family inet` is there where it holds no filter, and may be deactivated.
    applied_to_units = (f"unit/{holder}{one}" for holder in holders for one in _APPLIED)
    before_filters = ("layer2-policer", "family/any/filter", "family/inet/policer", "family/inet/simple-filter")
    asked_first = tuple(f"unit/{one}" for one in before_filters)
    unit = ("unit/name", "unit/family/inet/filter", "unit/family/inet/address/name", *asked_first, *applied_to_units)
    of_interface = ("name", "per-unit-scheduler", *_APPLIED, *unit)
    of_range = ("member", "member-range", *of_interface)
    ports = (
        f"{kind}/{one}"
        for kind, parts in (("interface", of_interface), ("interface-range", of_range))
        for one in parts
    )
    interfaces = _subtree("interfaces", (*_APPLIED, *ports))
    applied_on_the_way = (f"{holder}{one}" for holder in holders for one in _APPLIED)
    table = _subtree("forwarding-options", ("family/inet/filter", *applied_on_the_way))
    service = Node(SPACES["class-of-service"], "class-of-service")
    applied = tuple(Node(ROOT, name) for name in _APPLIED)
    groups = Node(ROOT, "groups", children=(Node(ROOT, "name"), *applied, service, firewall, interfaces, table))
    subtrees = (*applied, groups, service, firewall, interfaces, table)
    return get_config(Node(ROOT, "configuration", children=subtrees))


def _subtree(name: str, paths: tuple[str, ...]) -> Node:
    """A subtree filter with these paths below one element."""
    space = SPACES[name]
    subtree = Node(space, name)
    for path in paths:
        subtree = _with(subtree, path.split("/"), space)
    return subtree


def _with(node: Node, path: list[str], space: str) -> Node:
    first, *rest = path
    child = node.first(first) or Node(space, first)
    others = [one for one in node.children if one.name != first]
    return node.holding((*others, _with(child, rest, space) if rest else child))


def configuration_in(text: str, device: str) -> Node | None:
    """The element `configuration` of a reply to `get-config`, or of canonical lines, in the namespaces of Juniper's YANG,
    which a router that is not set to `yang-compliant` leaves out; None where it has none.

    Raises:
        Unreadable: it is no such reply.
    """
    root = parse(text, device)
    if root.name == "configuration":
        return _in_spaces(root)
    data = root if root.name == "data" else root.first("data")
    if data is None or data.space not in ("", NETCONF):
        raise Unreadable(f"{device}: it gave no configuration: {' '.join(text.split())[:80]}")
    configuration = data.first("configuration")
    return _in_spaces(configuration) if configuration else None


def _in_spaces(root: Node) -> Node:
    children = []
    for one in root.children:
        inner = one.holding(_spaced(child) for child in one.children) if one.name == "groups" else _spaced(one)
        children.append(replace(inner, space=SPACES.get(one.name, ROOT)))
    return replace(root, space=ROOT, children=tuple(children))


def _spaced(node: Node) -> Node:
    return in_space(_without_comments(node), SPACES.get(node.name, ROOT))


def _without_comments(node: Node) -> Node:
    """The element without the comments that Junos adds in namespaces of its own (`junos:comment`)."""
    children = (one for one in node.children if not one.space.startswith("http://xml.juniper.net/junos/"))
    return node.holding(map(_without_comments, children))


def owned_part(root: Node | None) -> Node | None:
    """Only what is Slotcar's, by its name, as `document_of` would write it. What an operator deactivated is not there."""
    if root is None:
        return None
    owned = _owned(root, ())
    return ordered(owned) if owned else None


def _owned(node: Node, path: Path) -> Node | None:
    """A shared element with what of it is Slotcar's; None where nothing is."""
    keys = [one for one in node.children if is_key(one)]
    owned: list[Node] = []
    for one in (one for one in node.children if not is_key(one)):
        inner = (*path, one.name)
        if one.inactive:
            continue
        if is_shared(one, inner):
            part = _owned(one, inner)
            owned += [part] if part else []
        elif is_owned(one, inner):
            behind = inner == (*FILTER, "term") and one != node.first("term")
            owned.append(one.holding((*one.children, _MISPLACED)) if behind else _normal(one))
    return node.holding((*keys, *owned)) if owned else None


def is_owned(node: Node, path: Path) -> bool:
    """Whether an entry's name, or the name that it refers to, is one of Slotcar's."""
    if path == (*FILTER, "term"):
        return node.text_of("name") == TERM_OF_OTHERS
    return name_in(node).startswith(PREFIX)


def name_in(node: Node) -> str:
    """An object's own name, or the one that a statement refers to."""
    return node.text_of("name") or node.text_of("filter-name") or node.text_of("profile-name") or node.text


def _normal(node: Node) -> Node:
    """An element's text in Slotcar's form: numbers without k, m and g, code points by number, protocols by name."""
    text = _WORDS.get(node.name, {}).get(node.text, node.text)
    if node.name in _NUMBERS and (number := _NUMBER.match(text)):
        text = str(int(number[1]) * _UNITS[number[2]])
    return replace(node, text=text, children=tuple(_normal(one) for one in node.children if not one.inactive))


def units_in(root: Node | None) -> Iterator[tuple[str, str, Node]]:
    """Ports, units and what `interfaces` says of each: everybody's."""
    for interface in _children(root, "interfaces", "interface"):
        for unit in interface.all("unit"):
            yield interface.text_of("name"), unit.text_of("name"), unit


def _children(root: Node | None, *names: str) -> Iterator[Node]:
    holder = root.first(*names[:-1]) if root else None
    return holder.all(names[-1]) if holder else iter(())
