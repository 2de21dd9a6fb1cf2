"""XML as a value: read without entities, written as lines that are equal where the meaning is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape, quoteattr

from lxml import etree  # type: ignore[import-untyped]

from slotcar.platforms.model import Unreadable

NETCONF = "urn:ietf:params:xml:ns:netconf:base:1.0"
#: The prefix of `operation`, which the root of an edit declares.
PREFIX = "nc"


@dataclass(frozen=True, slots=True)
class Node:
    """An element: a text or children, never both.

    Attributes:
        operation: its attribute of that name, in NETCONF's namespace (RFC 6241 §7.2).
        insert: Junos's attribute of that name, in no namespace: the entry's place in an ordered list.
        inactive: Junos says that the configuration has it and does not use it.
    """

    space: str
    name: str
    text: str = ""
    children: tuple[Node, ...] = ()
    operation: str = ""
    insert: str = ""
    inactive: bool = False

    def all(self, name: str, space: str | None = None) -> Iterator[Node]:
        """Children of this name."""
        return (one for one in self.children if one.name == name and space in (None, one.space))

    def first(self, *names: str) -> Node | None:
        """The first child of the first name, its first child of the second, and so on."""
        node: Node | None = self
        for name in names:
            node = next(node.all(name), None) if node else None
        return node

    def text_of(self, *names: str) -> str:
        """The text at the end of a path; empty where there is none."""
        node = self.first(*names)
        return node.text if node else ""

    def lines(self) -> tuple[str, ...]:
        """One line an element, indented by two blanks a level; a namespace stands where it is another than around it."""
        return tuple(_lines(self, "", 0))

    def marked(self, operation: str) -> Node:
        """The element marked with an operation of an edit (RFC 6241 §7.2)."""
        return replace(self, operation=operation)

    def holding(self, children: Iterable[Node]) -> Node:
        return replace(self, children=tuple(children))


def _lines(node: Node, around: str, depth: int) -> Iterator[str]:
    attributes = {"xmlns": node.space} if node.space != around else {}
    if node.space == NETCONF and not depth:
        attributes[f"xmlns:{PREFIX}"] = NETCONF
    if node.operation:
        attributes[f"{PREFIX}:operation"] = node.operation
    if node.insert:
        attributes["insert"] = node.insert
    head = " ".join([node.name, *(f"{name}={quoteattr(value)}" for name, value in attributes.items())])
    margin = "  " * depth
    if node.children:
        yield f"{margin}<{head}>"
        for child in node.children:
            yield from _lines(child, node.space, depth + 1)
        yield f"{margin}</{node.name}>"
    elif node.text:
        yield f"{margin}<{head}>{escape(node.text)}</{node.name}>"
    else:
        yield f"{margin}<{head}/>"


def parse(text: str, where: str) -> Node:
    """
    Raises:
        Unreadable: no XML, or XML with a document type, which NETCONF never has; `where` names the device.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.strip().encode(), parser)
    except etree.XMLSyntaxError as error:
        beginning = " ".join(text.split())[:80] or "nothing"
        raise Unreadable(f"{where}: it gave no XML ({error.msg}): {beginning}") from None
    if root.getroottree().docinfo.doctype:
        raise Unreadable(f"{where}: its XML has a document type, which NETCONF's never has (RFC 6241 §3)")
    return _node(root)


def _node(element: etree._Element) -> Node:
    name = etree.QName(element)
    children = tuple(_node(child) for child in element if isinstance(child.tag, str))
    text = "" if children else (element.text or "").strip(" \t\r\n")
    return Node(
        name.namespace or "", name.localname, text, children, element.get(f"{{{NETCONF}}}operation", ""),
        element.get("insert", ""), element.get("inactive") == "inactive",
    )  # fmt: skip
