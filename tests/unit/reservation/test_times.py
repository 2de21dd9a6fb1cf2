"""Times, zones and windows: what is read, to the second, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from slotcar.base.timebase import Window, from_us, iso, to_us
from slotcar.base.units import UnitError, parse_calendar_duration
from slotcar.reservation import parse_time
from slotcar.reservation.hours import DailyHours, expand_hours, parse_time_of_day
from slotcar.reservation.times import parse_zone, zone_name

NOW = datetime(2027, 1, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", "2027-01-01T12:00:00Z"),
        (" Now ", "2027-01-01T12:00:00Z"),
        ("now + 20 s", "2027-01-01T12:00:20Z"),
        ("now+PT1H30M", "2027-01-01T13:30:00Z"),
        ("now + 1 d 2 h", "2027-01-02T14:00:00Z"),
        ("2027-03-01T22:00:00+01:00", "2027-03-01T21:00:00Z"),
        ("2027-03-01T22:00Z", "2027-03-01T22:00:00Z"),
        ("2027-03-01 22:00:00.25-05:45", "2027-03-02T03:45:00.250000Z"),
        ("20270301T2200+0100", "2027-03-01T21:00:00Z"),
        ("2027-W09-1T22:00Z", "2027-03-01T22:00:00Z"),
        ("1970-01-01T00:00:00+14:00", "1969-12-31T10:00:00Z"),
        ("2999-12-31T23:59:59-12:00", "3000-01-01T11:59:59Z"),
    ],
)
def test_a_time_is_read_to_the_second(text: str, moment: str) -> None:
    assert iso(parse_time(text, NOW)) == moment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2027-03-01T22:00:00", "has no time zone (got 2027-03-01T22:00:00); say `2027-03-01T22:00:00Z` for UTC"),
        ("2027-03-01", "has no time of day and no time zone (got 2027-03-01); say `2027-03-01T00:00:00Z`"),
        ("22:00", "is no time (got 22:00); say `now`"),
        ("2027-03-01T22:00:00 CET", "is no time"),
        ("2027-02-30T22:00:00Z", "is no time"),
        ("now - 5 min", "is no time"),
        ("now +", "is no time"),
        ("now + 5", "has no unit after `now +` (got now + 5); did you mean `5 min`?"),
        ("now + 4000 d", "is too long after `now +` (got now + 4000 d); at most 3660 d"),
        ("9999-12-31T23:59:59-01:00", "is beyond the calendar"),
        ("0001-01-01T00:00:00+01:00", "is beyond the calendar"),
        ("", "is no time (got nothing)"),
        (1803931200, "is no time (got 1803931200)"),
        (None, "is no time (got None)"),
        (True, "is no time (got True)"),
    ],
)
def test_a_time_refused_in_words(text: object, words: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_time(text, NOW)
    assert words in str(caught.value)


def test_what_the_hint_for_a_missing_zone_says_can_be_read() -> None:
    for text in ("2027-03-01", "2027-03-01T22:00", "2027-03-01 22:00:00", "20270301T220000"):
        with pytest.raises(UnitError) as caught:
            parse_time(text, NOW)
        for example in caught.value.hint.split("`")[1::2]:
            assert parse_time(example, NOW) > NOW


@pytest.mark.parametrize(
    ("text", "offset"),
    [("UTC", 0), ("Europe/Zurich", 60), ("America/New_York", -300), ("+01:00", 60), ("-0545", -345), ("CET", 60)],
)
def test_a_zone_is_read(text: str, offset: int) -> None:
    assert parse_zone(text).utcoffset(NOW.replace(tzinfo=None)) == timedelta(minutes=offset)


@pytest.mark.parametrize(
    "text",
    ["Europe/Zürich", "europe/nowhere", "", "+1", "+24:00", "+01:60", "٠١:٠٠", "../etc/passwd", "/etc/localtime", "Europe",
     "localtime", "posix/Europe/Zurich", "right/Europe/Zurich", "a\0b", "\ud800", "x" * 5000, 1, None, ["UTC"]],
)  # fmt: skip
def test_what_is_no_zone_or_not_the_same_everywhere_is_refused(text: object) -> None:
    with pytest.raises(UnitError, match="is no time zone"):
        parse_zone(text)


@pytest.mark.parametrize("name", ["UTC", "+01:00", "-05:45"])
def test_the_zone_of_a_written_time_is_read_again(name: str) -> None:
    moment = datetime(2027, 3, 1, tzinfo=parse_zone(name))
    assert zone_name(moment) == name


def test_windows_are_half_open_and_in_utc() -> None:
    zone = timezone(timedelta(hours=1))
    first = Window(datetime(2027, 3, 1, 22, tzinfo=zone), datetime(2027, 3, 1, 23, tzinfo=zone))
    assert str(first) == "2027-03-01T21:00:00Z .. 2027-03-01T22:00:00Z"
    second = Window(first.end, first.end + timedelta(microseconds=1))
    assert not first.overlaps(second)
    assert first.contains(first.start)
    assert not first.contains(first.end)
    assert first.overlaps(Window(first.end - timedelta(microseconds=1), second.end))
    assert Window.of_us(first.start_us, first.end_us) == first
    assert tuple(first) == (first.start, first.end)


@pytest.mark.parametrize(
    ("start", "end"), [(NOW, NOW), (NOW, NOW - timedelta(seconds=1)), (NOW.replace(tzinfo=None), NOW)]
)
def test_a_window_that_is_none_is_refused(start: datetime, end: datetime) -> None:
    with pytest.raises(ValueError, match="window"):
        Window(start, end)


def test_microseconds_are_exact_and_need_a_zone() -> None:
    for moment_us in (0, -1, 1_803_934_800_123_457, 32_503_679_999_999_999):
        assert to_us(from_us(moment_us)) == moment_us
    with pytest.raises(ValueError, match="no time zone"):
        to_us(NOW.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("text", "days", "rest"),
    [
        ("P1D", 1, timedelta(0)),
        ("P1W", 7, timedelta(0)),
        ("P1DT2H", 1, timedelta(hours=2)),
        ("PT24H", 0, timedelta(hours=24)),
        ("2 d 3 h", 2, timedelta(hours=3)),
        ("36 h", 0, timedelta(hours=36)),
        ("1.5 d", 0, timedelta(hours=36)),
    ],
)
def test_days_are_counted_by_the_calendar_and_hours_are_not(text: str, days: int, rest: timedelta) -> None:
    assert parse_calendar_duration(text) == (days, rest)


@pytest.mark.parametrize(
    ("begin", "end", "start", "until"),
    [("02:30", "03:30", "01:00", "01:30"), ("02:15", "02:45", None, None), ("01:30", "02:30", "00:30", "01:00")],
)
def test_hours_lose_what_the_clock_leaves_out(begin: str, end: str, start: str | None, until: str | None) -> None:
    day = Window(datetime(2030, 3, 30, 23, tzinfo=UTC), datetime(2030, 3, 31, 22, tzinfo=UTC))  # of 23 hours
    hours = DailyHours(parse_time_of_day(begin), parse_time_of_day(end), (5,))
    parts = expand_hours(day, [hours], (0,), parse_zone("Europe/Amsterdam"))
    shown = [(f"{first:%H:%M}", f"{last:%H:%M}") for first, last, rates in parts if rates == (5,)]
    assert shown == ([(start, until)] if start else [])
