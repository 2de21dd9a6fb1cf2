"""The least change between two sets of canonical lines, in an order in which nothing refers to what is not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from controller.render.cisco_cat6500.marks import default_of
from controller.render.cisco_cat6500.tree import (
    ACL,
    CLASS,
    INTERFACE,
    MAP,
    OWNS,
    POLICER,
    POLICY,
    PREFIX,
    Policy,
    Tree,
    misplaced,
    overlap,
    parsed,
    rank,
)

#: Serves in place of a class that moves.
TWIN = f"{PREFIX}VIA-"
K = TypeVar("K")
V = TypeVar("V")
#: How many words of a port's line say what it sets; those of the other lines are two.
_WORDS = {"wrr-queue random-detect": 4, "wrr-queue threshold": 3, "wrr-queue cos-map": 4, "mls qos": 3}


def change_lines(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """What is new and what differs, definitions first; then what is gone, references first. Empty where nothing differs.

    Everything is changed in place: a flow's list takes its new entry long before it loses the old one, a policer is
    overwritten, classes come before others go. So a flow that stays loses no packet. IOS appends classes: one that must
    stand behind a new one, because packets are in both, is put in again behind it, and a twin serves it meanwhile.
    """
    old, new = parsed(before), parsed(after)
    return (
        *_owned(new, old, "{}"),
        *_lists(new, old, "{}"),
        *(f"{POLICER}{name} {what}" for name, what in new.policers.items() if old.policers.get(name) != what),
        *(f"{MAP}{kind} {dscp} to {value}" for (kind, dscp), value in _differing(new.maps, old.maps)),
        *_new_classes(old, new),
        *_policies(old, new),
        *_ports(old, new),
        *_lists(old, new, "no {}"),
        *(f"no {POLICY}{name}" for name in old.policies if name not in new.policies),
        *(f"no {CLASS}{name}" for name in old.classes if name not in new.classes),
        *(f"no {POLICER}{name}" for name in old.policers if name not in new.policers),
        *(f"no {ACL}{name}" for name in old.acls if name not in new.acls and name != OWNS),
        *(f"{MAP}{kind} {dscp} to {default_of((kind, dscp))}" for kind, dscp in _gone(old.maps, new.maps)),
        *_owned(old, new, "no {}"),
    )


def _differing(new: Mapping[K, V], old: Mapping[K, V]) -> list[tuple[K, V]]:
    return [(key, value) for key, value in new.items() if key not in old or old[key] != value]


def _gone(old: Mapping[K, V], new: Mapping[K, V]) -> list[K]:
    return [key for key in old if key not in new]


def _section(head: str, lines: Iterable[str]) -> list[str]:
    body = [f" {line}" for line in lines]
    return [head, *body, " exit"] if body else []


def _owned(this: Tree, other: Tree, form: str) -> list[str]:
    """Entries of the list of what Slotcar owns: said before it writes there, taken back after it has cleared up."""
    if OWNS in this.acls and OWNS not in other.acls and form.startswith("no"):
        return [f"no {ACL}{OWNS}"]
    entries = [entry for entry in this.acls.get(OWNS, ()) if entry not in other.acls.get(OWNS, ())]
    return _section(ACL + OWNS, [form.format(entry) for entry in entries])


def _lists(this: Tree, other: Tree, form: str) -> list[str]:
    """Entries that lists of `this` have over those of `other`; a list of `this` alone only where it is new."""
    lines: list[str] = []
    for name, entries in this.acls.items():
        if name != OWNS and (name in other.acls or form == "{}"):
            more = [entry for entry in entries if entry not in other.acls.get(name, ())]
            lines += _section(ACL + name, [form.format(entry) for entry in more])
    return lines


def _new_classes(old: Tree, new: Tree) -> list[str]:
    lines: list[str] = []
    for name, match in _differing(new.classes, old.classes):
        had = [f"no {old.classes[name]}"] if old.classes.get(name) else []
        lines += _section(CLASS + name, [match, *had])
    return lines


def _policies(old: Tree, new: Tree) -> list[str]:
    lines: list[str] = []
    for name, classes in new.policies.items():
        had = old.policies.get(name, ())
        kept = [one for one, _ in had if one in dict(classes)]
        moved = _moved([one for one, _ in had], kept, [one for one, _ in classes], old, new)
        twins = {one: TWIN + one.removeprefix(PREFIX) for one, _ in had if one in moved}
        for one, twin in twins.items():
            lines += _section(CLASS + twin, [new.classes.get(one, old.classes.get(one, ""))])
        lines += _section(POLICY + name, _policy(had, classes, twins))
        lines += [f"no {CLASS}{twin}" for twin in twins.values() if twin not in old.classes]
    return lines


def _policy(had: Policy, wanted: Policy, twins: Mapping[str, str]) -> list[str]:
    """`twins` are what serves the classes that move, from before they are taken out until they are in again.

    The last goes first: a packet that is in two of them is never left to the second.
    """
    old, names = dict(had), [name for name, _ in wanted]
    lines: list[str] = []
    for name, twin in twins.items():
        lines += _class(twin, (), old[name])
    lines += [f"no class {name}" for name in reversed(list(twins))]
    for name, actions in wanted:
        kept = None if name in twins else old.get(name)
        if kept != actions:
            lines += _class(name, kept or (), actions)
    gone = [*reversed([*twins.values()]), *(name for name in old if name not in names and name not in twins)]
    return [*lines, *(f"no class {name}" for name in gone)]


def _class(name: str, had: Sequence[str], wanted: Sequence[str]) -> list[str]:
    return [f"class {name}", *(f" {line}" for line in _actions(had, wanted)), " exit"]


def _actions(had: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """A policer overwrites one of its own kind; one of another kind, and what is gone, is taken away first."""
    kinds = {_kind(action) for action in wanted}
    gone = [f"no {action}" for action in had if _kind(action) not in kinds]
    return [*gone, *(action for action in wanted if action not in had)]


def _kind(action: str) -> str:
    words = action.split()
    return " ".join(words[:2]) if words[1] in ("flow", "aggregate") else words[0]


def _moved(had: list[str], kept: list[str], names: list[str], old: Tree, new: Tree) -> set[str]:
    """Classes that must be taken out before the others are in: IOS appends, and one that comes must stand before them.

    A class that goes is among them where it would take a packet from one that is put in again behind it.
    """
    moved = set(misplaced(new, kept))
    while True:
        stay = [name for name in had if name not in moved]
        appended = [name for name in names if name not in stay]
        behind = {
            name
            for name in stay
            if any(
                rank(new, other) < rank(new if name in kept else old, name) and overlap(old, name, other, new)
                for other in appended
            )
        }
        if not behind:
            return moved
        moved |= behind


def _ports(old: Tree, new: Tree) -> list[str]:
    lines: list[str] = []
    for name in sorted({*old.interfaces, *new.interfaces}):
        lines += _section(INTERFACE + name, _port(old.interfaces.get(name, ()), new.interfaces.get(name, ())))
    return lines


def _port(had: Sequence[str], wanted: Sequence[str]) -> list[str]:
    keys = {setting(line) for line in wanted}
    gone = [line for line in had if setting(line) not in keys]
    return [*_removals(gone, wanted), *(line for line in wanted if line not in had)]


def setting(line: str) -> str:
    """What a port's line sets: lines of the same setting replace each other."""
    words = line.split()
    return " ".join(words[: _WORDS.get(" ".join(words[:2]), 2)])


def _removals(gone: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Defaults come back by `no`. CoS move with the lines that take them, so their map is reset only as a whole."""
    mapped = any("cos-map" in line for line in wanted)
    lines = []
    for line in gone:
        if line.startswith("service-policy"):
            lines.append(f"no {line}")
        elif "cos-map" not in line or not mapped:
            lines.append(f"no {setting(line)}")
    wred, priority = (any(what in line for line in gone) for what in ("random-detect", "priority-queue"))
    if wred and not priority and not mapped:
        lines.append("no priority-queue cos-map")  # CoS 5 was taken from there
    return lines
