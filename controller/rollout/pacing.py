"""How early the loop begins before a boundary, and when it keeps still because devices are about to act by themselves."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

#: Nothing else is pushed so shortly before a boundary that is armed, at the least: a push would race the devices' own step.
QUIET = timedelta(seconds=4)
#: A push is not put off for longer.
PATIENCE = 3 * QUIET
#: So soon a boundary is waited for, armed or not: pushing at once would come too late for it.
IMMINENT = timedelta(seconds=1)
#: How long after a boundary the devices are read: all have acted by then (`order.py`).
SETTLE = timedelta(milliseconds=1200)


@dataclass(slots=True)
class Pacing:
    """Attributes:
    lead: how long before a boundary the devices that it changes are looked at again, at the least.
    all_act: whether all devices act by themselves.
    turns, pushes: how long the last ones took.
    """

    lead: timedelta
    all_act: bool
    turns: deque[timedelta] = field(default_factory=lambda: deque(maxlen=5))
    pushes: deque[timedelta] = field(default_factory=lambda: deque(maxlen=5))
    _put_off: datetime | None = None

    def lead_now(self) -> timedelta:
        """As told, or longer where the last turns took longer: what is staged must be staged before its boundary."""
        return max(self.lead, *(took + took / 2 + QUIET for took in self.turns)) if self.turns else self.lead

    def better_at(self, coming: Sequence[datetime], armed: Collection[datetime], now: datetime) -> datetime | None:
        """When to push instead, where it would meet the devices' own step at a boundary; not put off for ever."""
        later = None
        if coming and (left := coming[0] - now) <= (self._quiet() if coming[0] in armed else IMMINENT):
            later = now + left + SETTLE
        elif acting := [instant for instant in armed if timedelta() <= now - instant < SETTLE]:
            later = acting[-1] + SETTLE
        self._put_off = (self._put_off or now) if later else None
        if self._put_off is not None and now - self._put_off > PATIENCE:
            self._put_off = later = None  # boundaries are dense
        return later

    def clock_was_set(self) -> None:
        """What was put off is not: since when was told by another time."""
        self._put_off = None

    def _quiet(self) -> timedelta:
        """So shortly before an armed boundary nothing else is pushed: the fastest push would meet it, and be taken back."""
        return min(max(QUIET, min(self.pushes)), PATIENCE) if self.all_act and self.pushes else QUIET
