"""The least change between two owned configurations, and its order.

Definitions come before what refers to them, and references go before definitions. What is attached stays attached: a
policy map is edited in place, and IOS puts every edit into force at once. Inside a policy map

- a class that changes only in its numbers is told the new ones over the old, lighter shares first;
- IOS appends a new class before `class-default`, and asks the classes in turn. So a class moves (is taken out and put in
  again) only where a new or moved class must be asked before it and the same packet could be in both. The classes of
  other flows share no packets with a new flow and stay where they are: it costs them nothing. What always moves are
  the standing classes by code point, for the moment between two lines of the change;
- a flow's successor is put in before the flow goes, so that its packets are never without a class;
- an entry of a named list is added before the old one is taken away. A numbered list goes as a whole, and to IOS a list
  that is not there permits everything: the class that uses it is taken out until it is written anew. A class that gets
  another list instead is told of that one first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from controller.render.ios.owned import (
    DEFAULT_CLASS,
    ClassMap,
    Owned,
    PolicyClass,
    by_name,
    class_lines,
    indented,
    list_lines,
    overlap,
)

_WEIGHING = ("bandwidth", "priority")


def change_lines(before: Owned, after: Owned) -> tuple[str, ...]:
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
    for name in reversed(_children_first(before)):
        if name not in after.policies:
            lines.append(f"no policy-map {name}")
    lines += [f"no {head}" for head in reversed(by_name(before.sections)) if head not in after.sections]
    lines += [
        f"no class-map {one.how} {name}"
        for name, one in by_name(before.class_maps).items()
        if name not in after.class_maps
    ]
    lines += [_no_list(name) for name in by_name(before.lists) if name not in after.lists]
    return tuple(lines)


def _no_list(name: str) -> str:
    return f"no access-list {name}" if name.isdigit() else f"no ip access-list extended {name}"


def _freed(before: Owned, after: Owned) -> set[str]:
    """Classes that can leave a list for a new one before theirs becomes another's: they match by any, so by both first."""
    return {
        name
        for name, one in before.class_maps.items()
        if one.how == "match-any" == _how(after, name)
        and before.list_of(name) in after.lists
        and after.list_of(name) not in (None, *before.lists)
    }


def _rewritten(before: Owned, after: Owned) -> set[str]:
    """Classes that use a numbered list that is written anew, and those whose class map becomes one of the other kind."""
    lists = {
        name for name, entries in before.lists.items() if name.isdigit() and after.lists.get(name, entries) != entries
    }
    return {
        name
        for name, one in before.class_maps.items()
        if before.list_of(name) in lists or (name in after.class_maps and one.how != _how(after, name))
    }


def _how(owned: Owned, name: str) -> str:
    return owned.class_maps.get(name, ClassMap("", ())).how


def _taken_out(before: Owned, classes: Collection[str]) -> list[str]:
    lines: list[str] = []
    for name, parts in by_name(before.policies).items():
        if gone := [f" no class {one.name}" for one in reversed(parts) if one.name in classes]:
            lines += [f"policy-map {name}", *gone]
    return lines


# -- lists and class maps ----------------------------------------------------------------------------------------------


def _new_lists(before: Owned, after: Owned) -> list[str]:
    new = {name: entries for name, entries in after.lists.items() if name not in before.lists}
    return [line for name, entries in by_name(new).items() for line in list_lines(name, entries)]


def _lists(before: Owned, after: Owned) -> list[str]:
    lines: list[str] = []
    for name, new in by_name(after.lists).items():
        old = before.lists.get(name, new)
        if old != new:
            lines += [_no_list(name), *list_lines(name, new)] if name.isdigit() else _edited(name, old, new)
    return lines


def _edited(name: str, old: Sequence[str], new: Sequence[str]) -> list[str]:
    """A remark stands behind the entries, so it is said again where they change: IOS appends."""
    entries = [one for one in new if one not in old and not one.startswith("remark ")]
    gone = [f"no {one}" for one in old if one not in new and not one.startswith("remark ")]
    gone += [f"no {one}" for one in old if one.startswith("remark ")]
    remarks = [one for one in new if one.startswith("remark ")]
    return [f"ip access-list extended {name}", *indented([*entries, *gone, *remarks])]


def _class_maps(before: Owned, after: Owned, names: Collection[str]) -> list[str]:
    lines: list[str] = []
    for name, new in by_name({name: one for name, one in after.class_maps.items() if name in names}).items():
        old = before.class_maps.get(name)
        if old is None:
            lines += [f"class-map {new.how} {name}", *indented(new.matches)]
        elif old.how != new.how:
            lines += [f"no class-map {old.how} {name}", f"class-map {new.how} {name}", *indented(new.matches)]
        elif old != new:
            added = [one for one in new.matches if one not in old.matches]
            gone = [f"no {one}" for one in old.matches if one not in new.matches]
            lines += [f"class-map {new.how} {name}", *indented([*added, *gone])]
    return lines


# -- policy maps -------------------------------------------------------------------------------------------------------


def _children_first(owned: Owned) -> list[str]:
    """Policy maps, those that others name in a `service-policy` before these."""
    nested = {line.split()[1] for parts in owned.policies.values() for one in parts for line in _nesting(one)}
    return sorted(by_name(owned.policies), key=lambda name: name not in nested)


def _nesting(one: PolicyClass) -> list[str]:
    return [line for line in one.body if line.startswith("service-policy ")]


@dataclass(frozen=True, slots=True)
class _Edit:
    """What happens to the classes of one policy map. `moved` are taken out before anything else and come again."""

    moved: tuple[PolicyClass, ...]
    told: tuple[tuple[PolicyClass, PolicyClass], ...]
    added: tuple[PolicyClass, ...]
    gone: tuple[PolicyClass, ...]


def _policy(name: str, before: Owned, after: Owned, rewritten: Collection[str]) -> list[str]:
    new = after.policies[name]
    if name not in before.policies:
        return [f"policy-map {name}", *(line for one in new for line in class_lines(one))]
    edit = _edit(name, before, after, rewritten)
    freeing = [one for one in edit.gone if _weight(one)]
    first = [f" no class {one.name}" for one in reversed([*freeing, *edit.moved])]
    for old_class, new_class in sorted(edit.told, key=lambda pair: _weight(pair[1]) - _weight(pair[0])):
        first += [f" class {new_class.name}", *indented(_told(old_class.body, new_class.body), 2)]
    first += [line for one in edit.added for line in class_lines(one)]
    last = [f" no class {one.name}" for one in reversed(edit.gone) if one not in freeing]
    # Said anew, so that `no class` is not said inside the class before it.
    return [line for part in (first, last) if part for line in (f"policy-map {name}", *part)]


def _edit(name: str, before: Owned, after: Owned, rewritten: Collection[str]) -> _Edit:
    old = [one for one in before.policies[name] if one.name not in rewritten]
    new = after.policies[name]
    stays = {one.name: one for one in old}
    moved: set[str] = set()
    for n, one in enumerate(new):
        if one.name not in stays:
            continue
        behind = one.name != DEFAULT_CLASS and any(
            overlap(first.name, one.name, after)
            and (first.name not in stays or first.name in moved or not _asked_before(first, one, old, before))
            for first in new[:n]
        )
        if behind or _keys(stays[one.name].body) != _keys(one.body):
            moved.add(one.name)
    wanted = {one.name for one in new}
    return _Edit(
        moved=tuple(one for one in old if one.name in moved),
        told=tuple(
            (stays[one.name], one) for one in new if one.name in stays.keys() - moved and stays[one.name] != one
        ),
        added=tuple(one for one in new if one.name not in stays or one.name in moved),
        gone=tuple(one for one in old if one.name not in wanted),
    )


def _asked_before(first: PolicyClass, second: PolicyClass, old: Sequence[PolicyClass], before: Owned) -> bool:
    """Whether the device asks `first` before `second` now. Of classes that shared no packet the order is not known."""
    names = [one.name for one in old]
    return names.index(first.name) < names.index(second.name) and overlap(first.name, second.name, before)


def _weight(one: PolicyClass) -> int:
    """The share that a class takes, in whatever unit the platform counts; 0 for one that only marks or polices."""
    return sum(int(line.split()[-1]) for line in one.body if line.startswith(_WEIGHING) and line.split()[-1].isdigit())


def _keys(body: Iterable[str]) -> set[str]:
    return {_key(line) for line in body}


def _key(line: str) -> str:
    """What a line sets. Another line that sets the same takes its place."""
    said = line.split()
    if said[0] == "random-detect":
        return " ".join(said[:3]) if said[1:2] in (["dscp"], ["precedence"]) else line
    return said[0] if line.startswith(("police", "bandwidth", "priority", "queue-limit", "shape")) else line


def _told(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The lines that differ. A queue's limit is never below the thresholds in it: it grows first and shrinks last."""
    told = [line for line in new if line not in old]
    if any(line.startswith("police") for line in told):
        told = [line for line in new if line in told or line.startswith(" ")]
    limits = {kind: _limit(lines) for kind, lines in (("old", old), ("new", new))}
    return (
        told
        if limits["new"] >= limits["old"]
        else [
            *(line for line in told if _key(line) != "queue-limit"),
            *(line for line in told if _key(line) == "queue-limit"),
        ]
    )


def _limit(lines: Iterable[str]) -> int:
    return next((int(line.split()[1]) for line in lines if line.startswith("queue-limit ")), 0)


# -- what refers to policies and sections ------------------------------------------------------------------------------


def _sections(before: Owned, after: Owned) -> list[str]:
    lines: list[str] = []
    for head, new in by_name(after.sections).items():
        old = before.sections.get(head, ())
        if old == new and head in before.sections:
            continue
        told = {line.rsplit(" ", 1)[0] for line in new}
        gone = [f"no {line}" for line in old if line not in new and line.rsplit(" ", 1)[0] not in told]
        lines += [head, *indented([*gone, *(line for line in new if line not in old)])]
    return lines


def _attachments(before: Owned, after: Owned) -> list[str]:
    lines = [f"no {line}" for line in before.settings if line not in after.settings]
    lines += [line for line in after.settings if line not in before.settings]
    for name in by_name({**before.interfaces, **after.interfaces}):
        old, new = before.interfaces.get(name, ()), after.interfaces.get(name, ())
        told = [f"no {line}" for line in old if line not in new] + [line for line in new if line not in old]
        lines += [f"interface {name}", *indented(told)] if told else []
    return lines
