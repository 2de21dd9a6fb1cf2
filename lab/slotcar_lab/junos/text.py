"""A configuration as Junos prints it: as text with braces, and as the difference of two (`show | compare`).

Every statement has a line of its own; Junos writes a few short ones, such as `transmit-rate`, on one.
"""

from __future__ import annotations

from collections.abc import Iterator

from slotcar_lab.junos.statements import Statement, statements
from slotcar_lab.junos.tree import Element, inside, is_inactive, key_of, name_of, words

_INDENT = "    "


def printed(root: Element) -> str:
    return "".join(f"{line}\n" for line in _body(root, statements(), 0))


def _body(one: Element, statement: Statement, depth: int) -> Iterator[str]:
    margin = _INDENT * depth
    for child in inside(one):
        below = statement.child(name_of(child))
        if below is None or name_of(child) in statement.keys:
            continue
        mark = "inactive: " if is_inactive(child) else ""
        yield from _statement(child, below, margin, mark, depth)


def _statement(one: Element, statement: Statement, margin: str, mark: str, depth: int) -> Iterator[str]:
    if statement.kind and not len(one):
        value = (one.text or "").strip()
        yield f"{margin}{mark}{name_of(one)}{f' {value}' if value else ''};"
        return
    inner = list(_body(one, statement, depth + 1))
    head = f"{margin}{mark}{words(one, statement)}"
    if inner:
        yield f"{head} {{"
        yield from inner
        yield f"{margin}}}"
    else:
        yield f"{head};"


def compared(old: Element, new: Element) -> str:
    """What a commit of `new` would change, as `show | compare` says it; empty where nothing."""
    return "".join(f"{line}\n" for line in _compared(old, new, statements(), ""))


def _compared(old: Element, new: Element, statement: Statement, path: str) -> Iterator[str]:
    before, after = (_by_key(one, statement) for one in (old, new))
    changed = []
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        below = statement.child(key[0])
        if below is None or key[0] in statement.keys:
            continue
        if one is not None and other is not None and not below.kind and is_inactive(one) == is_inactive(other):
            yield from _compared(one, other, below, f"{path} {words(one, below)}")
        elif _lines(one, below) != _lines(other, below):
            changed += [f"-{_INDENT}{line}" for line in _lines(one, below)]
            changed += [f"+{_INDENT}{line}" for line in _lines(other, below)]
    moved = [key for key in before if key in after and _in_turn(key, statement)]
    if moved != [key for key in after if key in before and _in_turn(key, statement)]:
        changed.append(f"!{_INDENT}{moved[0][0]} in another order")
    if changed:
        yield f"[edit{path}]"
        yield from changed


def _in_turn(key: tuple[str, ...], statement: Statement) -> bool:
    below = statement.child(key[0])
    return below is not None and below.in_turn


def _by_key(one: Element, statement: Statement) -> dict[tuple[str, ...], Element]:
    by_key = {}
    for child in inside(one):
        below = statement.child(name_of(child))
        if below is not None:
            by_key[(name_of(child), *key_of(child, below))] = child
    return by_key


def _lines(one: Element | None, statement: Statement) -> list[str]:
    if one is None:
        return []
    return list(_statement(one, statement, "", "inactive: " if is_inactive(one) else "", 0))
