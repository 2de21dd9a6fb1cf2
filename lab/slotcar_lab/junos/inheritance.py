"""What a configuration comes to: without what is deactivated, with what groups and interface ranges give.

After "Configuration Groups" and "Interface Ranges" of Juniper's guides: what an element says itself stands before what a
group says; the groups of an inner `apply-groups` before those of an outer one, and of one list the first before the
others; `apply-groups-except` keeps a group out of an element and of all in it. `${node}` is a cluster member's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from fnmatch import fnmatchcase

from slotcar_lab.junos.statements import Statement, statements
from slotcar_lab.junos.tree import Element, inside, is_inactive, key_of, name_of, prune

_PORT = re.compile(r"^(?P<before>.*?)(?P<number>\d+)$")


def effective(configuration: Element, ports: Iterable[str] = (), node: str = "node0") -> Element:
    """A copy in which everything that is in force is said at its own place, and nothing else.

    Args:
        ports: the hardware's, which a range's `member ge-0/0/*` means.
        node: what `${node}` stands for.
    """
    root = _active(deepcopy(configuration))
    groups = {one.findtext("name") or "": one for one in root.findall("groups")}
    for one in groups.values():
        root.remove(one)
    # A range's own `apply-groups` is its members'; and a group may have a range.
    _spread_ranges(root, tuple(ports))
    _inherit(root, [], _Groups(groups, node), statements())
    _spread_ranges(root, tuple(ports))
    prune(root, statements())
    return root


def _active(one: Element) -> Element:
    for child in list(inside(one)):
        if is_inactive(child):
            one.remove(child)
        else:
            _active(child)
    return one


class _Groups:
    def __init__(self, by_name: dict[str, Element], node: str) -> None:
        self._by_name, self._node = by_name, node

    def applied(self, one: Element) -> list[Element]:
        """The groups that an element's own `apply-groups` names, in its order, and that there are."""
        named = [(each.text or "").replace("${node}", self._node) for each in one.findall("apply-groups")]
        return [self._by_name[name] for name in named if name in self._by_name]


#: A group, and what of it stands at the place that is looked at.
_Source = tuple[str, list[Element]]


def _inherit(one: Element, sources: list[_Source], groups: _Groups, statement: Statement) -> None:
    """Fill an element from what groups have at its place; `sources` are in the order in which they count."""
    kept_out = {each.text for each in one.findall("apply-groups-except")}
    here = [(group.findtext("name") or "", [*_at(group, one)]) for group in groups.applied(one)]
    sources = [source for source in (*here, *sources) if source[0] not in kept_out]
    for leaf in (*one.findall("apply-groups"), *one.findall("apply-groups-except")):
        one.remove(leaf)
    for _, elements in sources:
        for child in (child for element in elements for child in inside(element)):
            _give(one, child, statement)
    for child in list(inside(one)):
        below = statement.child(name_of(child))
        if below is None or below.kind:
            continue
        inner = [(name, [*_matching(elements, child, below)]) for name, elements in sources]
        _inherit(child, [source for source in inner if source[1]], groups, below)


def _at(group: Element, one: Element) -> Iterator[Element]:
    """What a group has at the place of an element: it begins again at the top."""
    path = [one, *one.iterancestors()][::-1][1:]
    elements, statement = [group], statements()
    for step in path:
        below = statement.child(name_of(step))
        assert below is not None
        elements, statement = [*_matching(elements, step, below)], below
    yield from elements


def _matching(elements: Iterable[Element], one: Element, statement: Statement) -> Iterator[Element]:
    """Those of the elements' children that an element inherits from; a group may name it by a wildcard, `<ge-*>`."""
    for child in (child for element in elements for child in inside(element)):
        pairs = zip(key_of(child, statement), key_of(one, statement), strict=True)
        if name_of(child) == name_of(one) and all(_fits(pattern, key) for pattern, key in pairs):
            yield child


def _fits(pattern: str, key: str) -> bool:
    return fnmatchcase(key, pattern[1:-1]) if _is_wildcard(pattern) else pattern == key


def _is_wildcard(key: str) -> bool:
    return key.startswith("<") and key.endswith(">")


def _give(one: Element, child: Element, statement: Statement) -> None:
    """A statement that the element has not yet, hollow: what is in it comes as the element's own children are filled."""
    below = statement.child(name_of(child))
    if below is None or name_of(child) in statement.keys or name_of(child).startswith("apply-groups"):
        return
    key = key_of(child, below)
    if any(map(_is_wildcard, key)):
        return
    if any(name_of(each) == name_of(child) and key_of(each, below) == key for each in inside(one)):
        return
    fresh = deepcopy(child)
    if not below.kind:
        for inner in [each for each in inside(fresh) if name_of(each) not in below.keys]:
            fresh.remove(inner)
    one.append(fresh)


# -- interface ranges --------------------------------------------------------------------------------------------------


def _spread_ranges(root: Element, ports: tuple[str, ...]) -> None:
    interfaces = root.find("interfaces")
    if interfaces is None:
        return
    statement = statements().child("interfaces")
    assert statement is not None
    below = statement.child("interface")
    assert below is not None
    named = [one.findtext("name") or "" for one in interfaces.findall("interface")]
    for one in interfaces.findall("interface-range"):
        interfaces.remove(one)
        for port in members(one, (*ports, *named)):
            target = next((each for each in interfaces.findall("interface") if each.findtext("name") == port), None)
            if target is None:
                target = deepcopy(one)
                for member in (*target.findall("member"), *target.findall("member-range")):
                    target.remove(member)
                target.tag = "interface"
                target.find("name").text = port
                interfaces.append(target)
            else:
                _merge_missing(target, one, below)


def members(one: Element, ports: Iterable[str]) -> list[str]:
    """Of the ports, those that a range has: by name, by wildcard, or between two."""
    patterns = [each.findtext("name") or "" for each in one.findall("member")]
    spans = [(each.findtext("name") or "", each.findtext("end-range") or "") for each in one.findall("member-range")]
    return [
        port
        for port in dict.fromkeys(ports)
        if any(fnmatchcase(port, pattern) for pattern in patterns) or any(_between(port, *span) for span in spans)
    ]


def _between(port: str, first: str, last: str) -> bool:
    parts = [_PORT.match(one) for one in (first, port, last)]
    if not all(parts) or len({part["before"] for part in parts if part}) > 1:
        return False
    low, number, high = (int(part["number"]) for part in parts if part)
    return low <= number <= high


def _merge_missing(target: Element, other: Element, statement: Statement) -> None:
    for child in inside(other):
        below = statement.child(name_of(child))
        if below is None or name_of(child) in (*statement.keys, "member", "member-range"):
            continue
        same = [one for one in inside(target) if name_of(one) == name_of(child)]
        mine = next((one for one in same if below.is_leaf_list or key_of(one, below) == key_of(child, below)), None)
        if mine is None:
            target.append(deepcopy(child))
        elif not below.kind:
            _merge_missing(mine, child, below)
