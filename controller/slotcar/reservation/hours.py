"""Rates by the hours of the day, on the wall clock of a zone: the night keeps its hours when clocks change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from slotcar.base import lengths
from slotcar.base.timebase import Window
from slotcar.base.units import UnitError
from slotcar.reservation.wall_clock import instant_of

DAY_MINUTES = 24 * 60
_TIME_OF_DAY = re.compile(r"([0-9]{1,2}):([0-9]{2})")
#: Of a direction each, bits per second.
Rates = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DailyHours:
    """`[begin, end)` of every day, minutes after midnight; an end that is not after the begin is on the next day."""

    begin_minute: int
    end_minute: int
    rates: Rates

    @property
    def minutes(self) -> tuple[tuple[int, int], ...]:
        """The part of a day that it covers, in one piece or two."""
        if self.begin_minute < self.end_minute:
            return ((self.begin_minute, self.end_minute),)
        return ((0, self.end_minute), (self.begin_minute, DAY_MINUTES))

    def overlaps(self, other: DailyHours) -> bool:
        return any(a < d and c < b for a, b in self.minutes for c, d in other.minutes)


def parse_time_of_day(text: object) -> int:
    """Minutes after midnight of `20:00`; `24:00` is the end of the day.

    Raises:
        UnitError: no time of day.
    """
    match = _TIME_OF_DAY.fullmatch(text.strip()) if isinstance(text, str) and len(text) <= lengths.TIME else None
    if match is not None:
        minutes = int(match[1]) * 60 + int(match[2])
        if int(match[2]) < 60 and minutes <= DAY_MINUTES:
            return minutes
    raise UnitError("is no time of day", text, "say hours and minutes, such as `20:00`")


def expand_hours(
    window: Window, hours: Sequence[DailyHours], otherwise: Rates, zone: tzinfo
) -> Iterator[tuple[datetime, datetime, Rates]]:
    """The window cut where the hours begin and end, each part with its rates; `otherwise` outside of all hours.

    A time that comes twice is meant the first time; one that a change of clocks leaves out is the instant of the change:
    hours lose what the clock does not show, and do not move.
    """
    special = sorted(_daily(window, hours, zone), key=lambda one: one[0])
    at = window.start
    for start, end, rates in special:
        start, end = max(start, at), min(end, window.end)
        if start >= end:
            continue
        if at < start:
            yield at, start, otherwise
        yield start, end, rates
        at = end
    if at < window.end:
        yield at, window.end, otherwise


def _daily(window: Window, hours: Sequence[DailyHours], zone: tzinfo) -> Iterator[tuple[datetime, datetime, Rates]]:
    day = window.start.astimezone(zone).date() - timedelta(days=1)  # a night begins on the day before
    last = window.end.astimezone(zone).date()
    while day <= last:
        for one in hours:
            length = one.end_minute if one.begin_minute < one.end_minute else one.end_minute + DAY_MINUTES
            midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - a wall clock
            start, end = (
                instant_of(midnight + timedelta(minutes=minute), zone) for minute in (one.begin_minute, length)
            )
            if start < end:
                yield start, end, one.rates
        day += timedelta(days=1)
