"""When an SLS's figures hold, and what it says of delay, variation and loss."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from slotcar.base.timebase import Window
from slotcar.network.schedules import Schedule, due_us
from slotcar.network.variables import SlsVariables

HOUR_US = 3_600_000_000
WRITTEN: dict[str, Any] = {
    "upstream": "alpha", "service": "ip-premium", "rate": "40 Mbit/s", "burst": "500 kB", "ingress": "b-edge:eth1",
}  # fmt: skip


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_figures_are_read_with_their_units() -> None:
    figures = {"delay": "20 ms", "variation": "500 us", "loss": "0.1 %", "quantile": "99.9 %", "peak": "60 Mbit/s"}
    read = SlsVariables.model_validate(WRITTEN | figures)
    assert (read.delay, read.variation, read.loss, read.quantile) == (20_000, 500, 1_000, 999_000)
    assert read.peak == 60_000_000
    plain = SlsVariables.model_validate(WRITTEN)
    assert (plain.delay, plain.variation, plain.loss, plain.quantile, plain.egress) == (
        None,
        None,
        None,
        1_000_000,
        (),
    )


def test_a_schedule_goes_by_the_wall_clock_of_its_zone() -> None:
    """Working hours in Zurich begin at 07:00 UTC in winter and at 06:00 in summer."""
    written = {"days": ["fri", "mon"], "hours": "08:00-20:00", "zone": "Europe/Zurich"}
    read = SlsVariables.model_validate(WRITTEN | {"schedule": written}).schedule
    assert read is not None
    schedule = read.schedule()
    assert str(schedule) == "mon fri 08:00-20:00 Europe/Zurich"
    monday, summer = at("2027-03-01T06:59:00"), at("2027-07-02T05:59:00")
    for begin in (monday, summer):
        assert not schedule.contains(begin)
        assert schedule.contains(begin + timedelta(minutes=1))
        assert not schedule.contains(begin + timedelta(hours=12, minutes=1))
    assert not schedule.contains(at("2027-03-02T12:00:00"))


def test_a_night_belongs_to_the_day_on_which_it_begins() -> None:
    night = Schedule(days=(4,), begin_minute=22 * 60, end_minute=6 * 60)
    friday = Window(at("2027-03-05T00:00:00"), at("2027-03-06T00:00:00"))
    saturday = Window(friday.end, friday.end + timedelta(days=1))
    assert due_us(friday, None, night) == 2 * HOUR_US
    assert due_us(saturday, None, night) == 6 * HOUR_US


@pytest.mark.parametrize(
    ("validity", "hours"), [(None, 24), (("06:00", "18:00"), 12), (("00:00", "00:00"), 0), (("23:00", "47:00"), 1)]
)
def test_nothing_is_due_outside_of_the_validity(validity: tuple[str, str] | None, hours: int) -> None:
    day = Window(at("2027-03-01T00:00:00"), at("2027-03-02T00:00:00"))
    window = None
    if validity is not None:
        ends = [day.start + timedelta(hours=int(one.partition(":")[0])) for one in validity]
        window = Window(ends[0], max(ends[1], ends[0] + timedelta(microseconds=1)))
    assert due_us(day, window, None) // HOUR_US == hours
