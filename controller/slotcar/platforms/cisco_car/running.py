"""What is Slotcar's in a running configuration: its ACL numbers, the CAR lines that use them, ToS weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from slotcar.network.model import Device
from slotcar.platforms.cisco_car.build import physical
from slotcar.platforms.cisco_car.facts import PRECEDENCE_ACLS, CarOptions
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.objects import AccessList, Entry, Interface, RateLimit, RateLimitList, TosWeight
from slotcar.platforms.ios.reading import entry
from slotcar.platforms.ios.tree import Node
from slotcar.platforms.options import options_of

_RATE_LIST = re.compile(r"^access-list rate-limit (\d+) (\d+)$")
_RATE_LIMIT = re.compile(
    r"^rate-limit (input|output) access-group (rate-limit )?(\d+) (\d+) (\d+) (\d+) conform-action (.+) exceed-action (.+)$"
)
_WEIGHT = re.compile(r"^fair-queue tos ([1-3]) weight (\d+)$")
#: Other ways to serve an interface's output, which exclude ToS-based WFQ (IOS, "Distributed WFQ", Restrictions).
_OTHER_QUEUEING = re.compile(
    r"^(fair-queue|fair-queue \d.*|fair-queue qos-group.*|priority-group .*|custom-queue-list .*"
    r"|service-policy output .*)$"
)
#: What IOS gives the ToS classes before it is told otherwise (IOS, "fair-queue weight"), and may leave out.
DEFAULT_WEIGHTS = {1: 20, 2: 30, 3: 40}


def owned_in(nodes: Iterable[Node], device: Device) -> tuple[Ios, tuple[str, ...]]:
    """Slotcar's objects, and in words what of others' stands beside them."""
    options = options_of(device, CarOptions)
    first = options.first_precedence_acl
    precedences = range(first, first + PRECEDENCE_ACLS)
    queued = {physical(name) for name in device.interfaces}
    owned, foreign = Ios(), list[str]()
    entries: dict[str, list[Entry]] = {}
    for node in nodes:
        words = node.words
        if words[0] == "interface":
            lines = [child.line for child in node.children]
            weights, others = _weights(words[1], lines) if words[1] in queued else ((), [])
            limits, strangers = _rate_limits(words[1], lines, options.flow_acls, precedences)
            foreign += others + strangers
            if limits or weights:
                owned.interfaces[words[1]] = Interface(words[1], rate_limits=limits, tos_weights=weights)
        elif (
            words[0] == "access-list" and len(words) > 2 and words[1].isdigit() and int(words[1]) in options.flow_acls
        ):
            entries.setdefault(words[1], []).append(entry(" ".join(words[2:])))
        elif (match := _RATE_LIST.match(node.line)) and int(match[1]) in precedences:
            owned.rate_limit_lists[int(match[1])] = RateLimitList(int(match[1]), int(match[2]))
    owned.lists.update({name: AccessList(name, tuple(lines)) for name, lines in entries.items()})
    return owned, tuple(foreign)


def _rate_limits(
    name: str, lines: Sequence[str], flows: range, precedences: range
) -> tuple[tuple[RateLimit, ...], list[str]]:
    """CAR lines that use a list of Slotcar's, and notes of the others."""
    limits, strangers = [], []
    for line in lines:
        if (match := _RATE_LIMIT.match(line)) is None:
            continue
        way, by_precedence, acl, *numbers, conform, exceed = match.groups()
        if int(acl) in (precedences if by_precedence else flows):
            rate, burst, excess = map(int, numbers)
            limits.append(RateLimit(int(acl), bool(by_precedence), rate, burst, excess, conform, exceed, way))
        else:
            strangers.append(f"{name}: {line}")
    return tuple(limits), strangers


def _weights(name: str, lines: Sequence[str]) -> tuple[tuple[TosWeight, ...], list[str]]:
    """The weights of ToS-based WFQ, all of them where it is on, and notes of another queueing."""
    others = [f"{name}: the queueing `{line}`" for line in lines if _OTHER_QUEUEING.match(line)]
    if "fair-queue tos" not in lines:
        return (), others
    weights = DEFAULT_WEIGHTS | {int(match[1]): int(match[2]) for line in lines if (match := _WEIGHT.match(line))}
    return tuple(TosWeight(*one) for one in sorted(weights.items())), others
