"""The least edit between two owned configurations, entry by entry (RFC 6241 §7.2).

A commit puts all of an edit into force at once, so no order of lines has to keep packets in their terms. What counts is how
little is named: an entry that is the same in both is not; one that differs is replaced by itself. Terms are asked in
turn: where one comes, moves or changes, its filter is replaced as one entry, in the new order.
"""

from __future__ import annotations

from dataclasses import replace

from slotcar.platforms.juniper_junos.document import FILTER, ROOT, Path, identity, is_key, is_shared
from slotcar.platforms.juniper_junos.objects import TERM_OF_OTHERS
from slotcar.platforms.netconf.tree import NETCONF, Node

_TERM = (*FILTER, "term")


def edit(before: Node | None, after: Node | None) -> tuple[str, ...]:
    """The `config` of an `edit-config` that turns `before` into `after`. Empty where nothing differs."""
    nothing = Node(ROOT, "configuration")
    changes = _differing(before or nothing, after or nothing, ())
    return Node(NETCONF, "config", children=tuple(changes)).lines() if changes else ()


def _differing(old: Node, new: Node, path: Path) -> list[Node]:
    """An element with what differs in it; nothing where nothing does."""
    old_children = {identity(one): one for one in old.children}
    wanted = {identity(one) for one in new.children}
    keys = [one for one in new.children if is_key(one)]
    children = [_removed(one, (*path, one.name)) for one in old.children if identity(one) not in wanted]
    for one in new.children:
        if not is_key(one):
            children += _entry(old_children.get(identity(one)), one, (*path, one.name))
    return [new.holding((*keys, *children))] if children else []


def _entry(old: Node | None, new: Node, path: Path) -> list[Node]:
    if old == new:
        return []
    if is_shared(new, path):
        return _differing(old or new.holding(one for one in new.children if is_key(one)), new, path)
    if old is not None and path == FILTER and _loses_terms(old, new):
        return _differing(old, new, path)
    # An entry that somebody deactivated is there and cannot be created; replacing makes both good.
    return [replace(new.marked("replace"), insert="first" if _stands_first(new, path) else "")]


def _removed(node: Node, path: Path) -> Node:
    keys = [one for one in node.children if is_key(one)]
    if not is_shared(node, path):
        return replace(node.holding(keys), text="").marked("remove")
    others = [one for one in node.children if not is_key(one)]
    return node.holding((*keys, *(_removed(one, (*path, one.name)) for one in others)))


def _stands_first(node: Node, path: Path) -> bool:
    return path == _TERM and node.text_of("name") == TERM_OF_OTHERS


def _loses_terms(old: Node, new: Node) -> bool:
    """Whether `new` is `old` without some of its terms. A term that is replaced by itself may lose its place: Junos removes
    it and inserts another (NETCONF guide, "Replace Configuration Elements")."""
    return [one for one in old.children if one.name != "term" or one in new.children] == list(new.children)
