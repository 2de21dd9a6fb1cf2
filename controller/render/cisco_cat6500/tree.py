"""Slotcar's part of a Catalyst's configuration as a tree, to and from canonical lines; and which order its classes need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from controller.render.cisco_cat6500.marks import Maps

PREFIX = "SLOTCAR-"
#: A list that matches nothing for nobody: its remarks say which lines without a name are Slotcar's.
OWNS = f"{PREFIX}OWNS"
OWNS_MAPS = "mls qos map"
FLOW = f"{PREFIX}F"
ACL, POLICER, MAP = "ip access-list extended ", "mls qos aggregate-policer ", "mls qos map "
CLASS, POLICY, INTERFACE = "class-map match-all ", "policy-map ", "interface "
_MAP = re.compile(r"^mls qos map (dscp-cos|policed-dscp (?:normal-burst|max-burst)) ([\d ]+?) to (\d+)$")
_FLOW_ENTRY = re.compile(r"^permit (tcp|udp) host (\S+)(?: eq (\d+))? host (\S+)(?: eq (\d+))?$")

#: Classes of a policy-map, in order, each with its actions.
Policy = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(slots=True)
class Tree:
    """Definitions before what refers to them, as in the lines. `policers` and `classes` hold what stands after the name."""

    acls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    policers: dict[str, str] = field(default_factory=dict)
    maps: Maps = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    interfaces: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def lines(self) -> tuple[str, ...]:
        """Canonical lines: kinds in the order above, each by name; classes in the order that `arranged` gives."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[str]:
        for name, entries in sorted(self.acls.items(), key=lambda one: natural(one[0])):
            yield from (ACL + name, *(f" {entry}" for entry in entries))
        for name, arguments in sorted(self.policers.items()):
            yield f"{POLICER}{name} {arguments}"
        for (kind, dscp), value in sorted(self.maps.items()):
            yield f"{MAP}{kind} {dscp} to {value}"
        for name, match in sorted(self.classes.items(), key=lambda one: natural(one[0])):
            yield from (CLASS + name, f" {match}")
        for name, classes in sorted(self.policies.items()):
            yield POLICY + name
            for one, actions in arranged(self, classes):
                yield from (f" class {one}", *(f"  {action}" for action in actions))
        for name, lines in sorted(self.interfaces.items()):
            yield from (INTERFACE + name, *(f" {line}" for line in lines))


def natural(name: str) -> tuple[str, int]:
    """SLOTCAR-F9 before SLOTCAR-F10."""
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or 0)


def parsed(lines: Sequence[str]) -> Tree:
    """The tree of canonical lines."""
    tree = Tree()
    for head, body in blocks(lines):
        if head.startswith(ACL):
            tree.acls[head.removeprefix(ACL)] = body
        elif head.startswith(POLICER):
            name, _, arguments = head.removeprefix(POLICER).partition(" ")
            tree.policers[name] = arguments
        elif head.startswith(MAP):
            tree.maps |= map_entries(head)
        elif head.startswith(CLASS):
            tree.classes[head.removeprefix(CLASS)] = " ".join(body)
        elif head.startswith(POLICY):
            tree.policies[head.removeprefix(POLICY)] = policy(body)
        elif head.startswith(INTERFACE):
            tree.interfaces[head.removeprefix(INTERFACE)] = body
    return tree


def blocks(lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every line at the left margin with those that are indented below it; runs of blanks become one."""
    head, body = "", list[str]()
    for raw in lines:
        line = " ".join(raw.split())
        if raw.startswith(" "):
            body.append(line)
            continue
        if head:
            yield head, tuple(body)
        head, body = line, []
    if head:
        yield head, tuple(body)


def map_entries(line: str) -> Maps:
    """`mls qos map dscp-cos 12 14 to 2` as one entry for each DSCP; other lines give none."""
    found = _MAP.match(line)
    return {(found[1], int(dscp)): int(found[3]) for dscp in found[2].split()} if found else {}


def policy(body: Sequence[str]) -> Policy:
    classes: list[tuple[str, list[str]]] = []
    for line in body:
        if line.startswith("class "):
            classes.append((line.removeprefix("class "), []))
        elif classes:
            classes[-1][1].append(line)
    return tuple((name, tuple(actions)) for name, actions in classes)


def flow_entry(tree: Tree, name: str) -> tuple[str | None, ...] | None:
    """Protocol, source, its port, destination, its port of a flow's class; None of a class by code point."""
    for entry in tree.acls.get(tree.classes.get(name, "").removeprefix("match access-group name "), ()):
        if found := _FLOW_ENTRY.match(entry):
            return found.groups()
    return None


def rank(tree: Tree, name: str) -> tuple[int, int, tuple[str, int]]:
    """A policy-map stops at the first class that matches: bound flows before unbound ones, code points last."""
    entry = flow_entry(tree, name)
    if entry is None:
        return 1, 0, natural(name)
    return 0, (entry[2], entry[4]).count(None), natural(name)


def overlap(tree: Tree, one: str, other: str, later: Tree | None = None) -> bool:
    """Whether a packet can be in both classes, so that their order matters.

    Args:
        later: where given, whether it can be while the first tree becomes this one: a list has the entries of both then.
    """
    trees = (tree, later or tree)
    return any(
        _meet(flow_entry(first, one), flow_entry(second, other))
        for first in trees
        for second in trees
        if one in first.classes and other in second.classes
    )


def _meet(first: tuple[str | None, ...] | None, second: tuple[str | None, ...] | None) -> bool:
    if first is None or second is None:
        return (first is None) != (second is None)
    return all(a is None or b is None or a == b for a, b in zip(first, second, strict=True))


def misplaced(tree: Tree, names: Sequence[str]) -> list[str]:
    """Classes that stand before an overlapping one which must come first."""
    found = []
    for place, name in enumerate(names):
        later = [other for other in names[place + 1 :] if rank(tree, other) < rank(tree, name)]
        if any(overlap(tree, name, other) for other in later):
            found.append(name)
    return found


def by_rank(tree: Tree, classes: Policy) -> Policy:
    return tuple(sorted(classes, key=lambda one: rank(tree, one[0])))


def arranged(tree: Tree, classes: Policy) -> Policy:
    """The classes by rank, unless they stand in an order that means something else: then as they stand."""
    return classes if misplaced(tree, [name for name, _ in classes]) else by_rank(tree, classes)
