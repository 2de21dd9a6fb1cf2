"""What of an operator's stands where Slotcar would put its own: noted when read, refused when in the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from slotcar.platforms.ios.configuration import Ios, body
from slotcar.platforms.ios.objects import PREFIX, Interface
from slotcar.platforms.ios.tree import Node
from slotcar.platforms.model import Unrenderable

#: Ways to serve an interface's output that exclude a queueing policy there (IOS, "service-policy", Usage Guidelines).
_QUEUEING = re.compile(
    r"^(fair-queue|fair-queue .*|priority-group .*|custom-queue-list .*|random-detect|random-detect .*"
    r"|traffic-shape .*|tx-cos .*)$"
)
_POLICY = re.compile(r"^service-policy (input|output) [^ ]+$")
_NOTE = re.compile(r"^([^ ]+): `(.*)`$")
_INPUT = "service-policy input "


def foreign_in(
    nodes: Iterable[Node], interfaces: Collection[str], taken: Callable[[list[str]], str | None] = lambda _: None
) -> tuple[str, ...]:
    """Lines of an operator's that serve or police `interfaces`, each as "INTERFACE: `line`".

    `taken` says of the words of a global line what it takes of the device that Slotcar may want too, if anything.
    """
    notes: list[str] = []
    for node in nodes:
        words = node.words
        what = taken(words)
        if what is not None and what not in notes:
            notes.append(what)
        if words[0] == "interface" and words[1] in interfaces:
            for child in node.children:
                others = child.words[-1].startswith(PREFIX)
                if not others and (_POLICY.match(child.line) or _QUEUEING.match(child.line)):
                    notes.append(f"{words[1]}: `{child.line}`")
    return tuple(notes)


def check_clear(device: str, foreign: Iterable[str], after: Ios) -> None:
    """Slotcar never takes another's policy away, and its own beside it IOS would refuse.

    Raises:
        Unrenderable: an operator's line stands where one of `after` would go.
    """
    for note in foreign:
        match = _NOTE.match(note)
        if match is None:
            continue
        name, line = match.groups()
        ours = [
            one
            for one in body(after.interfaces.get(name, Interface(name)))
            if one.startswith(_INPUT) == line.startswith(_INPUT)
        ]
        if ours:
            raise Unrenderable(
                f"{device} {name}: `{ours[0]}` is wanted where `{line}` stands, which is not Slotcar's;"
                " take it away, or leave this interface out of the inventory"
            )
