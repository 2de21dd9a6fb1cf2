"""What verbs about costs say as texts, as values; every mistake of a request at once, with its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypeVar

from slotcar.base.model_errors import nearest
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import RFC_3339
from slotcar.base.units import UnitError, parse_duration, parse_size_bytes
from slotcar.measuring.costs.estimates import MILLION
from slotcar.measuring.costs.known_ways import TOLERANCE
from slotcar.network.model import Network

T = TypeVar("T")
_PART = re.compile(r"[01](\.[0-9]{1,6})?|0?\.[0-9]{1,6}")
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)\s*%")
#: Half of the weight on throughput, half on the round trip.
USUAL_ALPHA_PPM = MILLION // 2


@dataclass
class RequestReader:
    """Reads values of one request and notes what is wrong of each.

    Attributes:
        visible: the end systems that the caller may use; others are unknown.
    """

    network: Network
    visible: Collection[str]
    problems: list[Problem] = field(default_factory=list)

    def require_valid(self) -> None:
        """
        Raises:
            InvalidInput: something was wrong.
        """
        if self.problems:
            raise InvalidInput(self.problems)

    def note(self, key: str, message: str, value: str = "", hint: str = "") -> None:
        self.problems.append(Problem("request", 0, key, message, value, hint))

    def value(self, key: str, parse: Callable[[str], T], text: str | None, otherwise: T) -> T:
        try:
            return otherwise if text is None else parse(text)
        except UnitError as error:
            self.note(key, error.message, error.value, error.hint)
            return otherwise

    def volume(self, key: str, text: str) -> int:
        return self.value(key, parse_size_bytes, text, 1)

    def tolerance(self, text: str | None) -> timedelta:
        return self.value("tolerance", parse_duration, text, TOLERANCE)

    def alpha_ppm(self, text: str | None) -> int:
        return self.value("alpha", part_ppm, text, USUAL_ALPHA_PPM)

    def host(self, key: str, name: str, role: str = "") -> str:
        """The name of an end system, of which a program may know the address alone; of a role, where it has any."""
        name = next((one for one in self.visible if str(self.network.hosts[one].address) == name), name)
        host = self.network.hosts.get(name) if name in self.visible else None
        if host is None:
            self.note(key, "is no end system of the inventory", name, nearest(name, sorted(self.visible)))
        elif role and host.roles and role not in host.roles:
            message = f"has not the role `{role}`: the inventory says {' and '.join(host.roles)}"
            self.note(key, message, name, "name another end system, or mend its slotcar_roles")
        return name

    def ends(self, source: str, destination: str) -> tuple[str, str]:
        """Two different end systems."""
        ends = self.host("source", source), self.host("destination", destination)
        if ends[0] == ends[1]:
            self.note("destination", "is the source itself: nothing crosses the network", destination)
        return ends

    def computing(self, names: Iterable[str] | None) -> list[str]:
        """The named ones, or all that have the role."""
        if names is not None:
            return [self.host(f"ces[{number}]", one, "computing") for number, one in enumerate(dict.fromkeys(names))]
        return [name for name in sorted(self.visible) if "computing" in self.network.hosts[name].roles]

    def storage(self, key: str, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.host(f"{key}[{number}]", one, "storage") for number, one in enumerate(dict.fromkeys(names)))

    def volumes(self, key: str, texts: Mapping[str, str]) -> dict[str, int]:
        return {name: self.volume(f"{key}.{name}", text) for name, text in texts.items()}


def part_ppm(text: str) -> int:
    """Parts per million of a number from 0 to 1.

    Raises:
        UnitError.
    """
    if not _PART.fullmatch(text) or Decimal(text) > 1:
        raise UnitError("is no number from 0 to 1", text, "say such as `0.5`")
    return int(Decimal(text) * MILLION)


def loss_ppm(text: str) -> int:
    """Parts per million of a percentage from 0 % to 100 %.

    Raises:
        UnitError.
    """
    match = _PERCENT.fullmatch(text.strip())
    if match is None or Decimal(match[1]) > 100:
        raise UnitError("is no percentage from 0 % to 100 %", text, "say such as `0.1 %`")
    return int(Decimal(match[1]) * 10_000)


def past_instant(now: datetime) -> Callable[[str], datetime]:
    """Reads an instant that is not after `now`."""

    def read(text: str) -> datetime:
        if not RFC_3339.fullmatch(text):
            raise UnitError("is no time with its zone", text, "say such as 2027-03-01T22:00:00Z")
        at = datetime.fromisoformat(text)
        if at > now:
            raise UnitError("is in the future", text, "hand in what was measured once it was")
        return at

    return read
