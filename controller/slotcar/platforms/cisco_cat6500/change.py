"""The least change between two owned configurations, in an order in which nothing refers to what is not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from slotcar.platforms.cisco_cat6500.marks import default_of
from slotcar.platforms.ios.change import no_list
from slotcar.platforms.ios.configuration import Ios, body, indented, printed
from slotcar.platforms.ios.objects import (
    PREFIX,
    ClassMap,
    Interface,
    MapEntry,
    PolicyClass,
    PolicyMap,
    by_number,
    natural,
    sorted_by,
)
from slotcar.platforms.ios.order import meet, overlap, rank
from slotcar.platforms.ios.owned_places import OWNS, owns_added, owns_removed

#: Serves in place of a class that moves.
TWIN = f"{PREFIX}VIA-"
#: How many words of a port's line say what it sets; those of the other lines are two.
_WORDS = {"wrr-queue random-detect": 4, "wrr-queue threshold": 3, "wrr-queue cos-map": 4, "mls qos": 3}


def change_lines(before: Ios, after: Ios) -> tuple[str, ...]:
    """What is new and what differs, definitions first; then what is gone, references first. Empty where nothing differs.

    Everything is changed in place: a flow's list takes its new entry long before it loses the old one, a policer is
    overwritten, classes come before others go. So a flow that stays loses no packet. IOS appends classes: one that must
    stand behind a new one, because packets are in both, is put in again behind it, and a twin serves it meanwhile.
    """
    policers, maps = sorted_by(natural, after.policers), sorted(after.maps.items())
    lines = [*owns_added(before, after), *_lists(after, before, "{}")]
    lines += [line for name, one in policers.items() if before.policers.get(name) != one for line in printed(one)]
    lines += [line for key, to in maps if before.maps.get(key) != to for line in printed(MapEntry(*key, to))]
    lines += [*_class_maps(before, after), *_policies(before, after), *_ports(before, after)]
    return (*lines, *_lists(before, after, "no {}"), *_removed(before, after), *owns_removed(before, after))


def _removed(before: Ios, after: Ios) -> list[str]:
    """Objects that `after` has no more, and the maps' defaults."""
    lines = [f"no policy-map {name}" for name in sorted_by(natural, before.policies) if name not in after.policies]
    class_maps = sorted_by(by_number, before.class_maps)
    lines += [f"no {printed(one)[0]}" for name, one in class_maps.items() if name not in after.class_maps]
    policers = sorted_by(natural, before.policers)
    lines += [f"no mls qos aggregate-policer {name}" for name in policers if name not in after.policers]
    lists = sorted_by(by_number, before.lists)
    lines += [no_list(one) for name, one in lists.items() if name not in after.lists and name != OWNS]
    maps = [MapEntry(*key, default_of(key)) for key in sorted(before.maps) if key not in after.maps]
    return [*lines, *(line for one in maps for line in printed(one))]


def _section(head: str, lines: Iterable[str]) -> list[str]:
    below = indented(lines)
    return [head, *below, " exit"] if below else []


def _more(this: Ios, other: Ios, name: str) -> list[str]:
    """Entries that a list of `this` has over the one of `other`."""
    others_lines = body(other.lists[name]) if name in other.lists else ()
    return [line for line in body(this.lists[name]) if line not in others_lines]


def _lists(this: Ios, other: Ios, form: str) -> list[str]:
    """Entries that lists of `this` have over those of `other`; a list of `this` alone only where it is new."""
    lines: list[str] = []
    for name, one in sorted_by(by_number, this.lists).items():
        if name != OWNS and (name in other.lists or form == "{}"):
            lines += _section(printed(one)[0], [form.format(line) for line in _more(this, other, name)])
    return lines


def _class_maps(before: Ios, after: Ios) -> list[str]:
    lines: list[str] = []
    for name, new in sorted_by(by_number, after.class_maps).items():
        old = before.class_maps.get(name)
        if old != new:
            lines += _section(printed(new)[0], [*body(new), *(f"no {line}" for line in (body(old) if old else ()))])
    return lines


def _policies(before: Ios, after: Ios) -> list[str]:
    lines: list[str] = []
    for name, new in sorted_by(natural, after.policies).items():
        old_classes = before.policies.get(name, PolicyMap(name, ())).classes
        twins = {one: TWIN + one.removeprefix(PREFIX) for one in _moved(old_classes, new.classes, before, after)}
        class_maps = before.class_maps | after.class_maps
        served = [ClassMap(twin, "match-all", class_maps[one].matches) for one, twin in twins.items()]
        for twin in served:
            lines += _section(printed(twin)[0], body(twin))
        lines += _section(f"policy-map {name}", _policy(old_classes, new.classes, twins))
        lines += [f"no {printed(twin)[0]}" for twin in served if twin.name not in before.class_maps]
    return lines


def _policy(old_classes: Sequence[PolicyClass], wanted: Sequence[PolicyClass], twins: Mapping[str, str]) -> list[str]:
    """`twins` are what serves the classes that move, from before they are taken out until they are in again.

    The last goes first: a packet that is in two of them is never left to the second.
    """
    old, names = {one.name: one for one in old_classes}, [one.name for one in wanted]
    lines: list[str] = []
    for name, twin in twins.items():
        lines += _class((), replace(old[name], name=twin))
    lines += [f"no class {name}" for name in reversed(list(twins))]
    for one in wanted:
        old_class = None if one.name in twins else old.get(one.name)
        if old_class != one:
            lines += _class(body(old_class) if old_class else (), one)
    removed = [*reversed([*twins.values()]), *(name for name in old if name not in names and name not in twins)]
    return [*lines, *(f"no class {name}" for name in removed)]


def _class(old_actions: Sequence[str], one: PolicyClass) -> list[str]:
    """A policer overwrites one of its own kind; one of another kind, and what is gone, is taken away first."""
    wanted = body(one)
    kinds = {_kind(action) for action in wanted}
    removals = [f"no {action}" for action in old_actions if _kind(action) not in kinds]
    return [
        f"class {one.name}",
        *indented([*removals, *(line for line in wanted if line not in old_actions)]),
        " exit",
    ]


def _kind(action: str) -> str:
    words = action.split()
    return " ".join(words[:2]) if words[1] in ("flow", "aggregate") else words[0]


def _moved(old_classes: Sequence[PolicyClass], wanted: Sequence[PolicyClass], before: Ios, after: Ios) -> list[str]:
    """Classes that must be taken out before the others are in: IOS appends, and one that comes must stand before them.

    A class that goes is among them where it would take a packet from one that is put in again behind it.
    """
    places = {one.name: (rank(one, before), by_number(one.name)) for one in old_classes}
    places |= {one.name: (rank(one, after), by_number(one.name)) for one in wanted}
    names = [one.name for one in wanted]
    staying = [one.name for one in old_classes if one.name in names]
    moved = {
        name
        for place, name in enumerate(staying)
        if any(places[other] < places[name] and overlap(name, other, after) for other in staying[place + 1 :])
    }
    while True:
        stay = [one.name for one in old_classes if one.name not in moved]
        appended = [name for name in names if name not in stay]
        behind = {
            name
            for name in stay
            if any(places[other] < places[name] and _may_meet(name, other, before, after) for other in appended)
        }
        if not behind:
            return [one.name for one in old_classes if one.name in moved]
        moved |= behind


def _may_meet(one: str, other: str, before: Ios, after: Ios) -> bool:
    """Whether a packet can be in both classes while `before` becomes `after`: a list has the entries of both then."""
    for first in (owned for owned in (before, after) if one in owned.class_maps):
        for second in (owned for owned in (before, after) if other in owned.class_maps):
            lists = first.acl_of(one), second.acl_of(other)
            pairs = ((left, right) for left in first.permits_of(lists[0]) for right in second.permits_of(lists[1]))
            if (lists != (None, None)) if None in lists else any(meet(left, right) for left, right in pairs):
                return True
    return False


def _ports(before: Ios, after: Ios) -> list[str]:
    lines: list[str] = []
    for name in sorted_by(natural, {**before.interfaces, **after.interfaces}):
        old_lines, new_lines = (body(owned.interfaces.get(name, Interface(name))) for owned in (before, after))
        settings = {setting(line) for line in new_lines}
        removed = [line for line in old_lines if setting(line) not in settings]
        added = [line for line in new_lines if line not in old_lines]
        lines += _section(f"interface {name}", [*_removals(removed, new_lines), *added])
    return lines


def setting(line: str) -> str:
    """What a port's line sets: lines of the same setting replace each other."""
    words = line.split()
    return " ".join(words[: _WORDS.get(" ".join(words[:2]), 2)])


def _removals(removed: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Defaults come back by `no`. CoS move with the lines that take them, so their map is reset only as a whole."""
    mapped = any("cos-map" in line for line in wanted)
    lines = []
    for line in removed:
        if line.startswith("service-policy"):
            lines.append(f"no {line}")
        elif "cos-map" not in line or not mapped:
            lines.append(f"no {setting(line)}")
    wred, priority = (any(what in line for line in removed) for what in ("random-detect", "priority-queue"))
    if wred and not priority and not mapped:
        lines.append("no priority-queue cos-map")  # CoS 5 was taken from there
    return lines
