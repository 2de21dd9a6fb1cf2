"""Time: aware UTC, half-open windows `[start, end)`, integer microseconds inside the arithmetic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A time as RFC 3339 writes it, with its zone.
RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
MICROSECOND = timedelta(microseconds=1)


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


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """A half-open window `[start, end)` in UTC: two windows that touch do not overlap (DESIGN rule 2)."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError("a window's times need a time zone")
        if self.start >= self.end:
            raise ValueError(f"a window must end after it starts: {iso(self.start)} .. {iso(self.end)}")
        try:
            start, end = self.start.astimezone(UTC), self.end.astimezone(UTC)
        except OverflowError:
            raise ValueError("a window's times lie beyond the calendar") from None
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
