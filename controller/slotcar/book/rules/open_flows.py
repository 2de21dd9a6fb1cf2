"""Flows that are open at one instant, found by the packets that they have in common with another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from slotcar.base.flow_match import FlowMatch

#: Stands for every port, of flows that name one and of those that match any.
_EVERY = -1
#: Pair of addresses and protocol, source port, destination port.
_Key = tuple[str, int | None, int | None]


class OpenFlows:
    """Flows by number, each with its owner. To open, to close and to ask takes the same time however many are open."""

    def __init__(self) -> None:
        #: Each flow under its two ports, under either one of them, and under its pair alone.
        self._numbers: dict[_Key, dict[str, dict[int, None]]] = {}

    def open(self, match: FlowMatch, owner: str, number: int) -> None:
        for key in _kept_under(match):
            self._numbers.setdefault(key, {}).setdefault(owner, {})[number] = None

    def close(self, match: FlowMatch, owner: str, number: int) -> None:
        """Takes it away, where it is open."""
        for key in _kept_under(match):
            owners = self._numbers.get(key, {})
            numbers = owners.get(owner, {})
            numbers.pop(number, None)
            if not numbers:
                owners.pop(owner, None)
            if not owners:
                self._numbers.pop(key, None)

    def other_than(self, match: FlowMatch, owner: str) -> int | None:
        """The number of an open flow of another owner that has packets of this one; None where there is none."""
        for key in _looked_for(match):
            for other, numbers in self._numbers.get(key, {}).items():
                if other != owner:
                    return next(iter(numbers))
        return None


def _kept_under(match: FlowMatch) -> Iterator[_Key]:
    ports = product((match.source_port, _EVERY), (match.destination_port, _EVERY))
    return ((match.pair, source, destination) for source, destination in ports)


def _looked_for(match: FlowMatch) -> Iterator[_Key]:
    """A port meets itself and flows of any port; who matches any port meets all."""
    ports = ((port, None) if port is not None else (_EVERY,) for port in (match.source_port, match.destination_port))
    return ((match.pair, source, destination) for source, destination in product(*ports))
