"""The least change between two sets of canonical lines, in an order in which nothing refers to what is not there."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import groupby

Blocks = dict[str, tuple[str, ...]]
_REMOVE_WEIGHT = "no fair-queue tos"
_USE = re.compile(r"^rate-limit \S+ access-group (?:(rate-limit) )?(\d+) ")
_WEIGHT = re.compile(r"^fair-queue tos (\d) weight (\d+)$")
#: What IOS gives the ToS classes before it is told otherwise (IOS, "fair-queue weight").
DEFAULT_WEIGHTS = {1: 20, 2: 30, 3: 40}


def change_lines(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """ACLs that are new, then interfaces, then ACLs that nobody uses any more. Empty where nothing differs.

    An ACL that differs is written anew as a whole, and so are the CAR lines of an interface where any of them differs,
    because their order is their meaning and IOS appends. While an ACL is rewritten no line uses it: to IOS a list that
    is not there permits everything.
    """
    old_acls, old_blocks = _split(before)
    new_acls, new_blocks = _split(after)
    rewritten = {name for name, entries in new_acls.items() if old_acls.get(name, entries) != entries}
    lines: list[str] = []
    changes = {
        name: _interface(old_blocks.get(name, ()), new_blocks.get(name, ()), rewritten)
        for name in sorted({*old_blocks, *new_blocks})
    }
    early = {
        name: removals for name, (removals, _) in changes.items() if any(_use(line) in rewritten for line in removals)
    }
    for name, removals in early.items():
        lines += _section(name, [f"no {line}" for line in removals])
    for name, entries in new_acls.items():
        if old_acls.get(name) != entries:
            lines += (_removal(name, old_acls[name]) if name in old_acls else []) + list(entries)
    for name, (removals, additions) in changes.items():
        lines += _section(name, [*([] if name in early else [f"no {line}" for line in removals]), *additions])
    for name, entries in old_acls.items():
        if name not in new_acls:
            lines += _removal(name, entries)
    return tuple(lines)


def _section(name: str, lines: Sequence[str]) -> list[str]:
    return [f"interface {name}", *(f" {line}" for line in lines), " exit"] if lines else []


def _removal(name: str, entries: Sequence[str]) -> list[str]:
    """A flow's list goes as a whole; of CAR's own lists IOS wants the line said (IOS, "access-list rate-limit")."""
    return [f"no {line}" for line in entries] if " rate-limit " in f"{name} " else [f"no {name}"]


def _use(line: str) -> str:
    """The ACL that a CAR line uses, as `_acl_name` names it."""
    match = _USE.match(line.removeprefix("no "))
    return " ".join(filter(None, ("access-list", match[1], match[2]))) if match else ""


def _interface(old: Sequence[str], new: Sequence[str], rewritten: Collection[str]) -> tuple[list[str], list[str]]:
    """The CAR lines that go, last first, and the lines that come."""
    old_car, new_car = ([line for line in lines if line.startswith("rate-limit")] for lines in (old, new))
    common = 0
    while common < min(len(old_car), len(new_car)) and old_car[common] == new_car[common]:
        if _use(old_car[common]) in rewritten:
            break
        common += 1
    additions = new_car[common:]
    old_queueing, new_queueing = (
        [line for line in lines if not line.startswith("rate-limit")] for lines in (old, new)
    )
    if old_queueing and not new_queueing:
        additions.append(_REMOVE_WEIGHT)
    elif old_queueing != new_queueing:
        weights = DEFAULT_WEIGHTS | _weights(old_queueing)
        changed = [line for line in new_queueing if line not in old_queueing]
        # Lighter ones first: together they are 99 at most, at every moment.
        additions += [line for line in changed if not _weights([line])]
        lighter = sorted((weight - weights[tos], tos, weight) for tos, weight in _weights(changed).items())
        additions += [f"fair-queue tos {tos} weight {weight}" for _, tos, weight in lighter]
    return list(reversed(old_car[common:])), additions


def _weights(lines: Sequence[str]) -> dict[int, int]:
    return {int(match[1]): int(match[2]) for line in lines if (match := _WEIGHT.match(line))}


def _split(lines: Sequence[str]) -> tuple[Blocks, Blocks]:
    """ACLs by `access-list N` or `access-list rate-limit N`, and interfaces by name."""
    acls: Blocks = {}
    blocks: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if line.startswith("interface "):
            name = line.removeprefix("interface ")
            blocks[name] = []
        elif line.startswith(" "):
            blocks[name].append(line.strip())
    top = [line for line in lines if line.startswith("access-list ")]
    for acl, group in groupby(top, key=_acl_name):
        acls[acl] = tuple(group)
    return acls, {key: tuple(value) for key, value in blocks.items()}


def _acl_name(line: str) -> str:
    words = line.split()
    return " ".join(words[:3] if words[1] == "rate-limit" else words[:2])
