"""Operators' filters that are asked before Slotcar's: which packets they take.

The kernel asks filters by preference and stops at the first that matches, whatever its actions do, unless the last of them
says `continue`: also one that only mirrors or counts (`pipe`) ends the search. Seen on Linux 6.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from slotcar.base.texts import BLANKS
from slotcar.platforms.linux_tc.objects import KEY_NAMES, Filter, Tc
from slotcar.platforms.model import Hindrance

_HEAD = re.compile(
    r"^filter protocol (?P<protocol>\S+) pref (?P<preference>\d+) (?P<kind>\S+) (?:chain (?P<chain>\d+) )?"
)
_ACTION = re.compile(r"^\s*action order \d+:")
#: A policer's `exceed/conform`; without a second word what conforms is accepted.
_POLICE = re.compile(r"\bpolice 0x.*\baction (?P<exceed>\w+)(?:/(?P<conform>\w+))?")
_CONTINUE = re.compile(r"\bcontinue\b")
#: u32's own match of anything.
_ANYTHING = re.compile(r"^\s*match 0+/0+ at ")
#: What flower prints beside its keys.
_NO_KEYS = frozenset({"eth_type", "in_hw", "not_in_hw", "skip_hw", "skip_sw", "in_hw_count", "used_hw_stats"})
#: The keys by which a flow's filter of Slotcar's takes its packets.
_OF_FLOWS = frozenset(KEY_NAMES) - {"ip_tos"}
_EVERY, _UNKNOWN = "every packet", "unknown packets"
_NOTE = re.compile(
    rf"^(?P<name>\S+) (?P<hook>\S+): (?P<filter>filter .*?) takes (?P<what>{_EVERY}|{_UNKNOWN}|`(?P<keys>.+)`)$"
)
_ADVICE = "give it a higher preference or let it end with `continue`, or leave this interface out of the inventory"


@dataclass(frozen=True, slots=True)
class OthersFilter:
    """An operator's filter.

    Attributes:
        keys: what flower matches, of each key its value; None where nobody can tell what the filter matches.
    """

    head: str
    keys: Mapping[str, str] | None

    @property
    def preference(self) -> int:
        match = _HEAD.match(self.head)
        return int(match["preference"]) if match else 0

    @property
    def what(self) -> str:
        if self.keys is None:
            return _UNKNOWN
        return f"`{', '.join(f'{key} {value}' for key, value in self.keys.items())}`" if self.keys else _EVERY


def note_of(name: str, hook: str, block: Sequence[str]) -> str:
    """What is noted of a filter: its first line and, where the search may end at it, which packets it takes."""
    head = block[0].strip()
    match = _HEAD.match(head)
    about_ip = match is not None and match["protocol"] in ("all", "ip") and match["chain"] in (None, "0")
    if match is None or not about_ip or _goes_on(block[1:]):
        return f"{name} {hook}: {head}"
    return f"{name} {hook}: {head} takes {OthersFilter(head, _keys(match['kind'], block[1:])).what}"


def _goes_on(lines: Iterable[str]) -> bool:
    """Whether every packet goes on to the next filter: an action of this one says so."""
    for line in (line for line in lines if _ACTION.match(line)):
        police = _POLICE.search(line)
        if police["exceed"] == police["conform"] == "continue" if police else _CONTINUE.search(line):
            return True
    return False


def _keys(kind: str, lines: Sequence[str]) -> dict[str, str] | None:
    head = [line.strip(BLANKS) for line in lines[: _first_action(lines)]]
    if kind == "matchall":
        return {}
    if kind == "u32":
        matches = [line for line in head if line.startswith("match ")]
        return {} if matches and all(map(_ANYTHING.match, matches)) else None
    if kind == "flower":
        pairs = (line.partition(" ")[::2] for line in head if line)
        keys = {key: value.strip(BLANKS) for key, value in pairs if key not in _NO_KEYS}
        masked_ports = any(key.endswith("_port") and "/" in value for key, value in keys.items())
        return None if masked_ports else keys
    return None


def _first_action(lines: Sequence[str]) -> int:
    return next((number for number, line in enumerate(lines) if _ACTION.match(line)), len(lines))


# -- against Slotcar's -------------------------------------------------------------------------------------------------


def hindrances_of(device: str, foreign: Iterable[str], after: Tc) -> Iterator[Hindrance]:
    """What others' filters take from Slotcar's, or may."""
    for note in foreign:
        match = _NOTE.match(note)
        if match is None:
            continue
        other = OthersFilter(match["filter"], _noted_keys(match["what"], match["keys"]))
        place = match["name"], match["hook"]
        ours = [
            one
            for one in after.objects
            if isinstance(one, Filter) and (one.device, one.hook) == place and one.preference > other.preference
        ]
        where = f"{device} {' '.join(place)}: `{other.head}`"
        if any(_takes_it_from(other, one) for one in ours):
            yield Hindrance(f"{where} takes {other.what} before Slotcar's filters are asked; {_ADVICE}")
        elif any(_may_take_from(other, one) for one in ours):
            what = "packets that nobody can tell from here" if other.keys is None else other.what
            yield Hindrance(
                f"{where} may take packets from Slotcar's filters: it is asked first, and takes {what}", False
            )


def _noted_keys(what: str, keys: str | None) -> dict[str, str] | None:
    if what == _UNKNOWN:
        return None
    return dict(one.partition(" ")[::2] for one in keys.split(", ")) if keys else {}


def _takes_it_from(other: OthersFilter, ours: Filter) -> bool:
    """Whether all of the packets of one of Slotcar's are gone; of a reserved flow, some of its ports' are enough."""
    if other.keys is None:
        return False
    wanted = {key.name: key.value for key in ours.keys}
    of_a_flow = "src_ip" in wanted and other.keys.keys() <= _OF_FLOWS
    return _agree(other.keys, wanted) and (of_a_flow or other.keys.keys() <= wanted.keys())


def _may_take_from(other: OthersFilter, ours: Filter) -> bool:
    return other.keys is None or _agree(other.keys, {key.name: key.value for key in ours.keys})


def _agree(some: Mapping[str, str], others: Mapping[str, str]) -> bool:
    """Whether a packet can match both."""
    return all(_values_agree(key, value, others[key]) for key, value in some.items() if key in others)


def _values_agree(key: str, one: str, other: str) -> bool:
    if key.endswith("_ip"):
        return ip_network(one, strict=False).overlaps(ip_network(other, strict=False))
    if key.endswith("_port"):
        (low, high), (first, last) = _span(one), _span(other)
        return low <= last and first <= high
    if key == "ip_tos":
        (bits, mask), (wanted, of_these) = _masked(one), _masked(other)
        return (bits ^ wanted) & mask & of_these == 0
    return one == other


def _span(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def _masked(text: str) -> tuple[int, int]:
    bits, _, mask = text.partition("/")
    return int(bits, 0), int(mask or "0xff", 0)
