"""Filters of the forwarding table: every packet that is routed is put to them, whatever Slotcar's filters made of it
("Applying Forwarding Table Filters" of Juniper's guide)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from slotcar.platforms.juniper_junos.inherited import Step, at, groups_at
from slotcar.platforms.model import Hindrance, Unrenderable
from slotcar.platforms.netconf.tree import Node

_INET: tuple[Step, ...] = (("family", ""), ("inet", ""))
_ATTACHED: tuple[Step, ...] = (("forwarding-options", ""), *_INET, ("filter", ""))
#: Actions of a term that leave a packet as it is.
_HARMLESS = frozenset({"accept", "count", "log", "syslog", "sample", "port-mirror", "next"})
_EVERY, _SOME = "discards, polices or marks every packet", "may discard, police or mark packets"
_NOTE = re.compile(rf"^the forwarding table: (?P<statement>`[^`]+`[^`]*) (?P<what>{_EVERY}|{_SOME})$")


def table_filters(active: Node) -> Iterator[str]:
    """Notes of filters that do something to packets.

    Args:
        active: the configuration that is in force.
    """
    inherited = (
        (f" of the group {group.text_of('name')}", one)
        for group in groups_at(active, _ATTACHED)
        for one in at(group, _ATTACHED)
    )
    for source, holder in (*(("", one) for one in at(active, _ATTACHED)), *inherited):
        for way in ("input", "output"):
            if (name := holder.text_of(way, "filter-name") or holder.text_of(way)) and (what := _what(active, name)):
                yield f"the forwarding table: `forwarding-options family inet filter {way} {name}`{source} {what}"


def _what(active: Node, name: str) -> str:
    """What a filter does to packets; empty where it accepts them all."""
    path = (("firewall", ""), *_INET, ("filter", name))
    sources = (active, *groups_at(active, path))
    terms = [term for source in sources for one in at(source, path) for term in one.all("term")]
    doubtful = exempted = False
    for term in terms:
        then, conditions = term.first("then"), term.first("from")
        actions = {one.name for one in then.children} if then else set()
        of_some = conditions is not None and bool(conditions.children)
        if term.first("filter"):  # another filter: whether it ends the asking is not looked into
            doubtful = exempted = True
        elif not actions <= _HARMLESS:
            if not of_some:
                return _SOME if exempted else _EVERY
            doubtful = True
        elif "next" not in actions:
            if not of_some:
                return _SOME if doubtful else ""
            exempted = True
    return _SOME if exempted or not terms else _EVERY  # Junos discards what no term accepts


def check_table(device: str, foreign: Iterable[str], after: Node | None) -> None:
    """
    Raises:
        Unrenderable: a filter of the forwarding table takes every packet, those of reserved flows, too.
    """
    for statement, what in _noted(foreign) if after else ():
        if what == _EVERY:
            raise Unrenderable(
                f"{device}: {statement} {what} of the forwarding table, those that Slotcar's filters accepted, too; take it"
                " away, or let it accept the reserved flows first"
            )


def table_doubts(device: str, foreign: Iterable[str], after: Node | None) -> Iterator[Hindrance]:
    for statement, what in _noted(foreign) if after else ():
        if what == _SOME:
            yield Hindrance(f"{device}: {statement} {what} of reserved flows that Slotcar's filters accepted", False)


def _noted(foreign: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((match["statement"], match["what"]) for match in map(_NOTE.match, foreign) if match)
