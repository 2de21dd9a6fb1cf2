"""When a delivery is tried again. Pure: chance is passed in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

#: More would leave the calendar.
MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class Backoff:
    """Each wait is twice the one before, up to `longest`; a part of it is left to chance, so that many do not come
    together. With these values a delivery is given up after 13 to 26 hours.
    """

    first: timedelta = timedelta(seconds=5)
    longest: timedelta = timedelta(hours=4)
    attempts: int = 18

    def wait(self, attempts: int, chance: float) -> timedelta | None:
        """The wait after so many failed attempts; None to give up. `chance` is in [0, 1)."""
        if attempts >= self.attempts:
            return None
        return self._longest_after(attempts) * (0.5 + chance / 2)

    def longest_waits(self) -> list[timedelta]:
        """The longest wait after no failed attempt, after one, and so on, to the last that is not given up."""
        return [timedelta(), *(self._longest_after(attempts) for attempts in range(1, self.attempts))]

    def _longest_after(self, attempts: int) -> timedelta:
        return min(self.longest, self.first * int(2 ** min(attempts - 1, MOST_DOUBLINGS)))
