"""The least change between two sets of canonical lines, in an order in which nothing refers to what is not there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

Blocks = dict[str, tuple[str, ...]]
_REMOVE_WEIGHT = "no fair-queue tos"


def change_lines(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """ACLs that are new, then interfaces, then ACLs that nobody uses any more. Empty where nothing differs.

    An ACL that differs is written anew as a whole, and so are the CAR lines of an interface where any of them differs,
    because their order is their meaning and IOS appends.
    """
    old_acls, old_blocks = _split(before)
    new_acls, new_blocks = _split(after)
    lines: list[str] = []
    for name, entries in new_acls.items():
        if old_acls.get(name) != entries:
            lines += ([f"no {name}"] if name in old_acls else []) + list(entries)
    for name in sorted({*old_blocks, *new_blocks}):
        changed = _interface(old_blocks.get(name, ()), new_blocks.get(name, ()))
        lines += [f"interface {name}", *(f" {line}" for line in changed), " exit"] if changed else []
    return (*lines, *(f"no {name}" for name in old_acls if name not in new_acls))


def _interface(old: Sequence[str], new: Sequence[str]) -> list[str]:
    old_car, new_car = ([line for line in lines if line.startswith("rate-limit")] for lines in (old, new))
    lines = []
    if old_car != new_car:
        common = 0
        while common < min(len(old_car), len(new_car)) and old_car[common] == new_car[common]:
            common += 1
        lines += [f"no {line}" for line in reversed(old_car[common:])] + new_car[common:]
    old_queueing, new_queueing = ([line for line in lines_ if line not in car] for lines_, car in
                                  ((old, old_car), (new, new_car)))  # fmt: skip
    if old_queueing and not new_queueing:
        lines.append(_REMOVE_WEIGHT)
    else:
        lines += [line for line in new_queueing if line not in old_queueing]
    return lines


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
