"""In which order a policy map's classes are asked, and where that order matters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.objects import DEFAULT_CLASS, ClassMap, Entry, PolicyClass, by_number


def overlap(left: str, right: str, owned: Ios) -> bool:
    """Whether a packet can be in both classes, so that their order matters. Where it cannot be known, it can."""
    lists = [owned.acl_of(name) for name in (left, right)]
    if lists[0] is not None and lists[1] is not None:
        pairs = ((one, other) for one in _entries(owned, lists[0]) for other in _entries(owned, lists[1]))
        return any(meet(one, other) for one, other in pairs)
    if lists != [None, None]:
        return True
    points = [_points(owned.class_maps.get(name)) for name in (left, right)]
    return bool(points[0] & points[1]) or not all(points)


def _points(one: ClassMap | None) -> frozenset[str | int]:
    return one.points if one else frozenset()


def _entries(owned: Ios, acl: str) -> list[Entry]:
    one = owned.lists.get(acl)
    return [entry for entry in one.entries if not entry.remark and not entry.other.startswith("deny")] if one else []


def meet(one: Entry, other: Entry) -> bool:
    """Whether a packet can match both entries."""
    if one.other or other.other:
        return True
    return all(a == b or None in (a, b) for a, b in zip(one.ends, other.ends, strict=True))


def rank(one: PolicyClass, owned: Ios) -> tuple[int, int, int]:
    """Flows first, the most specific before the others, then by number; standing classes stay in their order."""
    if one.flow is None:
        return (1, 0, 0) if one.name != DEFAULT_CLASS else (2, 0, 0)
    entries = owned.permits_of(owned.acl_of(one.name))
    bound = max((2 - (entry.source_port, entry.destination_port).count(None) for entry in entries), default=0)
    return 0, 2 - bound, one.flow


def ranked(classes: Iterable[PolicyClass], owned: Ios) -> tuple[PolicyClass, ...]:
    """The order in which a policy's classes are to be asked."""
    return tuple(sorted(classes, key=lambda one: rank(one, owned)))


def canonical(classes: Sequence[PolicyClass], owned: Ios, *, by_name: bool = False) -> tuple[PolicyClass, ...]:
    """The classes by rank, if that means the same as the order in which they stand; else as they stand. `by_name`: classes
    of one rank go by name."""
    wanted = ranked(sorted(classes, key=lambda one: by_number(one.name)) if by_name else classes, owned)
    place = {one.name: n for n, one in enumerate(wanted)}
    names = [one.name for one in classes if one.name != DEFAULT_CLASS]
    crossed = (
        (first, second) for n, first in enumerate(names) for second in names[n + 1 :] if place[first] > place[second]
    )
    return tuple(classes) if any(overlap(first, second, owned) for first, second in crossed) else wanted
