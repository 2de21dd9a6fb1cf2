"""What `tc` prints, cut apart, so that what is said of one interface is no matter of the others.

Versions of iproute2 print no JSON for some kinds of queues (`multiq`, `hfsc` in 6.1), leave keys out, and put warnings
before the list. None of that stops a reading where it is of an interface that is not the inventory's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from slotcar.base.texts import lines_of

#: iproute2 6.1 forgets the quotes here.
_BARE_DEFAULT = re.compile(r'"options":\{default (?:0x)?([0-9a-f]+) *\}')
#: Behind warnings, if any.
_LIST = re.compile(r"^\s*\[", re.MULTILINE)
#: Every queue begins so, and its interface is named before anything that a kind prints by itself.
_BEGINNING = re.compile(r'\{\s*"kind"\s*:')
_INTERFACE = re.compile(r'"dev"\s*:\s*"((?:[^"\\]|\\.)*)"')


def queues_in(text: str, interfaces: Collection[str]) -> Iterator[dict[str, Any]]:
    """The queues of some interfaces out of `tc -j qdisc show`.

    Raises:
        ValueError: it is no list; or what it says of one of the interfaces is no JSON.
    """
    start = _LIST.search(text)
    if start is None:
        raise ValueError("no list")
    text = _BARE_DEFAULT.sub(r'"options":{"default":"\1"}', text[start.start() :])
    try:
        queues = json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        queues = list(_one_by_one(text, interfaces))
    for one in queues:
        if not isinstance(one, dict):
            raise ValueError("no list of queues")
        if one.get("dev") in interfaces:
            yield one


def _one_by_one(text: str, interfaces: Collection[str]) -> Iterator[dict[str, Any]]:
    """
    Raises:
        ValueError: what is no JSON is of one of the interfaces, or does not say of which it is.
    """
    beginnings = [match.start() for match in _BEGINNING.finditer(text)]
    if not beginnings:
        raise ValueError("no list of queues")
    for begins, ends in zip(beginnings, [*beginnings[1:], len(text)], strict=True):
        piece = text[begins:ends]
        interface = _INTERFACE.search(piece)
        if interface is not None and interface[1] not in interfaces:
            continue
        yield json.JSONDecoder().raw_decode(piece)[0]


def sections_in(text: str, count: int) -> list[list[str]]:
    """The sections of a batch of `show`s, each closed by what `lo` has: one line a queue, `qdisc …`, and as many each time.
    An operator may have given `lo` more than the one that it has from the kernel.

    Raises:
        ValueError: there are not so many sections; the message says how many.
    """
    lines = lines_of(text)
    closing = sum(line.startswith("qdisc ") for line in lines)
    if not closing or closing % count:
        raise ValueError(f"{closing}")
    each = closing // count
    sections: list[list[str]] = [[]]
    closed = 0
    for line in lines:
        if line.startswith("qdisc "):
            closed += 1
            if closed % each == 0:
                sections.append([])
        elif closed % each == 0 and line:
            sections[-1].append(line)
    return sections[:count]
