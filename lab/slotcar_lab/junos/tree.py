"""A configuration as a tree, and what an edit does to it (RFC 6241 §7.2, and the Junos XML protocol's own attributes).

Elements are in no namespace. What Junos deactivated has `inactive="inactive"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from lxml import etree  # type: ignore[import-untyped]

from slotcar_lab.junos.statements import Statement, statements

BASE = "urn:ietf:params:xml:ns:netconf:base:1.0"
_OPERATION = f"{{{BASE}}}operation"
Element: TypeAlias = etree._Element


@dataclass
class Refused(Exception):
    """An `rpc-error`: what, where, and the element that it is about."""

    message: str
    tag: str = "operation-failed"
    type: str = "protocol"
    path: str = ""
    bad_element: str = ""
    session_id: int | None = None

    def __str__(self) -> str:
        return " ".join(one for one in (self.path, self.bad_element and f"'{self.bad_element}':", self.message) if one)


def empty() -> Element:
    return etree.Element("configuration")


def name_of(one: Element) -> str:
    return str(etree.QName(one).localname)


def inside(one: Element) -> Iterator[Element]:
    """Child elements, without comments."""
    return (child for child in one if isinstance(child.tag, str))


def key_of(one: Element, statement: Statement) -> tuple[str, ...]:
    """What tells an element from its siblings of the same name."""
    if statement.is_leaf_list:
        return ((one.text or "").strip(),)
    texts = {name_of(child): (child.text or "").strip() for child in inside(one)}
    keys = ("name",) if statement.kind == "any" else statement.keys
    return tuple(texts.get(key, "") for key in keys)


def is_inactive(one: Element) -> bool:
    return bool(one.get("inactive") == "inactive")


def words(one: Element, statement: Statement) -> str:
    """An element as it is named in a path: `filter EDGE-IN`."""
    return " ".join([name_of(one), *(key for key in key_of(one, statement) if key)])


def edit(root: Element, configuration: Element, default: str = "merge", *, takes_insert: bool = True) -> None:
    """Apply the element `configuration` of an edit. What stood before a refusal in it has been done.

    Args:
        default: `merge`, `replace` or `none`.
        takes_insert: a new entry may say `insert="first"`; else it comes last, as any.
    Raises:
        Refused: a statement that is unknown, a value that cannot be, or one that is there already, or is not there.
    """
    if default == "replace":
        for one in list(root):
            root.remove(one)
    editor = _Editor(takes_insert, "none" if default == "none" else "merge")
    for one in inside(configuration):
        editor.apply(root, one, statements(), (), editor.default)
    prune(root, statements())


@dataclass(frozen=True, slots=True)
class _Editor:
    takes_insert: bool
    default: str

    def apply(self, parent: Element, change: Element, holder: Statement, path: tuple[str, ...], around: str) -> None:
        name = name_of(change)
        statement = holder.child(name)
        where = f"[edit{''.join(f' {one}' for one in path)}]"
        if statement is None:
            raise Refused("syntax error", path=where, bad_element=name)
        operation = _operation(change) or around
        existing = self._same(parent, change, statement)
        if operation in ("delete", "remove"):
            self._delete(parent, existing, operation == "delete", where, words(change, statement))
            return
        if operation == "create" and existing:
            raise Refused("statement already exists", "data-exists", path=where, bad_element=name)
        _check(change, statement, where)
        if statement.is_leaf_list and existing and operation != "replace":
            return
        if operation == "replace":
            for one in existing:
                parent.remove(one)
            existing = []
        if operation == "none" and not existing:
            raise Refused("statement not found", "data-missing", path=where, bad_element=name)
        target = existing[0] if existing else self._put(parent, change, statement)
        self._fill(target, change, statement, (*path, words(change, statement)), operation)

    def _fill(
        self, target: Element, change: Element, statement: Statement, path: tuple[str, ...], operation: str
    ) -> None:
        if change.get("inactive") == "inactive":
            target.set("inactive", "inactive")
        elif change.get("active") == "active":
            target.attrib.pop("inactive", None)
        children = list(inside(change))
        if not children and statement.kind and (change.text or "").strip():
            target.text = (change.text or "").strip()
        # What is new has nothing inside yet, and an operation that is said of it has been done with it.
        inherited = operation if operation == "none" else "merge"
        for child in children:
            if name_of(child) in statement.keys:
                _set_key(target, child)
            else:
                self.apply(target, child, statement, path, inherited)

    def _same(self, parent: Element, change: Element, statement: Statement) -> list[Element]:
        same = [one for one in inside(parent) if name_of(one) == name_of(change)]
        key = key_of(change, statement)
        if statement.is_leaf_list and key == ("",):
            return same
        return [one for one in same if key_of(one, statement) == key]

    def _delete(self, parent: Element, existing: list[Element], strict: bool, where: str, bad_element: str) -> None:
        if strict and not existing:
            raise Refused("statement not found", "data-missing", path=where, bad_element=bad_element)
        for one in existing:
            parent.remove(one)

    def _put(self, parent: Element, change: Element, statement: Statement) -> Element:
        fresh = etree.Element(name_of(change))
        siblings = [one for one in inside(parent) if name_of(one) == name_of(change)]
        place = change.get("insert") if statement.in_turn and self.takes_insert else None
        if place == "first" and siblings:
            parent.insert(parent.index(siblings[0]), fresh)
        elif place in ("before", "after") and siblings:
            near = next((one for one in siblings if key_of(one, statement) == (change.get("name", ""),)), siblings[-1])
            parent.insert(parent.index(near) + (place == "after"), fresh)
        else:
            parent.append(fresh)
        return fresh


def _operation(change: Element) -> str:
    operation = change.get(_OPERATION) or change.get("operation") or ""
    for word in ("delete", "replace"):
        operation = word if change.get(word) == word else operation
    if operation not in ("", "merge", "replace", "create", "delete", "remove"):
        raise Refused(f"unknown operation '{operation}'", "bad-attribute", bad_element=name_of(change))
    return str(operation)


def _check(change: Element, statement: Statement, where: str) -> None:
    value = (change.text or "").strip()
    if statement.kind and statement.kind != "any" and (why := statement.complaint(value)):
        raise Refused(why, "invalid-value", path=where, bad_element=name_of(change))
    if statement.keys and not all(key_of(change, statement)):
        raise Refused("missing argument", "missing-element", path=where, bad_element=name_of(change))


def _set_key(target: Element, key: Element) -> None:
    if target.find(name_of(key)) is None:
        fresh = etree.SubElement(target, name_of(key))
        fresh.text = (key.text or "").strip()


def prune(one: Element, statement: Statement) -> None:
    """Takes containers that hold nothing away, and puts siblings in the order in which Junos prints them."""
    for child in list(inside(one)):
        below = statement.child(name_of(child))
        if below is None or below.kind:
            continue
        prune(child, below)
        if not len(child) and not below.stays and not below.keys:
            one.remove(child)
    if statement.kind != "any":
        one[:] = sorted(inside(one), key=lambda child: _printed_at(child, statement))


def _printed_at(one: Element, holder: Statement) -> tuple[int, tuple[tuple[int, int, str], ...]]:
    statement = holder.child(name_of(one))
    key = (
        ()
        if statement is None or statement.in_turn or not statement.keys
        else natural(" ".join(key_of(one, statement)))
    )
    return holder.place(name_of(one)), key


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts `xe-0/0/2` before `xe-0/0/10`."""
    return tuple((1, int(part), "") if part.isdecimal() else (0, 0, part) for part in re.split(r"(\d+)", text) if part)
