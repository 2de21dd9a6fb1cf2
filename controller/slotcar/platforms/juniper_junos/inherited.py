"""What interfaces get from groups and interface ranges, where these are in force.

After "Configuration Groups" and "Interface Ranges" of Juniper's guides: a group counts where `apply-groups` names it, at
the top or at any element on the way; `apply-groups-except` keeps it out of an element and of all in it. A group may name
what it is for by a wildcard, `<ge-*>`, and apply other groups itself. Nothing that is deactivated counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from slotcar.platforms.netconf.tree import Node

_PORT = re.compile(r"^(.*?)(\d+)$")
#: In `apply-groups`: a cluster member's name, `node0` or `node1`; which one a router is, its configuration does not say.
_MEMBER = "${node}"
_VARIABLE = re.compile(r"\$\{[^}]*\}")
#: The element's name, and which of a list; empty for what is no list.
Step = tuple[str, str]


def in_force(node: Node) -> Node:
    """The element without what is deactivated in it, and with a group's wildcards, `<ge-*>`, as patterns."""
    text = node.text[1:-1] if node.name == "name" and node.text[:1] == "<" and node.text[-1:] == ">" else node.text
    return Node(node.space, node.name, text, tuple(in_force(one) for one in node.children if not one.inactive))


def groups_at(active: Node, path: Iterable[Step]) -> list[Node]:
    """The groups that are applied to what stands at a path.

    Args:
        active: the configuration that is in force (`in_force`, which copies all of it: once for a reading is enough).
    """
    steps = list(path)
    groups = {one.text_of("name"): one for one in active.all("groups")}
    reached: dict[str, Node] = {}
    holders = [active]
    while holders:
        holder = holders.pop()
        for pattern in _applied(holder, steps):
            for name, group in groups.items():
                if fnmatchcase(name, pattern) and name not in reached:
                    reached[name] = group
                    holders.append(group)
    return list(reached.values())


def _applied(root: Node, steps: list[Step]) -> list[str]:
    """Names of groups that are applied on the way, without those that are kept out further on."""
    applied: list[str] = []
    nodes = [root]
    for step in (*steps, None):
        kept_out = {one.text for node in nodes for one in node.all("apply-groups-except")}
        applied = [name for name in applied if name not in kept_out]
        applied += [one.text for node in nodes for one in node.all("apply-groups")]
        nodes = [child for node in nodes for child in node.children if step is not None and _is_at(child, step)]
    return [_VARIABLE.sub("*", name.replace(_MEMBER, "node*")) for name in applied]


def _is_at(node: Node, step: Step) -> bool:
    name, key = step
    if name == "interface" and node.name == "interface-range":
        return has_member(node, key)
    return node.name == name and (not key or fnmatchcase(key, node.text_of("name")))


def at(root: Node, path: Iterable[Step]) -> Iterator[Node]:
    """What stands at a path in a configuration, or a group, that is in force."""
    nodes = [root]
    for step in path:
        nodes = [child for node in nodes for child in node.children if _is_at(child, step)]
    yield from nodes


def inherited_at(active: Node, port: str, inner: tuple[Step, ...]) -> Iterator[tuple[str, Node]]:
    """What a port gets at a path below it from interface ranges and groups, each with the words for where it is from.

    Args:
        active: the configuration that is in force.
    """
    interfaces = active.first("interfaces")
    for one in interfaces.all("interface-range") if interfaces else ():
        if has_member(one, port):
            yield from ((f"interface-range {one.text_of('name')}", node) for node in at(one, inner))
    path = (("interfaces", ""), ("interface", port), *inner)
    for group in groups_at(active, path):
        yield from ((f"group {group.text_of('name')}", node) for node in at(group, path))


def has_member(node: Node, port: str) -> bool:
    """Whether an `interface-range` has a port: by name, by wildcard, or between two."""
    return any(fnmatchcase(port, one.text_of("name")) for one in node.all("member")) or any(
        _is_between(port, one.text_of("name"), one.text_of("end-range")) for one in node.all("member-range")
    )


def _is_between(port: str, first: str, last: str) -> bool:
    matches = [match for match in map(_PORT.match, (first, port, last)) if match]
    if len(matches) < 3 or len({match[1] for match in matches}) > 1:
        return False
    low, number, high = (int(match[2]) for match in matches)
    return low <= number <= high
