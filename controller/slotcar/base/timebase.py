"""Time: aware UTC, half-open windows `[start, end)`, integer microseconds inside the arithmetic."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A time as RFC 3339 writes it, with its zone.
RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_WRITTEN_BY_ISO = re.compile(r"(?<![\w.:+-])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z(?!\w)", re.ASCII)
MICROSECOND = timedelta(microseconds=1)
#: A clock that is disciplined (NTP) moves by less between two looks; one that was set, by more.
CLOCK_SET = timedelta(seconds=1)
#: Two clocks that are read within this time are read at once; so often it is tried.
_QUICK_S, _MOST_LOOKS = 0.01, 10
#: So often, in seconds, it is looked up from a sleep: a stop is heard, and a clock that was set is seen.
NAP_S = 0.5


def to_us(moment: datetime) -> int:
    """Microseconds since the epoch, exactly (no float on the way).

    Raises:
        ValueError: the moment has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    return (moment - EPOCH) // MICROSECOND


def from_us(moment_us: int) -> datetime:
    """The aware UTC moment of a count of microseconds since the epoch."""
    return EPOCH + moment_us * MICROSECOND


def iso(moment: datetime) -> str:
    """RFC 3339 in UTC with a `Z`; fractions only where there are some."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def with_instants(text: str, words: Callable[[datetime], str]) -> str:
    """A text in which each instant that `iso` wrote stands in other words, such as those of a zone."""

    def shown(match: re.Match[str]) -> str:
        try:
            return words(datetime.fromisoformat(match[0]))
        except (ValueError, OverflowError):  # it only looks like one, or the zone's calendar ends before it
            return match[0]

    return _WRITTEN_BY_ISO.sub(shown, text)


# docs/design.md rule 2.
@dataclass(frozen=True, slots=True, order=True)
class Window:
    """A half-open window `[start, end)` in UTC: two windows that touch do not overlap."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError("a window's times need a time zone")
        try:
            start, end = self.start.astimezone(UTC), self.end.astimezone(UTC)
        except OverflowError:
            raise ValueError("a window's times lie beyond the calendar") from None
        if start >= end:
            raise ValueError(f"a window must end after it starts: {iso(start)} .. {iso(end)}")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)

    @classmethod
    def of_us(cls, start_us: int, end_us: int) -> Window:
        return cls(from_us(start_us), from_us(end_us))

    @property
    def start_us(self) -> int:
        return to_us(self.start)

    @property
    def end_us(self) -> int:
        return to_us(self.end)

    @property
    def duration(self) -> timedelta:
        return self.end - self.start

    def contains(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def overlaps(self, other: Window) -> bool:
        return self.start < other.end and other.start < self.end

    def __iter__(self) -> Iterator[datetime]:
        yield self.start
        yield self.end

    def __str__(self) -> str:
        return f"{iso(self.start)} .. {iso(self.end)}"


def clock_offset(clock: Callable[[], datetime], monotonic: Callable[[], float] = time.monotonic) -> timedelta:
    """How long after the epoch the monotonic clock would be zero, by the quickest of some looks at both: a process may
    stand still between the two.
    """
    looks = []
    for _ in range(_MOST_LOOKS):
        before_s, wall = monotonic(), clock()
        looks.append((monotonic() - before_s, (wall - EPOCH) - timedelta(seconds=before_s)))
        if looks[-1][0] < _QUICK_S:
            break
    return min(looks)[1]


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks that a controller goes by: one object, which `slotcar.wiring` passes to all that ask for the time or wait
    for it. How long a login, a database, a process or a connection may take is counted by this machine's own clock.

    Attributes:
        now: the present instant, aware UTC.
        monotonic: seconds that nobody sets.
        idle: for a clock that does not run by itself: what `idling` gives. It learns there that it may.
        read_by_plays: whether Ansible's processes read the same clock. Else a controller tells each of its plays.
    """

    now: Callable[[], datetime] = _utc_now
    monotonic: Callable[[], float] = time.monotonic
    idle: Callable[[float], AbstractContextManager[Iterator[float]]] | None = None
    read_by_plays: bool = False

    def offset(self) -> timedelta | None:
        """What a play gets: `clock_offset`, or None where it reads the clock itself."""
        return None if self.read_by_plays else clock_offset(self.now, self.monotonic)

    def idling(self, until_s: float) -> AbstractContextManager[Iterator[float]]:
        """A thread is in it while it has nothing to do until an instant (seconds of `monotonic`), unless something happens:
        how long it may wait, in seconds of this machine, each time after it looked whether something did. After the instant
        it looks once more.
        """
        return nullcontext(self._naps(until_s)) if self.idle is None else self.idle(until_s)

    def _naps(self, until_s: float) -> Iterator[float]:
        left_s = NAP_S
        while left_s > 0:
            left_s = until_s - self.monotonic()
            yield max(0.0, min(left_s, NAP_S))


#: This machine's.
SYSTEM = Clocks()


@dataclass(slots=True)
class ClockWatch:
    """Notices that the wall clock was set: it has moved otherwise than the clock that only counts seconds.

    Attributes:
        clock: the present instant, aware UTC. monotonic: seconds since some moment; nobody sets it.
    """

    clock: Callable[[], datetime]
    monotonic: Callable[[], float] = time.monotonic
    _offset: timedelta | None = field(default=None)

    def set_by(self) -> timedelta:
        """How far the clock was set since `accept`: ahead, or back (below zero); zero where it was not set.

        What it moved by less than `CLOCK_SET` since the last call is followed, and never told.
        """
        offset = clock_offset(self.clock, self.monotonic)
        if self._offset is None or abs(offset - self._offset) < CLOCK_SET:
            self._offset = offset
        return offset - self._offset

    def accept(self) -> None:
        """The present time is the one to go by."""
        self._offset = clock_offset(self.clock, self.monotonic)
