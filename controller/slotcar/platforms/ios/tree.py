"""A running configuration as a tree: IOS says by indentation what belongs to what."""

from __future__ import annotations

from dataclasses import dataclass, field

from slotcar.base.texts import BLANKS, words_of
from slotcar.platforms.ios.free_text import without_free_text


@dataclass(slots=True)
class Node:
    """One line without its indentation, its blanks made single, and the lines under it."""

    line: str
    children: list[Node] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        return self.line.split(" ")


def parse(text: str) -> list[Node]:
    """The top lines of a `show running-config`. Comments are left out, and so is free text, which may look like anything.

    Raises:
        UnendedText: free text that goes on to the end.
    """
    root = Node("")
    path: list[tuple[int, Node]] = [(-1, root)]
    for raw in without_free_text(text):
        line = " ".join(words_of(raw))
        if not line or line.startswith("!"):
            continue
        depth = len(raw) - len(raw.lstrip(BLANKS))
        while path[-1][0] >= depth:
            path.pop()
        node = Node(line)
        path[-1][1].children.append(node)
        path.append((depth, node))
    return root.children
