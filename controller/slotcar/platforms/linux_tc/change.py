"""The least change between two sets of objects, as a `tc -batch`: queues before the filters that lead to them, and filters
taken away before what they lead to. A root qdisc is never made anew while its kind is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slotcar.platforms.linux_tc.objects import (
    LEAVES,
    Clsact,
    EtsRoot,
    Fifo,
    Filter,
    Gred,
    GredProfile,
    HfscClass,
    HfscRoot,
    HtbClass,
    Red,
    Root,
    Tc,
    TcObject,
    line_of,
)
from slotcar.platforms.linux_tc.objects import ROOT as ROOT_HANDLE


@dataclass(frozen=True, slots=True)
class _Step:
    """An object's line, which object it is about, and how that one is made, changed and taken away.

    `key` is equal for the line before and after a change. `kind` orders: what is needed by others comes first. `packets`
    is what a filter matches, where the kernel has room for it once: in its preference. `scheduler` is the kind of a root.
    """

    key: tuple[str, ...]
    kind: int
    line: str
    add: str
    change: str
    delete: str
    packets: tuple[object, ...] = ()
    scheduler: str = ""


#: The root comes first and goes last: its handle says that the interface is Slotcar's, and clsact has no mark of its own.
ROOT, CLASS, LEAF, PROFILE, CLSACT, FILTER = range(6)


def change_lines(before: Tc, after: Tc, shared: Sequence[str] = ()) -> tuple[str, ...]:
    """Lines of a `tc -batch` that make a device that has `before` have `after`; none where nothing differs.

    `shared` are interfaces whose clsact is others' too: it is there, and it stays.
    """
    old = {one.key: one for one in map(_step, before.objects)}
    new = {one.key: one for one in map(_step, after.objects)}
    other_roots = _take_other_roots(old, new)
    removed_steps = [one for key, one in old.items() if key not in new]
    # The kernel refuses a filter for packets that another filter of the preference has: the other goes just before.
    making_room = {one.packets: one for one in removed_steps if one.packets}
    lines: list[tuple[int, bool, tuple[str, ...]]] = []
    for key, one in new.items():
        if one.kind == CLSACT and key[0] in shared:
            continue
        if key not in old:
            room = making_room.pop(one.packets, None) if one.packets else other_roots.get(key)
            lines.append((one.kind, True, (room.delete, one.add) if room else (one.add,)))
            removed_steps = [other for other in removed_steps if other is not room]
        elif old[key].line != one.line:
            lines.append((one.kind, False, (one.change,)))
    lines.sort(key=lambda entry: entry[:2])
    rootless = {one.key[0] for one in removed_steps if one.kind == ROOT}
    removed = [one for one in removed_steps if one.delete and not _goes_with_its_root(one, rootless)]
    removed = [one for one in removed if not (one.kind == CLSACT and one.key[0] in shared)]
    removed.sort(key=lambda one: (-one.kind, one.key))
    return (*(line for *_, step in lines for line in step), *(one.delete for one in removed))


def _take_other_roots(
    old: dict[tuple[str, ...], _Step], new: dict[tuple[str, ...], _Step]
) -> dict[tuple[str, ...], _Step]:
    """Roots of another kind than is wanted, out of `old`, and with each its classes and queues: a kind cannot be changed.

    The new root takes the place at once; filters stay, and are changed where the classes have other numbers.
    """
    removed = {
        key: one for key, one in old.items() if one.kind == ROOT and key in new and one.scheduler != new[key].scheduler
    }
    devices = {key[0] for key in removed}
    for key in [key for key, one in old.items() if key[0] in devices and one.kind in (ROOT, CLASS, LEAF, PROFILE)]:
        del old[key]
    return removed


def _goes_with_its_root(one: _Step, rootless: set[str]) -> bool:
    return one.kind in (CLASS, LEAF, PROFILE) and one.key[0] in rootless


def _step(one: TcObject) -> _Step:
    line = line_of(one)
    what, _, rest = line.partition(" ")
    add, change, device = f"{what} add {rest}", f"{what} change {rest}", one.device
    match one:
        case Clsact():
            return _Step((device, "clsact"), CLSACT, line, add, "", f"qdisc del dev {device} clsact")
        case Root() | HfscRoot() | EtsRoot():
            delete = f"qdisc del dev {device} root"
            return _Step((device, "root"), ROOT, line, add, change, delete, scheduler=type(one).__name__)
        case HtbClass() | HfscClass():
            classid = f"{ROOT_HANDLE}{one.minor}"
            delete = f"class del dev {device} classid {classid}"
            return _Step((device, "class", classid), CLASS, line, add, change, delete)
        case GredProfile():  # it is set in its queue, and goes with it
            key = (device, "leaf", LEAVES[one.minor], "gred", str(one.profile))
            return _Step(key, PROFILE, line, change, change, "")
        case Fifo() | Red() | Gred():
            handle = LEAVES[one.minor]
            delete = f"qdisc del dev {device} parent {ROOT_HANDLE}{one.minor} handle {handle}"
            kind = {Fifo: "bfifo", Red: "red", Gred: "gred"}[type(one)]
            return _Step((device, "leaf", handle, kind), LEAF, line, add, change, delete)
        case Filter():
            place = f"dev {device} {one.hook} protocol ip pref {one.preference} handle {one.number} flower"
            packets = (device, one.hook, one.preference, one.keys)
            return _Step(
                (device, one.hook, str(one.preference).zfill(6), one.number),
                FILTER,
                line,
                add,
                change,
                f"filter del {place}",
                packets,
            )
