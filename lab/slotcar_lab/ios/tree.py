"""The running configuration as a tree, and its print in IOS's order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from slotcar_lab.ios.grammar.table import TOP, Grammar, ParsedLine, Rule

#: IOS prints these before the hardware and these after it.
_BEFORE = ("Loopback", "Multilink", "Port-channel", "Tunnel")
_AFTER = ("Vlan", "BVI", "Dialer", "Virtual-Template", "Null")


@dataclass(slots=True, eq=False)
class Node:
    """One line, and those below it. `mode` is that of the lines below, empty where none can be."""

    text: str
    key: str
    rule: Rule
    captures: dict[str, str] = field(default_factory=dict)
    mode: str = ""
    children: list[Node] = field(default_factory=list)
    #: Place of an entry in a named ACL.
    sequence: int = 0
    order: tuple[object, ...] = ()

    def fill(self, template: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: self.captures.get(match[1], ""), template)

    def child(self, key: str) -> Node | None:
        return next((child for child in self.children if child.key == key), None)

    def walk(self) -> Iterator[Node]:
        for child in self.children:
            yield child
            yield from child.walk()

    def printed(self) -> list[Node]:
        """The lines below in the order in which IOS prints them."""
        return sorted(self.children, key=lambda child: (child.rule.place, child.order, child.sequence))

    def copy(self) -> Node:
        children = [child.copy() for child in self.children]
        return Node(
            self.text, self.key, self.rule, dict(self.captures), self.mode, children, self.sequence, self.order
        )


def root() -> Node:
    return Node("", "", Rule(mode="", line=""), mode=TOP)


def node_of(parsed: ParsedLine, grammar: Grammar) -> Node:
    rule = parsed.entry.rule
    node = Node(parsed.text, parsed.key, rule, dict(parsed.captures), rule.enters)
    if rule.sorted_by == "interface":
        node.order = _interface_order(parsed.captures["name"], grammar)
    elif rule.sorted_by:
        number = parsed.captures.get(rule.sorted_by, "")
        node.order = (int(number) if number.isdecimal() else -1,)
    else:
        node.order = (0,)
    return node


def _interface_order(name: str, grammar: Grammar) -> tuple[object, ...]:
    kind = name.rstrip("0123456789./:")
    numbers = tuple(int(number) for number in re.findall(r"\d+", name))
    rank = 0 if kind in _BEFORE else 2 if kind in _AFTER else 1
    place = grammar.interfaces.index(kind)
    # Hardware stands by slot, whatever its kind: FastEthernet0/0, ATM1/0.
    return (rank, numbers[0], place, numbers) if rank == 1 else (rank, place, 0, numbers)


def lines(section: Node, grammar: Grammar, indent: int = 0, *, sequences: bool = False) -> Iterator[str]:
    """A section's lines without its header, indented as IOS does."""
    for node in section.printed():
        text = _aligned(node.text) if node.rule.special in ("numbered", "sequence") else node.text
        text = f"{node.sequence} {text}" if sequences and node.rule.special == "sequence" else text
        # `exit-address-family` stands where the section's header does.
        margin = indent - grammar.modes[section.mode].indent if node.rule.special == "leave" else indent
        yield " " * margin + text
        if node.mode:
            yield from lines(node, grammar, indent + grammar.modes[node.mode].indent, sequences=sequences)
            if section.mode == TOP:
                yield "!"


def _aligned(entry: str) -> str:
    """IOS prints `deny` as wide as `permit`: `access-list 101 deny   ip any any`."""
    return re.sub(r"^((?:access-list \d+ )?deny) ", r"\1   ", entry)
