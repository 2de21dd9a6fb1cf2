"""What leads from one configuration to another: the commands of `configure replace`, and IOS's two ways to show it.

"Configuration Fundamentals Command Reference": `configure replace`, `show archive config differences`,
`show archive config incremental-diffs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slotcar_lab.ios import tree
from slotcar_lab.ios.configuration import Configuration, Cursor
from slotcar_lab.ios.grammar.table import Grammar, ParsedLine
from slotcar_lab.ios.tree import Node

#: Rules of headers that stay as they are until they are taken away, written with a match type or without.
_FIXED = ("header", "class-map")
NOTHING = "!No changes were found"


@dataclass(frozen=True, slots=True)
class Command:
    """A line, and the headers of the sections in which it stands."""

    inside: tuple[str, ...]
    line: str


def commands(now: Configuration, wanted: Configuration) -> list[Command]:
    """What takes `now` a step towards `wanted`: removals from the bottom up, then additions from the top down."""
    removals, additions = list(_removals(now.top, wanted.top, ())), list(_additions(now.top, wanted.top, ()))
    return [*reversed(removals), *additions]


def flat(done: list[Command]) -> Iterator[str]:
    """The commands as lines to type, with the headers that lead to each."""
    inside: tuple[str, ...] = ()
    for command in done:
        if command.inside != inside:
            yield from ("exit",) * len(inside)
            yield from command.inside
            # `exit-address-family` leaves a section by itself; one `exit` more at the top does no harm.
            inside = command.inside
        yield command.line


def _removals(now: Node, wanted: Node, inside: tuple[str, ...]) -> Iterator[Command]:
    kept = _kept(now, wanted)
    groups: set[str] = set()
    for node in now.printed():
        peer = kept.get(id(node))
        if peer is not None:
            if node.mode:
                yield from _removals(node, peer, (*inside, node.text))
            continue
        if node.rule.special == "leave" or _replaced(node, wanted) or (node.rule.key and node.text.startswith("no ")):
            continue
        if node.rule.special == "interface" and _stays(node):
            # Hardware cannot be taken out: its lines can.
            yield from _removals(node, _emptied(node), (*inside, node.text))
            continue
        group = node.fill(node.rule.group) if node.rule.special == "numbered" else ""
        if group and group in groups:
            continue
        groups.add(group)
        yield Command(inside, f"no {group}" if group else _negated(node))


def _additions(now: Node, wanted: Node, inside: tuple[str, ...]) -> Iterator[Command]:
    kept = {id(peer): node for node, peer in _pairs(now, wanted)}
    for node in wanted.printed():
        have = kept.get(id(node))
        if have is None:
            yield from (Command(inside, line) for line in node.text.split("\n"))
        if node.mode:
            yield from _additions(have or _emptied(node), node, (*inside, node.text))


def _pairs(now: Node, wanted: Node) -> list[tuple[Node, Node]]:
    """Lines that stay: the same text, and of lines whose order matters only those up to the first that differs."""
    pairs = []
    for group in sorted({_group(node) for node in (*now.children, *wanted.children)}):
        before = [node for node in now.printed() if _group(node) == group]
        after = [node for node in wanted.printed() if _group(node) == group]
        if group:
            same = [_same(one, other) for one, other in zip(before, after, strict=False)]
            until = same.index(False) if False in same else len(same)
            # An entry of a numbered ACL goes with its whole list.
            if before and before[0].rule.special == "numbered" and until < len(before):
                until = 0
            pairs += list(zip(before[:until], after[:until], strict=True))
        else:
            pairs += [(one, other) for one in before for other in after if _same(one, other)]
    return pairs


def _kept(now: Node, wanted: Node) -> dict[int, Node]:
    return {id(node): peer for node, peer in _pairs(now, wanted)}


def _group(node: Node) -> str:
    return node.fill(node.rule.ordered) if node.rule.ordered else ""


def _same(one: Node, other: Node) -> bool:
    """A section is the same where its key is, and its header may be written in fewer words; but a class-map's match type
    does not change while it is there."""
    return one.text == other.text or bool(
        one.mode and other.mode and one.key == other.key and one.rule.special not in _FIXED
    )


def _replaced(node: Node, wanted: Node) -> bool:
    """The wanted configuration has another line with the key, which takes this one's place by itself."""
    by_itself = bool(node.rule.key) and not node.rule.needs and node.rule.special not in _FIXED
    return by_itself and wanted.child(node.key) is not None


def _stays(node: Node) -> bool:
    return "." not in node.captures["name"] and node.captures["name"].rstrip("0123456789./:") not in _REMOVABLE


_REMOVABLE = frozenset(
    ("Loopback", "Tunnel", "Vlan", "Port-channel", "Multilink", "BVI", "Dialer", "Virtual-Template")
)


def _emptied(node: Node) -> Node:
    return Node(node.text, node.key, node.rule, dict(node.captures), node.mode)


def _negated(node: Node) -> str:
    text = node.key if node.text.startswith("banner ") else node.text
    return text.removeprefix("no ") if text.startswith("no ") else f"no {text}"


def contextual(now: Configuration, wanted: Configuration) -> list[str]:
    """The lines of `show archive config differences`: those that only one of the two holds, under their sections."""
    changes = list(_contextual(now.top, wanted.top, 0))
    return ["!Contextual Config Diffs:", *(changes or [NOTHING])]


def _contextual(now: Node, wanted: Node, depth: int) -> Iterator[str]:
    pairs = _pairs(now, wanted)
    left, right = {id(node): peer for node, peer in pairs}, {id(peer) for _, peer in pairs}
    for node in wanted.printed():
        if id(node) not in right:
            yield from _signed("+", node, depth)
    for node in now.printed():
        peer = left.get(id(node))
        if peer is None:
            yield from _signed("-", node, depth)
        elif node.mode:
            below = list(_contextual(node, peer, depth + 1))
            yield from [" " * depth + node.text, *below] if below else []


def _signed(sign: str, node: Node, depth: int) -> Iterator[str]:
    yield from (" " * depth + sign + line for line in node.text.split("\n"))
    for child in node.printed():
        yield from _signed(sign, child, depth + 1)


def incremental(now: Configuration, lines: list[str]) -> list[str]:
    """The lines of `show archive config incremental-diffs FILE`: those of a file that the running configuration lacks.

    A line that takes something away stands in no configuration, so it is listed even where there is nothing to take.
    """
    missing: list[str] = []
    cursor, shown = now.cursor(), 0
    for line in _without_banners(now, lines, missing):
        words = line.split()
        if not words or words[0].startswith("!") or words == ["end"]:
            continue
        if words == ["exit"]:
            cursor.path = cursor.path[:-1] or cursor.path
            shown = min(shown, len(cursor.path) - 1)
            continue
        parsed = now.grammar.resolve([node.mode for node in reversed(cursor.path)], words)
        depth, held = _enter(cursor, parsed, now.grammar)
        shown = min(shown, depth)
        if not held:
            missing += [
                " " * place + node.text for place, node in enumerate(cursor.path[1 : depth + 1]) if place >= shown
            ]
            missing.append(" " * depth + " ".join(words))
            shown = len(cursor.path) - 1
    return ["!List of Commands:", *missing, "end", *([] if missing else [NOTHING])]


def _without_banners(now: Configuration, lines: list[str], missing: list[str]) -> Iterator[str]:
    """All lines but those of banners, of which one that the configuration lacks is added to `missing`."""
    reading = Configuration(now.grammar)
    cursor = reading.cursor()
    for line in lines:
        if not (cursor.delimiter or line.startswith("banner ")):
            yield line
            continue
        reading.apply(cursor, line)
        if not cursor.delimiter:
            banner = reading.top.children[-1].text
            missing += [] if now.holds(banner) else banner.split("\n")


def _enter(cursor: Cursor, parsed: object, grammar: Grammar) -> tuple[int, bool]:
    """Move to where a line stands; gives the depth of the line and whether the configuration holds it."""
    if not isinstance(parsed, ParsedLine):
        return len(cursor.path) - 1, False
    while cursor.path[-1].mode != parsed.mode:
        cursor.path.pop()
    depth, section = len(cursor.path) - 1, cursor.path[-1]
    node = tree.node_of(parsed, grammar)
    if parsed.negative:
        return depth, any(child.text == f"no {parsed.text}" for child in section.children)
    have = section.child(node.key)
    if have is None and node.rule.special == "sequence":
        have = next((child for child in section.children if node.text.endswith(child.text)), None)
    held = have is not None and (have.text == node.text or bool(node.mode) or node.rule.special == "sequence")
    if node.mode:
        cursor.path.append(have or node)
    return depth, held or parsed.text in parsed.entry.rule.defaults
