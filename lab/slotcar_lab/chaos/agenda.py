"""What is to happen at which instant: a round's actions, the ends of faults, and starts of controllers. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


class Entry(NamedTuple):
    """At `at` (s since the epoch). `number`: of two for one instant, what was put down first happens first."""

    at: float
    number: int
    do: Callable[[], None]


@dataclass(slots=True)
class Agenda:
    """Entries by their instants."""

    _entries: list[Entry] = field(default_factory=list)
    _count: int = 0

    def put(self, at: float, do: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._entries, Entry(at, self._count, do))

    @property
    def next_at(self) -> float | None:
        """The instant of the next entry; None where there is none."""
        return self._entries[0].at if self._entries else None

    def take(self, until: float) -> Callable[[], None] | None:
        """The next entry that is for an instant until then, which is on the agenda no more."""
        if not self._entries or self._entries[0].at > until:
            return None
        return heapq.heappop(self._entries).do

    def clear(self) -> None:
        self._entries.clear()
