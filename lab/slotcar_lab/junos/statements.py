"""The statements that the router knows, out of `statements.yml`: their kinds, keys, order, and which values they take."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_NAME = re.compile(r"^(?P<name>[a-z0-9-]+)(?P<leaf_list>~)?(?P<listed>\*)?(?:\((?P<keys>[^)]*)\))?(?P<own>[+!])?$")
_RATE = re.compile(r"^(\d+(?:\.\d+)?)([kmg]?)$")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
#: Aliases of code points, and the protocols that a filter knows by name, as far as anybody writes them here.
_DSCP_NAMES = frozenset(
    {"be", "ef", *(f"af{n}{m}" for n in range(1, 5) for m in range(1, 4)), *(f"cs{n}" for n in range(8))}
)
_PROTOCOLS = frozenset({"icmp", "igmp", "ipip", "tcp", "udp", "gre", "esp", "ah", "ospf", "pim", "sctp"})
#: Of every list and container.
_ADVANCED = ("apply-groups", "apply-groups-except")


@dataclass(frozen=True, slots=True)
class Statement:
    """What may stand at one place.

    Attributes:
        kind: a leaf's, such as `rate 8000-100000000000`; `any` takes whatever comes; empty for what holds statements.
        keys: the leaves that tell an entry of a list from its siblings.
        in_turn: a list, or leaf-list, whose order is the user's and counts.
        stays: a container that says something although it holds nothing.
    """

    name: str
    kind: str = ""
    keys: tuple[str, ...] = ()
    is_leaf_list: bool = False
    in_turn: bool = False
    stays: bool = False
    children: Mapping[str, Statement] = field(default_factory=dict)

    def child(self, name: str) -> Statement | None:
        if self.kind == "any":
            return _ANYTHING
        if name in self.keys:
            return Statement(name, "text")
        if name in _ADVANCED and not self.kind:
            return Statement(name, "text", is_leaf_list=True, in_turn=True)
        return self.children.get(name)

    def place(self, name: str) -> int:
        """Where a child is printed among its siblings."""
        order = [*self.keys, *_ADVANCED, *self.children]
        return order.index(name) if name in order else len(order)

    def complaint(self, value: str) -> str:
        """Why a leaf does not take a value; empty where it does."""
        kind, _, of = self.kind.partition(" ")
        return _CHECKS[kind](value, of)


_ANYTHING = Statement("", "any")


@cache
def statements() -> Statement:
    """The root, `configuration`."""
    table = yaml.safe_load((Path(__file__).parent / "statements.yml").read_text(encoding="utf-8"))
    parts = {name[1:]: inside for name, inside in table.items() if name.startswith("+")}
    return Statement("configuration", children=dict(_children(table, parts)))


def paths(statement: Statement, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Statement]]:
    """Every statement of the table, with its path."""
    for name, child in statement.children.items():
        yield (*path, name), child
        yield from paths(child, (*path, name))


def _children(table: Mapping[str, Any], parts: Mapping[str, Any]) -> Iterator[tuple[str, Statement]]:
    for written, inside in table.items():
        if written == "+parts":
            for part in inside:
                yield from _children(parts[part], parts)
        elif not written.startswith("+"):
            yield _statement(written, inside, parts)


def _statement(written: str, inside: Any, parts: Mapping[str, Any]) -> tuple[str, Statement]:
    match = _NAME.match(written)
    assert match is not None, f"statements.yml: {written}"
    name, is_list = match["name"], bool(match["listed"])
    is_leaf = isinstance(inside, str)
    return name, Statement(
        name,
        inside if is_leaf else "",
        tuple((match["keys"] or "name").split()) if is_list else (),
        bool(match["leaf_list"]),
        match["own"] == "+" or bool(match["leaf_list"]),
        match["own"] == "!",
        {} if is_leaf else dict(_children(inside, parts)),
    )


def amount(value: str) -> int | None:
    """A rate or a size with k, m or g, which are decimal; None for no such thing."""
    match = _RATE.match(value)
    return int(float(match[1]) * _UNITS[match[2]]) if match else None


def _rate(value: str, of: str) -> str:
    low, high = map(int, of.split("-"))
    number = amount(value)
    if number is None:
        return f"invalid numeric value: '{value}'"
    return "" if low <= number <= high else f"value {value} is not within range ({low}..{high})"


def _number(value: str, of: str) -> str:
    return _rate(value, of) if value.isdecimal() else f"invalid numeric value: '{value}'"


def _prefix(value: str, of: str) -> str:
    try:
        ipaddress.ip_interface(value)
    except ValueError:
        return f"invalid prefix: '{value}'"
    return ""


def _numbers_or(names: frozenset[str], most: int, what: str) -> Callable[[str, str], str]:
    def check(value: str, of: str) -> str:
        fits = value in names or (value.isdecimal() and int(value) <= most)
        return "" if fits else f"invalid {what}: '{value}'"

    return check


def _port(value: str, of: str) -> str:
    ends = value.split("-")
    fits = len(ends) <= 2 and all(one.isdecimal() and int(one) <= 65535 for one in ends)
    return "" if fits or re.fullmatch(r"[a-z][a-z0-9-]*", value) else f"invalid port: '{value}'"


_CHECKS: dict[str, Callable[[str, str], str]] = {
    "any": lambda value, of: "",
    "text": lambda value, of: "",
    "empty": lambda value, of: f"syntax error: '{value}'" if value else "",
    "name": lambda value, of: "" if 0 < len(value) <= 64 else f"invalid name: '{value}'",
    "rate": _rate,
    "number": _number,
    "enum": lambda value, of: "" if value in of.split() else f"invalid value '{value}'",
    "prefix": _prefix,
    "port": _port,
    "protocol": _numbers_or(_PROTOCOLS, 255, "protocol"),
    "dscp": _numbers_or(_DSCP_NAMES, 63, "code point"),
    "bits": lambda value, of: (
        "" if re.fullmatch(r"[01]{6}", value) or value in _DSCP_NAMES else f"invalid bits: '{value}'"
    ),
}
