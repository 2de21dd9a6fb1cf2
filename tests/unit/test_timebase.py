"""A wall clock that was set is told from one that only goes on; windows lie within the calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from slotcar.base.timebase import ClockWatch, Window
from tests.support.requests import T0


class Clocks:
    """A wall clock and a monotonic one, moved by hand."""

    def __init__(self) -> None:
        self.wall, self.seconds = T0, 0.0
        self.watch = ClockWatch(lambda: self.wall, lambda: self.seconds)

    def pass_s(self, seconds: float, wall_s: float | None = None) -> None:
        self.seconds += seconds
        self.wall += timedelta(seconds=seconds if wall_s is None else wall_s)


@pytest.mark.parametrize("by_s", [-3600, -1, 1, 86_400])
def test_a_clock_that_was_set_says_by_how_much_until_it_is_accepted(by_s: int) -> None:
    clocks = Clocks()
    assert clocks.watch.set_by() == timedelta()
    clocks.pass_s(30, 30 + by_s)
    assert clocks.watch.set_by() == clocks.watch.set_by() == timedelta(seconds=by_s)
    clocks.watch.accept()
    clocks.pass_s(30)
    assert clocks.watch.set_by() == timedelta()


def test_a_clock_that_is_disciplined_or_a_process_that_stood_still_is_none() -> None:
    clocks = Clocks()
    for _ in range(1000):
        clocks.pass_s(30, 30.015)  # 500 ppm, the most that the kernel slews
        assert abs(clocks.watch.set_by()) < timedelta(seconds=1)
    clocks.pass_s(100_000)
    assert abs(clocks.watch.set_by()) < timedelta(seconds=1)


def test_a_window_beyond_the_calendar_in_utc_is_none() -> None:
    first = datetime.fromisoformat("0001-01-01T00:00:00+14:00")
    last = datetime.fromisoformat("9999-12-31T23:59:59-14:00")
    now = datetime(2027, 3, 1, tzinfo=UTC)
    for start, end in ((first, now), (now, last), (now, first), (last, now)):
        with pytest.raises(ValueError, match="beyond the calendar"):
            Window(start, end)
