"""What is Slotcar's in a running configuration: lists with its remark, and nameless lines that `SLOTCAR-OWNS` tells of.

An operator may use the same numbers. So a numbered list is Slotcar's where its remark begins with `slotcar `. CAR's own
lists take no remark, and neither do the weights of ToS-based WFQ: they are Slotcar's where `SLOTCAR-OWNS` says so. A
`rate-limit` is Slotcar's where its list is. A router that an older Slotcar manages has no `SLOTCAR-OWNS`: it is known by
all of CAR's lists together, each with the number and the precedence that Slotcar gives, and in use (ADR 58).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from slotcar.network.model import Device
from slotcar.platforms.cisco_car.build import OWNS_PRECEDENCES, physical, precedence_lists
from slotcar.platforms.cisco_car.facts import PRECEDENCE_ACLS, CarOptions
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.objects import AccessList, Entry, Interface, RateLimit, RateLimitList, TosWeight
from slotcar.platforms.ios.owned_places import OWNS, owns_list, places_in
from slotcar.platforms.ios.rate_limits import others_limit
from slotcar.platforms.ios.reading import MARK, entry
from slotcar.platforms.ios.reading import owned_in as named_objects_in
from slotcar.platforms.ios.tree import Node
from slotcar.platforms.options import options_of

_RATE_LIST = re.compile(r"^access-list rate-limit (\d+) (.+)$")
_RATE_LIMIT = re.compile(
    r"^rate-limit (input|output) access-group (rate-limit )?(\d+) (\d+) (\d+) (\d+) conform-action (.+) exceed-action (.+)$"
)
_WEIGHT = re.compile(r"^fair-queue tos ([1-3]) weight (\d+)$")
#: Other ways to serve an interface's output, which exclude ToS-based WFQ (IOS, "Distributed WFQ", Restrictions).
_OTHER_QUEUEING = re.compile(
    r"^(fair-queue|fair-queue \d.*|fair-queue qos-group.*|priority-group .*|custom-queue-list .*"
    r"|service-policy output .*|traffic-shape .*)$"
)
#: ToS-based WFQ itself; what follows may say limits, which Slotcar leaves alone.
WEIGHTED = "fair-queue tos"
#: What IOS gives the ToS classes before it is told otherwise (IOS, "fair-queue weight"), and may leave out.
DEFAULT_WEIGHTS = {1: 20, 2: 30, 3: 40}


@dataclass(frozen=True, slots=True)
class _Lists:
    """The lists of the device that have numbers of Slotcar's ranges: CAR's own with their precedences, and flows' lists."""

    precedences: dict[int, str]
    flows: dict[int, AccessList]


@dataclass(frozen=True, slots=True)
class _Used:
    """Numbers of lists: a `rate-limit` with one of them is Slotcar's, also where somebody took the list away."""

    flows: Collection[int]
    precedences: Collection[int]


def owned_in(nodes: Sequence[Node], device: Device, *, all_ours: bool = False) -> tuple[Ios, tuple[str, ...]]:
    """Slotcar's objects, and in words what of others' stands beside them.

    Args:
        all_ours: the lines are Slotcar's own, as it archived them.
    """
    options = options_of(device, CarOptions)
    queued = {physical(name) for name in device.interfaces}
    named, lists = named_objects_in(nodes), _lists(nodes, options)
    places = places_in(named)
    unmarked = all_ours or (OWNS not in named.lists and _is_an_older_slotcars(nodes, lists, options, queued))
    flows = {n: one for n, one in lists.flows.items() if _is_marked(one) or (unmarked and _is_of_one_flow(one))}
    not_ours = lists.flows.keys() - flows.keys()
    owned, foreign = Ios(lists={str(number): one for number, one in flows.items()}), list[str]()
    owned.lists.update({OWNS: owns_list(places)} if OWNS in named.lists else {})
    foreign += [f"access-list {number}" for number in sorted(not_ours)]
    first, precedences = options.first_precedence_acl, range(0)
    if unmarked or OWNS_PRECEDENCES in places:
        precedences = range(first, first + PRECEDENCE_ACLS)
        numbers = {number: int(word) for number, word in lists.precedences.items() if word.isdecimal()}
        owned.rate_limit_lists.update({number: RateLimitList(number, one) for number, one in numbers.items()})
    else:
        foreign += [f"{OWNS_PRECEDENCES} {number}" for number in lists.precedences]
    used = _Used({*options.flow_acls} - not_ours if unmarked or places else flows.keys(), precedences)
    for node in nodes:
        if node.words[0] == "interface":
            name, lines = node.words[1], [child.line for child in node.children]
            weights, others = _weights(name, lines, unmarked or name in places) if name in queued else ((), [])
            limits, strangers = _rate_limits(name, lines, used)
            foreign += others + strangers
            foreign += _beside(name, lines, used, nodes) if name in device.interfaces else []
            if limits or weights:
                owned.interfaces[name] = Interface(name, rate_limits=limits, tos_weights=weights)
    return owned, tuple(foreign)


def _lists(nodes: Iterable[Node], options: CarOptions) -> _Lists:
    precedences: dict[int, str] = {}
    entries: dict[int, list[Entry]] = {}
    first = options.first_precedence_acl
    for node in nodes:
        words = node.words
        if match := _RATE_LIST.match(node.line):
            if first <= int(match[1]) < first + PRECEDENCE_ACLS:
                precedences[int(match[1])] = match[2]
        elif (
            words[0] == "access-list"
            and len(words) > 2
            and words[1].isdecimal()
            and int(words[1]) in options.flow_acls
        ):
            entries.setdefault(int(words[1]), []).append(entry(" ".join(words[2:])))
    return _Lists(precedences, {number: AccessList(str(number), tuple(some)) for number, some in entries.items()})


def _is_marked(one: AccessList) -> bool:
    return any(entry.remark.startswith(MARK) for entry in one.entries)


def _is_of_one_flow(one: AccessList) -> bool:
    return len([entry for entry in one.entries if not entry.remark]) == 1 and len(one.permits) == 1


def _is_an_older_slotcars(nodes: Iterable[Node], lists: _Lists, options: CarOptions, queued: Iterable[str]) -> bool:
    """Whether all of CAR's lists are there as Slotcar writes them, and no other in their range, and they are in use."""
    known = precedence_lists(options.first_precedence_acl)
    if lists.precedences != {number: str(one.precedence) for number, one in known.items()}:
        return False
    uses = [f" access-group rate-limit {number} " for number in known]
    for node in nodes:
        if node.words[0] == "interface":
            lines = [child.line for child in node.children]
            weighted = node.words[1] in queued and WEIGHTED in lines
            if weighted or any(use in line for use in uses for line in lines):
                return True
    return False


def _rate_limits(name: str, lines: Sequence[str], used: _Used) -> tuple[tuple[RateLimit, ...], list[str]]:
    """CAR lines that use a list of Slotcar's, and notes of the others."""
    limits, strangers = [], []
    for line in lines:
        if (match := _RATE_LIMIT.match(line)) is None:
            continue
        way, by_precedence, acl, *numbers, conform, exceed = match.groups()
        if int(acl) in (used.precedences if by_precedence else used.flows):
            rate, burst, excess = map(int, numbers)
            limits.append(RateLimit(int(acl), bool(by_precedence), rate, burst, excess, conform, exceed, way))
        else:
            strangers.append(f"{name}: {line}")
    return tuple(limits), strangers


def _beside(name: str, lines: Sequence[str], used: _Used, nodes: Sequence[Node]) -> Iterator[str]:
    """Notes of others' lines, each with how many of Slotcar's are asked before it: CAR stops at the first line that
    matches, unless its action says `continue`. And of a policy, which marks and polices beside CAR."""
    ours = dict.fromkeys(("input", "output"), 0)
    for line in lines:
        mine = _RATE_LIMIT.match(line)
        if mine and int(mine[3]) in (used.precedences if mine[2] else used.flows):
            ours[mine[1]] += 1
        elif limit := others_limit(name, line, nodes):
            yield replace(limit, ours=ours[limit.way]).note
        elif line.startswith("service-policy input "):
            yield f"{name}: the policy `{line}`"


def _weights(name: str, lines: Sequence[str], ours: bool) -> tuple[tuple[TosWeight, ...], list[str]]:
    """The weights of ToS-based WFQ where it is Slotcar's, and notes of another queueing."""
    others = [f"{name}: the queueing `{line}`" for line in lines if _OTHER_QUEUEING.match(line)]
    if WEIGHTED not in lines:
        return (), others
    if not ours:
        return (), [*others, f"{name}: the queueing `{WEIGHTED}`"]
    weights = DEFAULT_WEIGHTS | {int(match[1]): int(match[2]) for line in lines if (match := _WEIGHT.match(line))}
    return tuple(TosWeight(*one) for one in sorted(weights.items())), others
