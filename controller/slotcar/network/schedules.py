"""When the figures of an SLS hold: days and hours, on the wall clock of a zone (the service schedule of TEQUILA)."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from slotcar.base.frozen import Frozen
from slotcar.base.timebase import Window

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MINUTES = 24 * 60
#: A schedule is looked at so often; hours of the day are whole multiples of it.
GRAIN = timedelta(minutes=5)


class Schedule(Frozen):
    """`[begin, end)` of each of the days, in minutes after midnight; an end that is not after the begin is on the next day.

    Attributes:
        days: 0 is Monday. zone: whose wall clock, by its name.
    """

    days: tuple[int, ...] = tuple(range(7))
    begin_minute: int = 0
    end_minute: int = DAY_MINUTES
    zone: str = "UTC"

    def __str__(self) -> str:
        days = " ".join(DAYS[day] for day in self.days)
        begin, end = (f"{minute // 60:02d}:{minute % 60:02d}" for minute in (self.begin_minute, self.end_minute))
        return f"{days} {begin}-{end} {self.zone}"

    def contains(self, instant: datetime) -> bool:
        local = instant.astimezone(ZoneInfo(self.zone))
        minute = local.hour * 60 + local.minute
        if self.begin_minute < self.end_minute:
            return local.weekday() in self.days and self.begin_minute <= minute < self.end_minute
        if minute >= self.begin_minute:
            return local.weekday() in self.days
        return minute < self.end_minute and (local.weekday() - 1) % 7 in self.days


def due_us(window: Window, validity: Window | None, schedule: Schedule | None) -> int:
    """How much of a window an SLS promises something in, in microseconds."""
    start = window.start if validity is None else max(window.start, validity.start)
    end = window.end if validity is None else min(window.end, validity.end)
    if start >= end:
        return 0
    if schedule is None:
        return Window(start, end).end_us - Window(start, end).start_us
    total, at = timedelta(), start
    while at < end:
        until = min(at + GRAIN, end)
        total += until - at if schedule.contains(at) else timedelta()
        at = until
    return total // timedelta(microseconds=1)
