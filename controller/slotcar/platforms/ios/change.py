"""The least change between two owned configurations, and its order.

Definitions come before what refers to them, and references go before definitions. What is attached stays attached: a
policy map is edited in place, and IOS puts every edit into force at once. Inside a policy map

- a class that changes only in its numbers gets the new ones over the old, lighter shares first;
- IOS appends a new class before `class-default`, and asks the classes in turn. So a class moves (is taken out and put in
  again) only where a new or moved class must be asked before it and the same packet could be in both. The classes of
  other flows share no packets with a new flow and stay where they are: it costs them nothing. What always moves are
  the standing classes by code point, for the moment between two lines of the change;
- a flow's successor is put in before the flow goes, so that its packets are never without a class;
- an entry of a named list is added before the old one is taken away. A numbered list goes as a whole, and to IOS a list
  that is not there permits everything: the class that uses it is taken out until it is written anew. A class that gets
  another list instead gets that one first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from slotcar.platforms.ios.configuration import Ios, Printable, body, indented, printed
from slotcar.platforms.ios.objects import (
    DEFAULT_CLASS,
    AccessList,
    Interface,
    PolicyClass,
    by_number,
    natural,
    sorted_by,
)
from slotcar.platforms.ios.order import overlap


def change_lines(before: Ios, after: Ios) -> tuple[str, ...]:
    """Lines in configuration mode that turn `before` into `after`. Empty where nothing differs."""
    freed = _freed(before, after)
    rewritten = _rewritten(before, after) - freed
    lines = _new_lists(before, after)
    lines += _class_maps(before, after, freed)
    lines += _taken_out(before, rewritten)
    lines += _lists(before, after)
    lines += _class_maps(before, after, {*after.class_maps} - freed)
    for name in _children_first(after):
        lines += _policy(name, before, after, rewritten)
    lines += _sections(before, after)
    lines += _attachments(before, after)
    removed = [name for name in reversed(_children_first(before)) if name not in after.policies]
    lines += [f"no policy-map {name}" for name in removed]
    old_sections, new_sections = _by_head(before), _by_head(after)
    lines += [f"no {head}" for head in sorted(old_sections, key=natural, reverse=True) if head not in new_sections]
    maps = sorted_by(by_number, before.class_maps)
    lines += [f"no class-map {one.how} {name}" for name, one in maps.items() if name not in after.class_maps]
    lists = sorted_by(by_number, before.lists)
    lines += [no_list(one) for name, one in lists.items() if name not in after.lists]
    return tuple(lines)


def no_list(one: AccessList) -> str:
    return f"no access-list {one.name}" if one.numbered else f"no ip access-list extended {one.name}"


def _freed(before: Ios, after: Ios) -> set[str]:
    """Classes that can leave a list for a new one before theirs becomes another's: they match by any, so by both first."""
    return {
        name
        for name, one in before.class_maps.items()
        if one.how == "match-any" == _how(after, name)
        and one.acl in after.lists
        and after.acl_of(name) not in (None, *before.lists)
    }


def _rewritten(before: Ios, after: Ios) -> set[str]:
    """Classes that use a numbered list that is written anew, and those whose class map becomes one of the other kind."""
    lists = {name for name, one in before.lists.items() if one.numbered and after.lists.get(name, one) != one}
    return {
        name
        for name, one in before.class_maps.items()
        if one.acl in lists or (name in after.class_maps and one.how != _how(after, name))
    }


def _how(owned: Ios, name: str) -> str:
    return owned.class_maps[name].how if name in owned.class_maps else ""


def _taken_out(before: Ios, classes: Collection[str]) -> list[str]:
    lines: list[str] = []
    for name, policy in sorted_by(natural, before.policies).items():
        if removals := [f" no class {one.name}" for one in reversed(policy.classes) if one.name in classes]:
            lines += [f"policy-map {name}", *removals]
    return lines


# -- lists and class maps ----------------------------------------------------------------------------------------------


def _new_lists(before: Ios, after: Ios) -> list[str]:
    new = {name: one for name, one in after.lists.items() if name not in before.lists}
    return [line for one in sorted_by(by_number, new).values() for line in printed(one)]


def _lists(before: Ios, after: Ios) -> list[str]:
    lines: list[str] = []
    for name, new in sorted_by(by_number, after.lists).items():
        old = before.lists.get(name, new)
        if old != new:
            lines += [no_list(new), *printed(new)] if new.numbered else _edited(old, new)
    return lines


def _edited(old: AccessList, new: AccessList) -> list[str]:
    """A remark stands behind the entries, so it is said again where they change: IOS appends."""
    new_lines, old_lines = (
        dict(zip(new.entries, body(new), strict=True)),
        dict(zip(old.entries, body(old), strict=True)),
    )
    entries = [line for one, line in new_lines.items() if one not in old_lines and not one.remark]
    removals = [f"no {line}" for one, line in old_lines.items() if one not in new_lines and not one.remark]
    removals += [f"no {line}" for one, line in old_lines.items() if one.remark]
    remarks = [line for one, line in new_lines.items() if one.remark]
    return [printed(new)[0], *indented([*entries, *removals, *remarks])]


def _class_maps(before: Ios, after: Ios, names: Collection[str]) -> list[str]:
    lines: list[str] = []
    for name, new in sorted_by(by_number, {name: after.class_maps[name] for name in names}).items():
        old = before.class_maps.get(name)
        if old is None:
            lines += printed(new)
        elif old.how != new.how:
            lines += [f"no class-map {old.how} {name}", *printed(new)]
        elif old != new:
            added = [line for line in body(new) if line not in body(old)]
            removals = [f"no {line}" for line in body(old) if line not in body(new)]
            lines += [printed(new)[0], *indented([*added, *removals])]
    return lines


# -- policy maps -------------------------------------------------------------------------------------------------------


def _children_first(owned: Ios) -> list[str]:
    """Policy maps, those that others name in a `service-policy` before these."""
    nested = {one.service_policy for policy in owned.policies.values() for one in policy.classes}
    return sorted(sorted_by(natural, owned.policies), key=lambda name: name not in nested)


@dataclass(frozen=True, slots=True)
class _Edit:
    """What happens to the classes of one policy map. `moved` are taken out before anything else and come again."""

    moved: tuple[PolicyClass, ...]
    changed: tuple[tuple[PolicyClass, PolicyClass], ...]
    added: tuple[PolicyClass, ...]
    removed: tuple[PolicyClass, ...]


def _policy(name: str, before: Ios, after: Ios, rewritten: Collection[str]) -> list[str]:
    if name not in before.policies:
        return list(printed(after.policies[name]))
    edit = _edit(name, before, after, rewritten)
    freeing = [one for one in edit.removed if one.weight]
    first = [f" no class {one.name}" for one in reversed([*freeing, *edit.moved])]
    for old_class, new_class in sorted(edit.changed, key=lambda pair: pair[1].weight - pair[0].weight):
        first += [f" class {new_class.name}", *indented(_differing(old_class, new_class), 2)]
    first += [line for one in edit.added for line in printed(one)]
    last = [f" no class {one.name}" for one in reversed(edit.removed) if one not in freeing]
    # Said anew, so that `no class` is not said inside the class before it.
    return [line for part in (first, last) if part for line in (f"policy-map {name}", *part)]


def _edit(name: str, before: Ios, after: Ios, rewritten: Collection[str]) -> _Edit:
    old = [one for one in before.policies[name].classes if one.name not in rewritten]
    new = after.policies[name].classes
    stays = {one.name: one for one in old}
    moved: set[str] = set()
    for n, one in enumerate(new):
        if one.name not in stays:
            continue
        behind = one.name != DEFAULT_CLASS and any(
            overlap(first.name, one.name, after)
            and (first.name not in stays or first.name in moved or not _is_matched_before(first, one, old, before))
            for first in new[:n]
        )
        if behind or settings_of(stays[one.name]) != settings_of(one):
            moved.add(one.name)
    wanted = {one.name for one in new}
    return _Edit(
        moved=tuple(one for one in old if one.name in moved),
        changed=tuple(
            (stays[one.name], one) for one in new if one.name in stays.keys() - moved and stays[one.name] != one
        ),
        added=tuple(one for one in new if one.name not in stays or one.name in moved),
        removed=tuple(one for one in old if one.name not in wanted),
    )


def _is_matched_before(first: PolicyClass, second: PolicyClass, old: Sequence[PolicyClass], before: Ios) -> bool:
    """Whether the device asks `first` before `second` now. Of classes that shared no packet the order is not known."""
    names = [one.name for one in old]
    return names.index(first.name) < names.index(second.name) and overlap(first.name, second.name, before)


def settings_of(one: PolicyClass) -> set[object]:
    """What a class sets, without its numbers: another line that sets the same takes its place."""
    police, detection = one.police, one.random_detect
    kinds = {
        "police": police, "shape": one.shape_bps, "priority": one.priority, "bandwidth": one.bandwidth_percent,
        "fair-queue": one.fair_queue, "queue-limit": one.queue_limit_packets,
    }  # fmt: skip
    settings: set[object] = {kind for kind, value in kinds.items() if value}
    settings |= {one.mark, one.service_policy, *one.other}
    if police and police.conform_color:
        # Its colours and actions stand in lines of their own.
        settings |= {(police.conform_color, police.exceed_color), (police.conform, police.exceed, police.violate)}
    if detection:
        settings |= {(detection.field, detection.ecn), *((detection.field, one.point) for one in detection.profiles)}
    return settings


def _differing(old: PolicyClass, new: PolicyClass) -> list[str]:
    """The lines that differ. A queue's limit is never below the thresholds in it: it grows first and shrinks last."""
    old_lines, new_lines = body(old), body(new)
    lines = [line for line in new_lines if line not in old_lines]
    if old.police != new.police:
        lines = [line for line in new_lines if line in lines or line.startswith(" ")]
    if (new.queue_limit_packets or 0) >= (old.queue_limit_packets or 0):
        return lines
    return sorted(lines, key=lambda line: line.startswith("queue-limit "))


# -- what refers to policies and sections ------------------------------------------------------------------------------


def _by_head(owned: Ios) -> dict[str, Printable]:
    """Cos-queue-groups and slot tables, by their first lines."""
    sections: list[Printable] = [*owned.groups.values(), *owned.slot_tables.values()]
    return {printed(one)[0]: one for one in sections}


def _sections(before: Ios, after: Ios) -> list[str]:
    lines: list[str] = []
    old_sections = _by_head(before)
    for head, new in sorted_by(natural, _by_head(after)).items():
        old = old_sections.get(head)
        if old == new:
            continue
        old_lines, new_lines = body(old) if old else (), body(new)
        set_again = {line.rsplit(" ", 1)[0] for line in new_lines}
        removals = [
            f"no {line}" for line in old_lines if line not in new_lines and line.rsplit(" ", 1)[0] not in set_again
        ]
        lines += [head, *indented([*removals, *(line for line in new_lines if line not in old_lines)])]
    return lines


def _attachments(before: Ios, after: Ios) -> list[str]:
    old_slots, new_slots = (
        [line for _, slot in sorted(owned.rx_cos.items()) for line in printed(slot)] for owned in (before, after)
    )
    lines = [f"no {line}" for line in old_slots if line not in new_slots]
    lines += [line for line in new_slots if line not in old_slots]
    for name in sorted_by(natural, {**before.interfaces, **after.interfaces}):
        old_lines, new_lines = (body(owned.interfaces.get(name, Interface(name))) for owned in (before, after))
        commands = [f"no {line}" for line in old_lines if line not in new_lines] + [
            line for line in new_lines if line not in old_lines
        ]
        lines += [f"interface {name}", *indented(commands)] if commands else []
    return lines
