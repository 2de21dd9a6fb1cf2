"""What is promised over time, as the sender goes by it: rates of the base connection, what they move, and when. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

#: Slower this long before a lower rate begins: what is on the way has passed the policer by then.
AHEAD = timedelta(milliseconds=500)
#: A late promise counts on so many times the rate that the volume needs: what it must do at the end then stays far from
#: all that the hosts and the line can do.
LATE_PEAK = 2


class Shape(StrEnum):
    """What the promise looks like, as the controller has it (`shape` of a reservation)."""

    STEADY = "steady"
    EARLIEST = "earliest"
    LATEST = "latest"


def late_peak_bps(volume_bytes: int, by: datetime, now: datetime) -> int:
    """The highest rate of a late promise where nobody has said one."""
    left_us = max(1, (by - now) // timedelta(microseconds=1))
    return LATE_PEAK * -(-volume_bytes * 8_000_000 // left_us)


@dataclass(frozen=True, slots=True)
class Step:
    """From `since` on, payload bits per second; 0 pauses the base connection."""

    since: datetime
    rate_bps: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Ascending steps. Before the first there is nothing."""

    steps: tuple[Step, ...] = ()

    @classmethod
    def of_slots(cls, slots: Iterable[Mapping[str, Any]]) -> Profile:
        """Of a reservation's slots, as the API gives them."""
        steps: list[Step] = []
        for one in slots:
            start, end = datetime.fromisoformat(one["start"]), datetime.fromisoformat(one["end"])
            if steps and steps[-1].since == start:
                steps.pop()
            steps += [Step(start, int(one["forward_bps"])), Step(end, 0)]
        return cls(tuple(steps))

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]]) -> Profile:
        """Of what `rows` gives."""
        return cls(tuple(Step(datetime.fromisoformat(since), int(rate_bps)) for since, rate_bps in rows))

    def rows(self) -> list[list[Any]]:
        return [[one.since.astimezone(UTC).isoformat(), one.rate_bps] for one in self.steps]

    def rate_at(self, at: datetime) -> int:
        return next((one.rate_bps for one in reversed(self.steps) if one.since <= at), 0)

    def safe_rate(self, at: datetime, ahead: timedelta = AHEAD) -> int:
        """The lowest rate from `at` to `ahead` from then."""
        soon = [one.rate_bps for one in self.steps if at < one.since <= at + ahead]
        return min([self.rate_at(at), *soon])

    @property
    def highest_bps(self) -> int:
        return max((one.rate_bps for one in self.steps), default=0)

    def moved_by(self, remaining_bytes: int, now: datetime) -> datetime | None:
        """When the promised rates have moved what remains; None where they never do."""
        left_bits, at = remaining_bytes * 8, now
        if left_bits <= 0:
            return now
        for number, one in enumerate(self.steps):
            until = self.steps[number + 1].since if number + 1 < len(self.steps) else None
            begin = max(at, one.since)
            if until is not None and until <= begin:
                continue
            if one.rate_bps > 0:
                needed = timedelta(seconds=left_bits / one.rate_bps)
                if until is None or begin + needed <= until:
                    return begin + needed
                left_bits -= int(one.rate_bps * (until - begin).total_seconds())
                if left_bits <= 0:
                    return until
        return None
