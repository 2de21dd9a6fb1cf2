"""A running configuration as a tree: IOS says by indentation what belongs to what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_BANNER = re.compile(r"^banner \S+ (\^C|\S)")


@dataclass(slots=True)
class Node:
    """One line without its indentation, its blanks made single, and the lines under it."""

    line: str
    children: list[Node] = field(default_factory=list)


def parse(text: str) -> list[Node]:
    """The top lines of a `show running-config`. Comments are left out, and so are banners, which may look like anything."""
    root = Node("")
    path: list[tuple[int, Node]] = [(-1, root)]
    for raw in _without_banners(text):
        line = " ".join(raw.split())
        if not line or line.startswith("!"):
            continue
        depth = len(raw) - len(raw.lstrip())
        while path[-1][0] >= depth:
            path.pop()
        node = Node(line)
        path[-1][1].children.append(node)
        path.append((depth, node))
    return root.children


def _without_banners(text: str) -> Iterator[str]:
    """A banner goes on until its delimiter comes again."""
    delimiter = ""
    for raw in text.splitlines():
        if delimiter:
            delimiter = "" if delimiter in raw else delimiter
        elif match := _BANNER.match(raw):
            delimiter = "" if match[1] in raw[match.end() :] else match[1]
        else:
            yield raw.rstrip()
