"""The least change between two sets of lines, as a `tc -batch`: queues before the filters that lead to them, and filters
taken away before what they lead to. A root qdisc is never made anew while its kind is wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_CLSACT = re.compile(r"^qdisc dev (\S+) clsact$")
_ROOT = re.compile(r"^qdisc dev (\S+) root handle (\S+)(?: stab overhead \d+ linklayer ethernet)? (htb|hfsc|ets) ")
_CLASS = re.compile(r"^class dev (\S+) parent (\S+) classid (\S+)")
_LEAF = re.compile(r"^qdisc dev (\S+) parent (\S+) handle (\S+) (\S+)(?: (?:setup|.* DP (\d+)))?")
_FILTER = re.compile(
    r"^filter dev (\S+) (\S+) protocol ip pref (\d+) handle (\S+) flower(?P<packets>.*?)(?: classid \S+)? action "
)


@dataclass(frozen=True, slots=True)
class Object:
    """A line, which object it is about, and how that one is made, changed and taken away.

    `key` is equal for the line before and after a change. `kind` orders: what is needed by others comes first. `packets`
    is what a filter matches, where the kernel has room for it once: in its preference. `scheduler` is the kind of a root.
    """

    key: tuple[str, ...]
    kind: int
    line: str
    add: str
    change: str
    delete: str
    packets: tuple[str, ...] = ()
    scheduler: str = ""


CLSACT, ROOT, CLASS, LEAF, PROFILE, FILTER = range(6)


def change_lines(before: Sequence[str], after: Sequence[str], shared: Sequence[str] = ()) -> tuple[str, ...]:
    """Lines of a `tc -batch` that make a device that has `before` have `after`; none where nothing differs.

    `shared` are interfaces whose clsact carries others' filters: it is there, and it stays.
    """
    old = {one.key: one for one in map(parse, before)}
    new = {one.key: one for one in map(parse, after)}
    other_roots = _take_other_roots(old, new)
    gone = [one for key, one in old.items() if key not in new]
    # The kernel refuses a filter for packets that another filter of the preference has: the other goes just before.
    making_room = {one.packets: one for one in gone if one.packets}
    lines: list[tuple[int, bool, tuple[str, ...]]] = []
    for key, one in new.items():
        if one.kind == CLSACT and key[0] in shared:
            continue
        if key not in old:
            room = making_room.pop(one.packets, None) if one.packets else other_roots.get(key)
            lines.append((one.kind, True, (room.delete, one.add) if room else (one.add,)))
            gone = [other for other in gone if other is not room]
        elif old[key].line != one.line:
            lines.append((one.kind, False, (one.change,)))
    lines.sort(key=lambda entry: entry[:2])
    rootless = {one.key[0] for one in gone if one.kind == ROOT}
    removed = [one for one in gone if one.delete and not _goes_with_its_root(one, rootless)]
    removed = [one for one in removed if not (one.kind == CLSACT and one.key[0] in shared)]
    removed.sort(key=lambda one: (-one.kind, one.key))
    return (*(line for *_, step in lines for line in step), *(one.delete for one in removed))


def _take_other_roots(
    old: dict[tuple[str, ...], Object], new: dict[tuple[str, ...], Object]
) -> dict[tuple[str, ...], Object]:
    """Roots of another kind than is wanted, out of `old`, and with each its classes and queues: a kind cannot be changed.

    The new root takes the place at once; filters stay, and are changed where the classes have other numbers.
    """
    found = {
        key: one for key, one in old.items() if one.kind == ROOT and key in new and one.scheduler != new[key].scheduler
    }
    devices = {key[0] for key in found}
    for key in [key for key, one in old.items() if key[0] in devices and one.kind in (ROOT, CLASS, LEAF, PROFILE)]:
        del old[key]
    return found


def _goes_with_its_root(one: Object, rootless: set[str]) -> bool:
    return one.kind in (CLASS, LEAF, PROFILE) and one.key[0] in rootless


def parse(line: str) -> Object:
    """
    Raises:
        ValueError: no line of Slotcar's.
    """
    what, _, rest = line.partition(" ")
    if match := _CLSACT.match(line):
        device = match[1]
        return Object((device, "clsact"), CLSACT, line, f"qdisc add {rest}", "", f"qdisc del dev {device} clsact")
    if match := _ROOT.match(line):
        device, _handle, scheduler = match.groups()
        return Object((device, "root"), ROOT, line, f"qdisc add {rest}", f"qdisc change {rest}",
                      f"qdisc del dev {device} root", scheduler=scheduler)  # fmt: skip
    if match := _CLASS.match(line):
        device, _parent, classid = match.groups()
        return Object((device, "class", classid), CLASS, line, f"class add {rest}", f"class change {rest}",
                      f"class del dev {device} classid {classid}")  # fmt: skip
    if match := _LEAF.match(line):
        device, parent, handle, kind, profile = match.groups()
        key = (device, "leaf", handle, kind)
        if profile is not None:  # a drop profile is set in its queue, and goes with it
            return Object((*key, profile), PROFILE, line, f"qdisc change {rest}", f"qdisc change {rest}", "")
        return Object(key, LEAF, line, f"qdisc add {rest}", f"qdisc change {rest}",
                      f"qdisc del dev {device} parent {parent} handle {handle}")  # fmt: skip
    if match := _FILTER.match(line):
        device, hook, preference, handle, packets = match.groups()
        place = f"dev {device} {hook} protocol ip pref {preference} handle {handle} flower"
        return Object((device, hook, preference.zfill(6), handle), FILTER, line, f"{what} add {rest}",
                      f"{what} change {rest}", f"{what} del {place}", (device, hook, preference, packets))  # fmt: skip
    raise ValueError(f"no line of Slotcar's: {line!r}")
