"""How far ahead devices are armed: a pure function of the time, so that every controller that leads arms the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

#: More boundaries than these are not armed ahead of their lead. A router keeps its whole program in its memory; where
#: boundaries are closer together than a reading takes, only what was armed before them happens in time.
MOST_AHEAD = 120
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
