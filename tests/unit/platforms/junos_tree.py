"""Junos's candidate as a tree, and what `edit-config` does with it, without a router.

As Juniper's NETCONF guide says it: what is replaced is removed and put in again, in a list that is ordered by the user at
its end unless `insert="first"` says otherwise; `remove` minds nothing that is missing.
"""

from __future__ import annotations

from copy import deepcopy

from lxml import etree

NETCONF = "urn:ietf:params:xml:ns:netconf:base:1.0"
ROOT = "http://yang.juniper.net/junos/conf/root"
OPERATION = f"{{{NETCONF}}}operation"
#: Elements that mean something although they hold nothing.
EMPTY = frozenset(
    {"accept", "discard", "remainder", "rate-limit", "color-blind", "color-aware", "per-unit-scheduler"}
) | {"interface-specific"}
#: Lists in which the order counts.
IN_TURN = frozenset({"term", "fill-level", "drop-probability"})
#: Entries of lists that mean nothing where they hold only their name.
SHELLS = frozenset({"interface", "unit"})


class Candidate:
    """What the router has, in no namespace: Junos answers so unless it is told otherwise."""

    def __init__(self, text: str = "<configuration/>") -> None:
        self.root = etree.fromstring(text, etree.XMLParser(remove_blank_text=True))

    @property
    def reply(self) -> str:
        namespace = "http://xml.juniper.net/xnm/1.1/xnm"
        text = str(etree.tostring(self.root, encoding="unicode"))
        text = text.replace("<configuration", f'<configuration xmlns="{namespace}"', 1)
        return f'<rpc-reply xmlns="{NETCONF}"><data>{text}</data></rpc-reply>'

    @property
    def meaning(self) -> object:
        """Equal where two configurations say the same."""
        return _meaning(self.root)

    def edit(self, lines: tuple[str, ...]) -> None:
        """All of it or, where it raises, the caller throws the tree away."""
        if not lines:
            return
        config = etree.fromstring("".join(line.strip() for line in lines))
        assert config.tag == f"{{{NETCONF}}}config"
        (wanted,) = config
        assert wanted.tag == f"{{{ROOT}}}configuration"
        for one in wanted:
            _apply(self.root, one)


def _name(one: etree._Element) -> str:
    return str(etree.QName(one).localname)


def _key(one: etree._Element) -> str:
    return "".join(str(child.text) for child in one if _name(child) == "name")


def _meaning(one: etree._Element) -> tuple[object, ...] | None:
    children = [(child, _meaning(child)) for child in one]
    kept = [(child, meaning) for child, meaning in children if meaning is not None]
    hollow = not kept or (_name(one) in SHELLS and all(_name(child) == "name" for child, _ in kept))
    if hollow and not (one.text or "").strip() and _name(one) not in EMPTY and one.getparent() is not None:
        return None
    in_turn = tuple(meaning for child, meaning in kept if _name(child) in IN_TURN)
    others = sorted((meaning for child, meaning in kept if _name(child) not in IN_TURN), key=repr)
    return _name(one), (one.text or "").strip(), in_turn, tuple(others), tuple(sorted(one.attrib.items()))


def _apply(parent: etree._Element, change: etree._Element) -> None:
    same = [one for one in parent if _name(one) == _name(change) and _key(one) == _key(change)]
    operation, place = change.get(OPERATION, "merge"), change.get("insert")
    assert len(same) <= 1
    assert operation in {"merge", "replace", "remove"}
    if operation == "remove" or operation == "replace":
        for one in same:
            parent.remove(one)
    if operation == "remove":
        return
    if operation == "merge" and same and len(change):
        for child in change:
            if _name(child) != "name" or len(child):
                _apply(same[0], child)
        return
    if operation == "merge" and len(change):
        # An entry that only leads to others.
        fresh = etree.SubElement(parent, _name(change))
        for child in change:
            _apply(fresh, child)
        return
    _put(parent, _plain(change), place)


def _put(parent: etree._Element, fresh: etree._Element, place: str | None) -> None:
    same = [one for one in parent if _name(one) == _name(fresh)]
    if place == "first" and same:
        parent.insert(parent.index(same[0]), fresh)
    else:
        parent.append(fresh)


def _plain(element: etree._Element) -> etree._Element:
    """A copy without namespaces, operations and places."""
    fresh = etree.Element(_name(element))
    fresh.text = element.text
    for child in deepcopy(element):
        assert OPERATION not in child.attrib
        fresh.append(_plain(child))
    return fresh
