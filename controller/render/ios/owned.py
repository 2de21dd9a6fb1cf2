"""What Slotcar owns of an IOS configuration, as a value: read out of a tree, written as canonical lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from controller.render.ios import words
from controller.render.ios.tree import Node, parse

PREFIX = "SLOTCAR-"
#: What tells a numbered list of Slotcar's from an operator's in the same range.
MARK = "remark slotcar "
DEFAULT_CLASS = "class-default"
_FLOW = re.compile(rf"^{PREFIX}F(\d+)$")
_USE = re.compile(r"^match access-group (?:name )?(\S+)$")
_POINTS = re.compile(r"^match (?:ip )?(?:dscp|precedence) (.+)$")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ClassMap:
    """`how` is `match-all` or `match-any`."""

    how: str
    matches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyClass:
    """A class inside a policy map. A line that belongs to the one before it is indented by one blank."""

    name: str
    body: tuple[str, ...]

    @property
    def flow(self) -> int | None:
        """The flow's number, of a flow's class."""
        found = _FLOW.match(self.name)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Owned:
    """Owned objects by name.

    Attributes:
        lists: entries of named access lists, or of numbered ones where the name is a number.
        sections: other global sections by their first line (`cos-queue-group NAME`, `slot-table-cos NAME`).
        settings: global lines that refer to sections.
        interfaces: owned lines under interfaces.
    """

    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    class_maps: dict[str, ClassMap] = field(default_factory=dict)
    policies: dict[str, tuple[PolicyClass, ...]] = field(default_factory=dict)
    sections: dict[str, tuple[str, ...]] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    interfaces: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def list_of(self, name: str) -> str | None:
        """The access list that a class matches by; None where it matches by code point."""
        for match in self.class_maps.get(name, ClassMap("", ())).matches:
            if found := _USE.match(match):
                return found[1]
        return None


def overlap(left: str, right: str, owned: Owned) -> bool:
    """Whether a packet can be in both classes, so that their order matters. Where it cannot be told, it can."""
    lists = [owned.list_of(name) for name in (left, right)]
    if lists[0] is not None and lists[1] is not None:
        pairs = ((one, other) for one in _permits(owned, lists[0]) for other in _permits(owned, lists[1]))
        return any(_meet(one, other) for one, other in pairs)
    if lists != [None, None]:
        return True
    points = [_points(owned, name) for name in (left, right)]
    return bool(points[0] & points[1]) or not all(points)


def _points(owned: Owned, name: str) -> set[str]:
    told = [_POINTS.match(match) for match in owned.class_maps.get(name, ClassMap("", ())).matches]
    return {point for found in told if found for point in found[1].split()}


def _permits(owned: Owned, name: str) -> list[list[str]]:
    return [entry.split() for entry in owned.lists.get(name, ()) if entry.startswith("permit ")]


def _meet(one: Sequence[str], other: Sequence[str]) -> bool:
    """Of two entries `permit PROTOCOL host A [eq P] host B [eq Q]`: a packet can match both."""
    ends = [_ends(entry) for entry in (one, other)]
    if None in ends:
        return True
    return all(a == b or None in (a, b) for a, b in zip(*[end for end in ends if end], strict=True))


def _ends(entry: Sequence[str]) -> tuple[str | None, ...] | None:
    """Protocol, source, its port, destination, its port; None where the entry is not of Slotcar's form."""
    found = re.fullmatch(r"permit (\S+) host (\S+)(?: eq (\d+))? host (\S+)(?: eq (\d+))?", " ".join(entry))
    return found.groups() if found else None


def rank(one: PolicyClass, owned: Owned) -> tuple[int, int, int]:
    """Flows first, the most specific before the others, then by number; standing classes stay in their order."""
    if one.flow is None:
        return (1, 0, 0) if one.name != DEFAULT_CLASS else (2, 0, 0)
    name = owned.list_of(one.name)
    bound = max((entry.count("eq") for entry in _permits(owned, name or "")), default=0)
    return 0, 2 - bound, one.flow


def ranked(classes: Iterable[PolicyClass], owned: Owned) -> tuple[PolicyClass, ...]:
    """The order in which a policy's classes are to be asked."""
    return tuple(sorted(classes, key=lambda one: rank(one, owned)))


def canonical(classes: Sequence[PolicyClass], owned: Owned) -> tuple[PolicyClass, ...]:
    """The classes by rank, if that means the same as the order in which they stand; else as they stand."""
    wanted = ranked(classes, owned)
    place = {one.name: n for n, one in enumerate(wanted)}
    asked = [one.name for one in classes if one.name != DEFAULT_CLASS]
    crossed = (
        (first, second) for n, first in enumerate(asked) for second in asked[n + 1 :] if place[first] > place[second]
    )
    return tuple(classes if any(overlap(first, second, owned) for first, second in crossed) else wanted)


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts `F2` before `F10`."""
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name) if part)


def by_name(found: dict[str, _T]) -> dict[str, _T]:
    return dict(sorted(found.items(), key=lambda item: natural(item[0])))


# -- written -----------------------------------------------------------------------------------------------------------


def lines_of(owned: Owned) -> tuple[str, ...]:
    """Canonical lines: definitions before what refers to them, each kind by name, indented as IOS does."""
    lines: list[str] = []
    for name, entries in by_name(owned.lists).items():
        lines += list_lines(name, entries)
    for name, one in by_name(owned.class_maps).items():
        lines += [f"class-map {one.how} {name}", *indented(one.matches)]
    for name, classes in by_name(owned.policies).items():
        lines.append(f"policy-map {name}")
        for part in classes:
            lines += class_lines(part)
    for head, body in by_name(owned.sections).items():
        lines += [head, *indented(body)]
    lines += sorted(owned.settings, key=natural)
    for name, body in by_name(owned.interfaces).items():
        lines += [f"interface {name}", *indented(body)]
    return tuple(lines)


def list_lines(name: str, entries: Iterable[str]) -> list[str]:
    if name.isdigit():
        return [f"access-list {name} {entry}" for entry in entries]
    return [f"ip access-list extended {name}", *indented(entries)]


def class_lines(one: PolicyClass) -> list[str]:
    return [f" class {one.name}", *indented(one.body, 2)]


def indented(lines: Iterable[str], depth: int = 1) -> list[str]:
    return [f"{' ' * depth}{line}" for line in lines]


# -- read --------------------------------------------------------------------------------------------------------------


def owned_in(
    nodes: Iterable[Node], numbers: range = range(0), settings: Callable[[str], bool] = lambda _: False
) -> Owned:
    """Slotcar's part of a configuration: names with the prefix, marked lists among `numbers`, `settings` as told."""
    lists: dict[str, list[str]] = {}
    policies: dict[str, list[PolicyClass]] = {}
    found = Owned()
    told: list[str] = []
    for node in nodes:
        said = node.line.split()
        if said[0] == "access-list" and len(said) > 2 and said[1].isdigit() and int(said[1]) in numbers:
            lists.setdefault(said[1], []).append(words.entry(" ".join(said[2:])))
        elif said[0] == "interface":
            if own := tuple(sorted(child.line for child in node.children if _attached(child.line))):
                found.interfaces[said[1]] = own
        elif settings(node.line):
            told.append(node.line)
        elif said[-1].startswith(PREFIX):
            _read(node, said, found, lists, policies)
    for name, entries in lists.items():
        if not name.isdigit() or any(one.startswith(MARK) for one in entries):
            found.lists[name] = _remark_last(entries)
    for name, classes in policies.items():
        found.policies[name] = canonical(classes, found)
    return replace(found, settings=tuple(told))


def _read(
    node: Node, said: list[str], found: Owned, lists: dict[str, list[str]], policies: dict[str, list[PolicyClass]]
) -> None:
    """A named object into where it belongs."""
    name = said[-1]
    if said[:3] == ["ip", "access-list", "extended"]:
        lists.setdefault(name, []).extend(words.entry(child.line) for child in node.children)
    elif said[0] == "class-map":
        how = said[1] if said[1].startswith("match-") else "match-all"
        found.class_maps[name] = ClassMap(how, tuple(words.matching(one.line) for one in node.children))
    elif said[0] == "policy-map":
        policies.setdefault(name, []).extend(_classes(node))
    elif said[0] in ("cos-queue-group", "slot-table-cos"):
        found.sections[node.line] = tuple(sorted((one.line for one in node.children), key=natural))


def parsed(
    lines: Iterable[str], numbers: range = range(0), settings: Callable[[str], bool] = lambda _: False
) -> Owned:
    """What `lines_of` wrote."""
    return owned_in(parse("\n".join(lines)), numbers, settings)


def _attached(line: str) -> bool:
    said = line.split()
    return said[0] in ("service-policy", "tx-cos") and len(said) in (2, 3) and said[-1].startswith(PREFIX)


def _remark_last(entries: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.startswith("remark ")))


#: How IOS's order of a class's lines, which differs between releases, becomes Slotcar's.
_ORDER = ("police", "set", "shape", "service-policy", "priority", "bandwidth", "fair-queue", "queue-limit")


def _classes(policy: Node) -> Iterator[PolicyClass]:
    for node in policy.children:
        if node.line.startswith("class "):
            body = sorted((words.action(child) for child in node.children), key=lambda lines: _place(lines[0]))
            yield PolicyClass(node.line.split()[1], tuple(line for lines in body for line in lines))


def _place(line: str) -> tuple[int, int, tuple[tuple[int, int, str], ...]]:
    kind, *rest = line.split()
    last = {"dscp": 1, "precedence": 1, "ecn": 2}.get(rest[0], 0) if rest else 0
    return (_ORDER.index(kind) if kind in _ORDER else len(_ORDER)), last, natural(line)
