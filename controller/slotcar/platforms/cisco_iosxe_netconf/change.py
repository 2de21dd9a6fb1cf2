"""The least edit between two owned configurations, entry by entry (RFC 6241 §7.2).

A commit puts all of an edit into force at once, so that no order of lines has to keep packets in their classes, as it has
on the command line. What counts is how little is sent: an entry that is the same in both is not named; an entry of a list,
a class map or a class's action that differs is replaced by itself. Classes are asked in turn. Where one comes or moves, its
policy map is replaced as one entry, in the new order: a peer compares it with what it has, and one that is not quite to
the letter may forget the place of a class that is inserted (netconfd 2.13 does, at the commit).
"""

from __future__ import annotations

from collections.abc import Callable

from slotcar.platforms.cisco_iosxe_netconf.canonical import KEYS, key_of
from slotcar.platforms.cisco_iosxe_netconf.native import INTERFACES
from slotcar.platforms.cisco_iosxe_netconf.tree import NATIVE, NETCONF, Node

#: What is not Slotcar's as a whole, but holds what is: it is named on the way, and it gets no operation.
_SHARED = frozenset({"native", "ip", "access-list", "policy", "interface", "service-policy", *INTERFACES})
#: Entries that are compared entry by entry inside; others are replaced as a whole.
_OPENED = frozenset({"extended", "policy-map", "class"})


def edit(before: Node | None, after: Node | None) -> tuple[str, ...]:
    """The `config` of an `edit-config` that turns `before` into `after`. Empty where nothing differs."""
    nothing = Node(NATIVE, "native")
    differing = _differing(before or nothing, after or nothing)
    return Node(NETCONF, "config", children=tuple(differing)).lines() if differing else ()


def _differing(old: Node, new: Node) -> list[Node]:
    """A shared or opened element, with what differs in it; nothing where nothing does."""
    old_children = {_identity(one): one for one in old.children}
    wanted = {_identity(one) for one in new.children}
    children = [_removed(one) for one in old.children if _identity(one) not in wanted]
    for one in new.children:
        if not _is_key(one, new):
            children += _entry(old_children.get(_identity(one)), one)
    return [new.holding([*(one for one in new.children if _is_key(one, new)), *children])] if children else []


def _entry(old: Node | None, new: Node) -> list[Node]:
    if old is None:
        return [_created(new)]
    if old == new:
        return []
    if new.name in _SHARED or (new.name in _OPENED and _matches_alike(old, new)):
        return _differing(old, new)
    return [new.marked(operation="replace")]


def _created(node: Node) -> Node:
    return _inside(node, _created) if node.name in _SHARED else node.marked(operation="create")


def _removed(node: Node) -> Node:
    if node.name in _SHARED:
        return _inside(node, _removed)
    key = [one for one in node.children if _is_key(one, node)]
    return node.holding(key).marked(operation="remove")


def _inside(node: Node, do: Callable[[Node], Node]) -> Node:
    return node.holding(one if _is_key(one, node) else do(one) for one in node.children)


def _is_key(one: Node, of: Node) -> bool:
    return one.name == (KEYS.get(of.name) or ("name" if of.name in INTERFACES else ""))


def _identity(node: Node) -> tuple[str, str]:
    return node.name, key_of(node) if node.name in KEYS or node.name in INTERFACES else ""


def _matches_alike(old: Node, new: Node) -> bool:
    """Whether the classes of `new` are among those of `old`, in the same order."""
    wanted = [key_of(one) for one in new.all("class")]
    return [key_of(one) for one in old.all("class") if key_of(one) in wanted] == wanted
