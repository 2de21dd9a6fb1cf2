"""How far ahead devices are armed: a pure function of the time, so that every controller that leads arms the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

#: More boundaries than these are not armed ahead of their lead. A router keeps its whole program in its memory; where
#: boundaries are closer together than a reading takes, only what was armed before them happens in time.
MOST_AHEAD = 120
#: More steps than these take a slow router seconds to take in.
MANY = 8
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def armed_until(now: datetime, ahead: timedelta) -> datetime:
    """What begins or ends until then is armed: at least half of `ahead` from now, at most all of it.

    It moves in strides of half of `ahead`: a router is given a new program twice in that time, not at every boundary
    that comes into sight. The strides lie off the full and the half hour, where slots begin.
    """
    stride = max(ahead / 2, timedelta(seconds=1))
    first = EPOCH + stride / 4
    return first + ((now - first) // stride + 2) * stride


def to_arm(boundaries: Sequence[datetime], now: datetime, lead: timedelta, ahead: timedelta) -> list[datetime]:
    """Those of `boundaries` (ascending, after `now`) that devices are armed for at `now`.

    All that are nearer than `lead`, and of those until `armed_until` the first `MOST_AHEAD`.
    """
    until = armed_until(now, ahead)
    return [
        instant
        for number, instant in enumerate(boundaries)
        if instant <= now + lead or (instant <= until and number < MOST_AHEAD)
    ]


def first_of(
    wanted: Sequence[datetime], armed: Sequence[datetime], now: datetime, lead: timedelta
) -> Sequence[datetime]:
    """What of `wanted` is armed first: a boundary that is near and not `armed` does not wait for many that are far."""
    near = [instant for instant in wanted if instant <= now + lead]
    urgent = any(instant not in armed for instant in near)
    return near if urgent and len(wanted) > len(near) + MANY else wanted
