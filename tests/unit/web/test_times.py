"""Times on the page: one zone, no instant of two meanings, both nights of a clock change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.timebase import from_us, to_us
from slotcar.base.units import UnitError
from slotcar.web.times import Clock, echo

SUMMER = Clock("Europe/Zurich", datetime(2027, 7, 1, 12, tzinfo=UTC))
WINTER = Clock("Europe/Zurich", datetime(2027, 1, 1, 12, tzinfo=UTC))
ZONES = ("UTC", "Europe/Zurich", "America/St_Johns", "Australia/Lord_Howe", "+05:30")


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


def test_the_heading_says_the_zone() -> None:
    assert SUMMER.heading == "Europe/Zurich, UTC+02:00"
    assert WINTER.heading == "Europe/Zurich, UTC+01:00"
    assert Clock("UTC", utc(2027, 1, 1)).heading == "UTC"


def test_a_time_of_another_offset_says_so() -> None:
    assert WINTER.words(utc(2027, 3, 1, 21)) == "Mon 2027-03-01 22:00"
    assert WINTER.words(utc(2027, 7, 1, 20)) == "Thu 2027-07-01 22:00 +02:00"
    assert WINTER.words(utc(2027, 3, 1, 21, 0, 7)) == "Mon 2027-03-01 22:00:07"


def test_the_hour_that_is_twice_is_told_apart() -> None:
    """On 31 October 2027 02:30 is at 00:30 and at 01:30 UTC."""
    first, second = utc(2027, 10, 31, 0, 30), utc(2027, 10, 31, 1, 30)
    assert SUMMER.words(first) == "Sun 2027-10-31 02:30"
    assert SUMMER.words(second) == "Sun 2027-10-31 02:30 +01:00"
    with pytest.raises(UnitError, match="is twice on the clocks") as refused:
        SUMMER.parse("2027-10-31 02:30")
    assert "`2027-10-31 02:30:00+02:00` or `2027-10-31 02:30:00+01:00`" in str(refused.value)
    assert SUMMER.parse("2027-10-31 02:30:00+02:00") == first
    assert SUMMER.parse("2027-10-31 02:30:00+01:00") == second
    assert echo(first, second, SUMMER) == "Sun 2027-10-31 02:30 to Sun 2027-10-31 02:30 +01:00, 1 h"


def test_the_hour_that_is_left_out_is_refused() -> None:
    """On 28 March 2027 the clocks go from 02:00 to 03:00."""
    with pytest.raises(
        UnitError, match=r"is left out by the clocks of Europe/Zurich .* did you mean `2027-03-28 03:30`"
    ):
        WINTER.parse("2027-03-28 02:30")
    assert WINTER.parse("2027-03-28 03:30") == utc(2027, 3, 28, 1, 30)
    assert WINTER.words(utc(2027, 3, 28, 1)) == "Sun 2027-03-28 03:00 +02:00"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("now", utc(2027, 7, 1, 12)), ("now + 2 h", utc(2027, 7, 1, 14)), ("2027-07-01 22:00", utc(2027, 7, 1, 20)),
        ("2027-07-01T22:00", utc(2027, 7, 1, 20)), ("2027-07-01T22:00:00Z", utc(2027, 7, 1, 22)),
        (" 2027-07-01 22:00+05:30 ", utc(2027, 7, 1, 16, 30)), ("2027-01-01 00:00", utc(2026, 12, 31, 23)),
    ],
)  # fmt: skip
def test_times_are_of_the_sessions_zone(text: str, meant: datetime) -> None:
    assert SUMMER.parse(text) == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a time"), ("tomorrow", "is not a time"), ("2027-07-01", "say `2027-07-01 00:00` for midnight"),
        ("now + lots", "after `now [+]`"), ("25:00", "is not a time"), ("1000-01-01 00:00", "beyond the calendar"),
    ],
)  # fmt: skip
def test_what_is_no_time_is_told(text: str, message: str) -> None:
    with pytest.raises(UnitError, match=message):
        SUMMER.parse(text)


@given(st.integers(to_us(utc(1980, 1, 1)), to_us(utc(2100, 1, 1))), st.sampled_from(ZONES))
def test_what_is_written_is_read_back(moment_us: int, zone: str) -> None:
    moment = from_us(moment_us)
    clock = Clock(zone, utc(2027, 7, 1, 12))
    assert clock.parse(clock.written(moment)) == moment


@given(st.integers(to_us(utc(2020, 1, 1)) // 60_000_000, to_us(utc(2040, 1, 1)) // 60_000_000), st.sampled_from(ZONES))
def test_two_instants_never_have_the_same_words(minute: int, zone: str) -> None:
    """Also where the clocks show an hour twice."""
    moment = from_us(minute * 60_000_000)
    clock = Clock(zone, utc(2027, 7, 1, 12))
    others = [moment + timedelta(minutes=minutes) for minutes in (-120, -60, -30, 30, 60, 120)]
    assert clock.words(moment) not in [clock.words(other) for other in others]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "now"), (7, "in 7 s"), (-7, "7 s ago"), (65, "in 1 min 5 s"), (660, "in 11 min"), (7500, "in 2 h 5 min"),
     (90_000, "in 1 d 1 h"), (-172_800, "2 d ago")],
)  # fmt: skip
def test_distances_are_in_two_units(seconds: int, words: str) -> None:
    assert SUMMER.distance(SUMMER.now + timedelta(seconds=seconds)) == words
