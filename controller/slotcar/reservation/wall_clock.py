"""A zone's wall clock: which instants its times are, where clocks change, too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from dateutil.tz import datetime_exists

from slotcar.base.timebase import MICROSECOND


def exists(local: datetime, zone: tzinfo) -> bool:
    """Whether the clock of the zone ever shows that time, which names no zone: some are left out where clocks change."""
    return datetime_exists(local, zone)


def instant_of(local: datetime, zone: tzinfo, fold: int = 0) -> datetime:
    """The instant at which the clock of the zone shows that time, in UTC. Of two it is the first, or with `fold` 1 the
    second; of a time that is left out it is the instant of the change.
    """
    instant = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    if exists(local, zone):
        return instant
    # Both readings of it lie around the change: the later offset gives the one before, the earlier offset the one after.
    before, after = (local.replace(tzinfo=zone, fold=one).astimezone(UTC) for one in (1, 0))
    offset_after = after.astimezone(zone).utcoffset()
    while after - before > MICROSECOND:
        middle = before + (after - before) // 2
        if middle.astimezone(zone).utcoffset() == offset_after:
            after = middle
        else:
            before = middle
    return after


class Length(NamedTuple):
    """A length of time: days of the calendar, and what is added to them exactly (RFC 5545 §3.3.6)."""

    days: int
    rest: timedelta

    def after(self, start: datetime, zone: tzinfo) -> datetime:
        """The end of what begins at `start`: so many days later on the clock of the zone, and then the rest; in UTC."""
        if not self.days:
            return start.astimezone(UTC) + self.rest
        local = start.astimezone(zone).replace(tzinfo=None, fold=0) + timedelta(days=self.days)
        return instant_of(local, zone) + self.rest
