"""Operators' `rate-limit` lines (CAR): whose packets they take, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.list_matching import Taking, takes_some
from slotcar.platforms.ios.objects import Entry, Interface
from slotcar.platforms.ios.tree import Node
from slotcar.platforms.model import Unrenderable

_LINE = re.compile(
    r"^rate-limit (?P<way>input|output) (?:(?P<by>access-group rate-limit|access-group|dscp|qos-group) (?P<number>\d+) )?"
    r"\d+ \d+ \d+ conform-action (?P<conform>.+) exceed-action (?P<exceed>.+)$"
)
#: An entry that every packet matches: of an extended list, and of a standard one.
_EVERYTHING = re.compile(r"\bpermit (?:ip any any|any)(?: log| log-input)?$")
_LIST = re.compile(r"^(?:access-list|ip access-list (?:standard|extended)) (\d+)\b")
#: Not a remark, which may hold the same words.
_ENTRY = re.compile(r"^(?:access-list \d+ |\d+ )?((?:permit|deny) .*)$")
_NOTE = re.compile(
    r"^(?P<name>\S+): the rate-limit `(?P<line>[^`]+)` behind (?P<ours>\d+) of Slotcar's takes (?P<what>.+)$"
)
_ANY = "any packet"
#: What may be done about a line, as far as it may be left where it is.
LET_GO = "name an access list in it that leaves reserved flows out"


@dataclass(frozen=True, slots=True)
class OthersLimit:
    """A `rate-limit` of an operator's.

    Attributes:
        ours: how many of Slotcar's lines of that way are asked before it.
        entries: of the list that says whose packets it takes; None where any packet may match.
    """

    name: str
    line: str
    ours: int = 0
    entries: tuple[str, ...] | None = None

    @property
    def way(self) -> str:
        return self.line.split()[1]

    @property
    def note(self) -> str:
        what = _ANY if self.entries is None else "; ".join(f"`{one}`" for one in self.entries) or "nothing"
        return f"{self.name}: the rate-limit `{self.line}` behind {self.ours} of Slotcar's takes {what}"

    def takes_of(self, flow: Entry) -> Taking:
        return Taking.YES if self.entries is None else takes_some(self.entries, flow)

    def takes_some_of(self, flow: Entry) -> bool:
        return self.takes_of(flow) is Taking.YES

    def may_take_of(self, flows: Iterable[Entry]) -> bool:
        """Whether it takes nothing of these for certain, but may."""
        return Taking.PERHAPS in (takings := {self.takes_of(flow) for flow in flows}) and Taking.YES not in takings


def others_limit(name: str, line: str, nodes: Sequence[Node]) -> OthersLimit | None:
    """What a line of an interface says; None where it is no `rate-limit`."""
    match = _LINE.match(line)
    return OthersLimit(name, line, entries=_entries(match, nodes)) if match else None


def goes_on(line: str) -> bool:
    """Whether every packet goes on to the next line."""
    match = _LINE.match(line)
    return match is not None and all(
        match[action].partition(" ")[0].endswith("continue") for action in ("conform", "exceed")
    )


def changes_nothing(line: str) -> bool:
    """Whether it drops nothing and marks nothing: it counts."""
    match = _LINE.match(line)
    return match is not None and {match["conform"], match["exceed"]} <= {"transmit", "continue"}


def limits_noted(foreign: Iterable[str]) -> Iterator[OthersLimit]:
    """The lines that notes tell of."""
    for note in foreign:
        if match := _NOTE.match(note):
            what = match["what"]
            entries = None if what == _ANY else tuple(re.findall(r"`([^`]+)`", what))
            yield OthersLimit(match["name"], match["line"], int(match["ours"]), entries)


def _entries(match: re.Match[str], nodes: Sequence[Node]) -> tuple[str, ...] | None:
    """A DSCP or a QoS group is not the flow's to choose; a list that is not there permits everything."""
    by, number = match["by"], match["number"]
    if by in (None, "dscp", "qos-group"):
        return None
    if by == "access-group rate-limit":
        return () if any(node.line.startswith(f"access-list rate-limit {number} ") for node in nodes) else None
    lists = [node for node in nodes if (head := _LIST.match(node.line)) and head[1] == number]
    lines = [line for node in lists for line in (node.line, *(child.line for child in node.children))]
    entries = tuple(entry[1] for line in lines if (entry := _ENTRY.match(line)))
    return None if not lists or any(map(_EVERYTHING.search, entries)) else entries


# -- beside policies of the modular command line -----------------------------------------------------------------------


def limits_beside(nodes: Sequence[Node], interfaces: Iterable[str]) -> list[str]:
    """Notes of lines on interfaces whose packets Slotcar's policies have, too."""
    names = set(interfaces)
    return [
        limit.note
        for node in nodes
        if node.words[0] == "interface" and node.words[1] in names
        for child in node.children
        if (limit := others_limit(node.words[1], child.line, nodes)) and not changes_nothing(child.line)
    ]


def check_limits(device: str, foreign: Iterable[str], after: Ios) -> None:
    """
    Raises:
        Unrenderable: an operator's line drops or marks packets of a reserved flow where it enters, or any that leave.
    """
    for limit in limits_noted(foreign):
        one = after.interfaces.get(limit.name)
        if one is None or not (
            one.input_policy if limit.way == "input" else one.output_policy or one.tx_cos or one.wrr
        ):
            continue
        flows = _flows_of(one.input_policy, after) if limit.way == "input" else ()
        if limit.entries is None or any(limit.takes_some_of(flow) for flow in flows):
            raise Unrenderable(
                f"{device} {limit.name}: `{limit.line}` drops or marks packets that Slotcar's policy there serves;"
                f" {LET_GO}, or leave this interface out of the inventory"
            )


def doubtful_limits(device: str, foreign: Iterable[str], after: Ios) -> Iterator[str]:
    """Lines on the way out with a list: which flows leave there, no configuration says. And on the way in those with an
    object group, which is not looked into."""
    for limit in limits_noted(foreign):
        one = after.interfaces.get(limit.name, Interface(limit.name))
        lets_go = bool(one.rate_limits) and goes_on(limit.line)  # Slotcar's lines are asked, too
        if limit.way == "input" and not lets_go and limit.may_take_of(_flows_entering(one, after)):
            yield (
                f"{device} {limit.name}: `{limit.line}` may drop or mark packets of reserved flows that enter there: those"
                f" of the object groups in its list ({', '.join(limit.entries or ())})"
            )
        if limit.way == "output" and limit.entries and limit.name in after.interfaces:
            yield (
                f"{device} {limit.name}: `{limit.line}` may drop or mark packets of reserved flows that leave there: those"
                f" of its list ({', '.join(limit.entries)})"
            )


def _flows_entering(one: Interface, after: Ios) -> Iterator[Entry]:
    """Those that a policy has a class for, and those that `rate-limit` lines of Slotcar's name."""
    yield from _flows_of(one.input_policy, after)
    numbers = (str(limit.acl) for limit in one.rate_limits if limit.way == "input" and not limit.by_precedence)
    yield from flows_in(numbers, after)


def _flows_of(policy: str, after: Ios) -> Iterator[Entry]:
    """The packets of the flows that a policy has a class for."""
    classes = after.policies[policy].classes if policy in after.policies else ()
    for name in (one.name for one in classes):
        matches = after.class_maps[name].matches if name in after.class_maps else ()
        yield from flows_in((match.acl for match in matches), after)


def flows_in(names: Iterable[str], after: Ios) -> Iterator[Entry]:
    """What lists of Slotcar's permit."""
    for name in names:
        if name in after.lists:
            yield from after.lists[name].permits
