"""Whether an operator's access list takes packets of a reserved flow.

What an object group holds is not looked into: an entry with one may match, or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from ipaddress import AddressValueError, IPv4Address

from slotcar.platforms.ios.objects import Entry
from slotcar.platforms.ios.words import PORTS, PROTOCOLS

_ALL_BITS = 0xFFFF_FFFF
_MOST = 65_535
_GROUP = "object-group"


class Taking(Enum):
    """Whether a list permits some packets of a flow."""

    NO = "no"
    PERHAPS = "perhaps"
    YES = "yes"


@dataclass(frozen=True, slots=True)
class _Reach:
    """Of a flow's packets: none, some or all match."""

    some: bool
    every: bool


def takes_some(entries: Iterable[str], flow: Entry) -> Taking:
    """Whether a list of these entries, `permit tcp any any eq 5001`, permits some packets of the flow.

    What stands in an entry beside addresses and ports (`established`, `dscp ef`) leaves it some of the packets.
    """
    permitted_perhaps = denied_perhaps = False
    for line in entries:
        action, *words = line.split()
        sure, possible = (_reach(words, flow, in_group=one) for one in (False, True))
        if action == "permit":
            if sure.some:
                return Taking.PERHAPS if denied_perhaps else Taking.YES
            permitted_perhaps |= possible.some
        elif action == "deny":
            if sure.every:
                break
            denied_perhaps |= possible.every
    return Taking.PERHAPS if permitted_perhaps else Taking.NO


def _reach(words: list[str], flow: Entry, *, in_group: bool) -> _Reach:
    """`in_group`: whether the packets are among those of each object group."""
    rest = iter(words)
    first = next(rest, "")
    protocol = PROTOCOLS.get(first, first)
    if _is_standard(first):
        return _standard(words, flow)
    if first == _GROUP:  # of services: protocols with their ports
        if not in_group:
            return _Reach(some=False, every=False)
        protocol = next(rest, "")
    elif protocol not in ("ip", flow.protocol):
        return _Reach(some=False, every=False)
    remaining = list(rest)
    ends = ((flow.source, flow.source_port), (flow.destination, flow.destination_port))
    some = every = True
    for address, port in ends:
        matched, remaining = _address(remaining, address, in_group=in_group)
        ports, remaining = _ports(remaining, protocol)
        reach = _of_port(ports, port)
        some, every = some and matched and reach.some, every and matched and reach.every
    plain = not [word for word in remaining if word not in ("log", "log-input")]
    return _Reach(some, some and every and plain)


def _is_standard(word: str) -> bool:
    """Whether an entry that begins so is of a standard list, which names the source alone."""
    return word in ("any", "host") or word.count(".") == 3


def _standard(words: list[str], flow: Entry) -> _Reach:
    matched, _ = _address(words, flow.source, in_group=False)
    return _Reach(matched, matched)


def _address(words: list[str], address: str, *, in_group: bool) -> tuple[bool, list[str]]:
    """Whether `any`, `host A`, `A WILDCARD` or a group has the address; and the words behind it."""
    match words:
        case ["object-group" | "addrgroup", _, *rest]:
            return in_group, rest
        case ["any", *rest]:
            return True, rest
        case ["host", one, *rest]:
            return one == address, rest
        case [network, wildcard, *rest] if wildcard.count(".") == 3:
            return _has(network, wildcard, address), rest
        case [one, *rest]:
            return one == address, rest
    return False, []


def _has(network: str, wildcard: str, address: str) -> bool:
    try:
        base, free, ours = (int(IPv4Address(one)) for one in (network, wildcard, address))
    except AddressValueError:
        return True
    return (base ^ ours) & ~free & _ALL_BITS == 0


def _ports(words: list[str], protocol: str) -> tuple[list[tuple[int, int]] | None, list[str]]:
    """The ports that `eq 80 443`, `range 1 9`, `gt 1023`, `lt 9` or `neq 9` name, None for all; and the words behind."""
    match words:
        case ["eq", *rest]:
            ports = list(_leading_ports(rest, protocol))
            return [(port, port) for port in ports], rest[len(ports) :]
        case ["range", first, last, *rest]:
            low, high = _port(first, protocol), _port(last, protocol)
            return (None if low is None or high is None else [(low, high)]), rest
        case ["gt" | "lt" | "neq" as how, one, *rest]:
            port = _port(one, protocol)
            if port is None:
                return None, rest
            spans = {"gt": [(port + 1, _MOST)], "lt": [(0, port - 1)], "neq": [(0, port - 1), (port + 1, _MOST)]}
            return spans[how], rest
    return None, words


def _leading_ports(words: list[str], protocol: str) -> Iterator[int]:
    for word in words:
        port = _port(word, protocol)
        if port is None:
            return
        yield port


def _port(word: str, protocol: str) -> int | None:
    return int(word) if word.isdecimal() else PORTS.get(protocol, {}).get(word)


def _of_port(spans: list[tuple[int, int]] | None, port: int | None) -> _Reach:
    """Of a flow whose port is not bound, some of the packets may have one of the ports."""
    if spans is None:
        return _Reach(some=True, every=True)
    if port is None:
        return _Reach(some=bool(spans), every=False)
    inside = any(low <= port <= high for low, high in spans)
    return _Reach(inside, inside)
