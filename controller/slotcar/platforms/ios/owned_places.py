"""The list `SLOTCAR-OWNS`, which nothing refers to: its remarks say which lines that can carry no name are Slotcar's.

It is written before the first such line, and taken away after the last one. Without it such lines are an operator's,
whatever numbers they have (docs/design.md rule 6).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from slotcar.platforms.ios.change import no_list
from slotcar.platforms.ios.configuration import Ios, body, indented, printed
from slotcar.platforms.ios.objects import PREFIX, AccessList, Entry
from slotcar.platforms.ios.tree import Node, parse

OWNS = f"{PREFIX}OWNS"


def owns_list(places: Iterable[str]) -> AccessList:
    """In one order, whatever order the remarks came in: IOS appends."""
    remarks = (Entry(remark=place) for place in sorted(places))
    return AccessList(OWNS, (*remarks, Entry(other="deny ip any any")))


def places_in(owned: Ios) -> frozenset[str]:
    """What the list tells of; nothing where it is not there."""
    return (
        frozenset(one.remark for one in owned.lists[OWNS].entries if one.remark)
        if OWNS in owned.lists
        else frozenset()
    )


def owns_added(before: Ios, after: Ios) -> list[str]:
    """What is told first in a change."""
    return _entries(after, before, "{}")


def owns_removed(before: Ios, after: Ios) -> list[str]:
    """What is told last in a change."""
    if OWNS in before.lists and OWNS not in after.lists:
        return [no_list(before.lists[OWNS])]
    return _entries(before, after, "no {}")


def _entries(this: Ios, other: Ios, form: str) -> list[str]:
    if OWNS not in this.lists:
        return []
    others_lines = body(other.lists[OWNS]) if OWNS in other.lists else ()
    lines = indented(form.format(line) for line in body(this.lists[OWNS]) if line not in others_lines)
    return [printed(this.lists[OWNS])[0], *lines, " exit"] if lines else []


def with_places(nodes: Sequence[Node], places: Collection[str]) -> list[Node]:
    """A device's lines as if the list told of these places too."""
    lists = [node for node in nodes if _is_the_list(node)]
    remarks = {child.line for node in lists for child in node.children} | {f"remark {place}" for place in places}
    text = "\n".join([printed(owns_list(()))[0], *indented(sorted(remarks))])
    return [*(node for node in nodes if not _is_the_list(node)), *parse(text)]


def _is_the_list(node: Node) -> bool:
    return node.line == printed(owns_list(()))[0]
