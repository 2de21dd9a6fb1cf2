"""Recurrences: which occurrences a rule has, on which side of summer time, and which rules are refused."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from slotcar.base.timebase import iso
from slotcar.base.units import UnitError
from slotcar.reservation.recurrence import MOST_OCCURRENCES, check_rule, expand, left_out
from slotcar.reservation.times import parse_zone
from slotcar.reservation.wall_clock import Length

HOUR = timedelta(hours=1)


def starts(rule: str, start: str, zone: str = "UTC", duration: timedelta = HOUR) -> list[str]:
    windows = expand(rule, datetime.fromisoformat(start), Length(0, duration), parse_zone(zone))
    assert all(window.duration == duration for window in windows)
    return [iso(window.start).removesuffix(":00Z") for window in windows]


def test_the_wall_clock_is_kept_when_summer_time_begins() -> None:
    instants = starts("FREQ=DAILY;COUNT=3", "2027-03-27T22:00:00+01:00", "Europe/Zurich")
    assert instants == ["2027-03-27T21:00", "2027-03-28T20:00", "2027-03-29T20:00"]


def test_an_offset_knows_no_summer_time() -> None:
    instants = starts("FREQ=DAILY;COUNT=3", "2027-03-27T22:00:00+01:00", "+01:00")
    assert instants == ["2027-03-27T21:00", "2027-03-28T21:00", "2027-03-29T21:00"]


def test_an_hour_that_is_left_out_is_no_occurrence_and_does_not_count() -> None:
    instants = starts("FREQ=DAILY;COUNT=3", "2027-03-27T02:30:00+01:00", "Europe/Zurich")
    assert instants == ["2027-03-27T01:30", "2027-03-29T00:30", "2027-03-30T00:30"]
    both = starts("FREQ=DAILY;COUNT=4;BYHOUR=2,3", "2027-03-27T02:30:00+01:00", "Europe/Zurich")
    assert both == ["2027-03-27T01:30", "2027-03-27T02:30", "2027-03-28T01:30", "2027-03-29T00:30"]


@pytest.mark.parametrize(
    ("rule", "start", "missing"),
    [
        ("FREQ=DAILY;COUNT=3", "2027-03-27T02:30:00+01:00", ["2027-03-28T02:30"]),
        ("FREQ=DAILY;UNTIL=20270328", "2027-03-27T02:30:00+01:00", ["2027-03-28T02:30"]),
        ("FREQ=DAILY;COUNT=1", "2027-03-27T02:30:00+01:00", []),
        ("FREQ=DAILY;COUNT=400", "2027-03-27T02:30:00+01:00", ["2027-03-28T02:30", "2028-03-26T02:30"]),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=3", "2027-03-21T02:30:00+01:00", []),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=3", "2027-03-14T02:30:00+01:00", ["2027-03-28T02:30"]),
        ("FREQ=MONTHLY;BYDAY=SU;BYSETPOS=-1;COUNT=3", "2027-02-28T02:30:00+01:00", ["2027-03-28T02:30"]),
        ("FREQ=DAILY;COUNT=3", "2027-03-27T22:00:00+01:00", []),
    ],
)
def test_what_the_clock_leaves_out_can_be_said(rule: str, start: str, missing: list[str]) -> None:
    zone = parse_zone("Europe/Zurich")
    windows = expand(rule, datetime.fromisoformat(start), Length(0, HOUR), zone)
    assert [one.isoformat(timespec="minutes") for one in left_out(rule, windows, zone)] == missing


@pytest.mark.parametrize(
    ("rule", "start", "zone", "last"),
    [
        ("FREQ=DAILY;UNTIL=20301027T010000Z", "2030-10-26T02:30:00+02:00", "Europe/Amsterdam", "2030-10-27T00:30"),
        ("FREQ=DAILY;UNTIL=20301027T002959Z", "2030-10-26T02:30:00+02:00", "Europe/Amsterdam", "2030-10-26T00:30"),
        ("FREQ=DAILY;UNTIL=20300331T010000Z", "2030-03-29T02:30:00+01:00", "Europe/Amsterdam", "2030-03-30T01:30"),
        ("FREQ=DAILY;UNTIL=20301103T060000Z", "2030-11-01T01:30:00-04:00", "America/New_York", "2030-11-03T05:30"),
        ("FREQ=DAILY;UNTIL=20300406T150000Z", "2030-04-05T01:45:00+11:00", "Australia/Lord_Howe", "2030-04-06T14:45"),
    ],
)
def test_until_in_utc_is_an_instant_where_clocks_change(rule: str, start: str, zone: str, last: str) -> None:
    assert starts(rule, start, zone)[-1] == last


def test_numbered_days_and_days_without_a_number_are_a_union() -> None:
    instants = starts("FREQ=MONTHLY;BYDAY=MO,1MO;COUNT=6", "2027-03-01T00:00:00Z")
    assert [one[5:10] for one in instants] == ["03-01", "03-08", "03-15", "03-22", "03-29", "04-05"]
    assert starts("FREQ=MONTHLY;BYDAY=WE,1MO;BYSETPOS=-2,1;COUNT=2", "2027-03-02T00:00:00Z") == [
        "2027-03-24T00:00",
        "2027-04-05T00:00",
    ]


def test_a_day_that_a_zone_leaves_out_is_no_occurrence() -> None:
    assert starts("FREQ=DAILY;COUNT=3", "2011-12-29T10:00:00-10:00", "Pacific/Apia") == [
        "2011-12-29T20:00",
        "2011-12-30T20:00",
        "2011-12-31T20:00",
    ]


def test_a_duration_in_days_follows_the_calendar_and_one_in_hours_does_not() -> None:
    start, zone = datetime.fromisoformat("2030-03-30T00:00:00+01:00"), parse_zone("Europe/Amsterdam")
    days = expand("FREQ=DAILY;COUNT=3", start, Length(1, timedelta(0)), zone)
    assert [window.duration / HOUR for window in days] == [24, 23, 24]
    with pytest.raises(UnitError, match="the clocks change in between: give the duration in days"):
        expand("FREQ=DAILY;COUNT=3", start, Length(0, 24 * HOUR), zone)


def test_the_weekday_of_a_week_is_the_starts_and_a_first_week_is_whole() -> None:
    assert starts("FREQ=YEARLY;BYWEEKNO=20;COUNT=2", "2027-03-03T00:00:00Z") == [
        "2027-05-19T00:00",
        "2028-05-17T00:00",
    ]
    assert starts("FREQ=WEEKLY;BYDAY=MO,FR;BYSETPOS=1;COUNT=1", "2027-03-03T00:00:00Z") == ["2027-03-08T00:00"]


@pytest.mark.parametrize(("offset", "first"), [("+02:00", "2027-10-31T00:30"), ("+01:00", "2027-10-31T01:30")])
def test_of_an_hour_that_comes_twice_the_start_is_the_written_one(offset: str, first: str) -> None:
    instants = starts("FREQ=DAILY;COUNT=2", f"2027-10-31T02:30:00{offset}", "Europe/Zurich")
    assert instants == [first, "2027-11-01T01:30"]


def test_the_start_is_an_occurrence_only_where_the_rule_has_it() -> None:
    assert starts("FREQ=WEEKLY;BYDAY=TU,FR;COUNT=2", "2027-03-01T00:00:00Z") == [
        "2027-03-02T00:00",
        "2027-03-05T00:00",
    ]


def test_a_month_without_the_day_is_passed_over() -> None:
    instants = starts("FREQ=MONTHLY;COUNT=3", "2027-01-31T00:00:00Z")
    assert instants == ["2027-01-31T00:00", "2027-03-31T00:00", "2027-05-31T00:00"]


def test_the_29th_of_february_comes_every_four_years() -> None:
    instants = starts("FREQ=YEARLY;COUNT=3", "2028-02-29T00:00:00Z")
    assert instants == ["2028-02-29T00:00", "2032-02-29T00:00", "2036-02-29T00:00"]


@pytest.mark.parametrize(
    ("until", "count"),
    [
        ("20270303", 3),
        ("20270303T220000", 3),
        ("20270303T215959", 2),
        ("20270303T210000Z", 3),
        ("20270303T205959Z", 2),
        ("20270303T220000;COUNT=2", 2),
    ],
)
def test_until_is_included_and_local_unless_it_says_z(until: str, count: int) -> None:
    assert len(starts(f"FREQ=DAILY;UNTIL={until}", "2027-03-01T22:00:00+01:00", "+01:00")) == count


def test_fractions_of_a_second_stay() -> None:
    windows = expand(
        "FREQ=DAILY;COUNT=2", datetime.fromisoformat("2027-03-01T22:00:00.25Z"), Length(0, HOUR), parse_zone("UTC")
    )
    assert {window.start.microsecond for window in windows} == {250_000}


def test_spaces_case_and_the_rfcs_own_prefix_do_not_matter() -> None:
    plain = starts("FREQ=WEEKLY;BYDAY=MO,TH;COUNT=3", "2027-03-01T22:00:00Z")
    assert starts(" rrule:freq=weekly; byday=mo,th; count=3; ", "2027-03-01T22:00:00Z") == plain


def test_occurrences_may_touch_but_not_overlap() -> None:
    day = timedelta(days=1)
    assert len(starts("FREQ=DAILY;COUNT=3", "2027-03-01T22:00:00Z", duration=day)) == 3
    with pytest.raises(UnitError, match="occurs again at 2027-03-02T22:00:00Z, before its occurrence of"):
        starts("FREQ=DAILY;COUNT=3", "2027-03-01T22:00:00Z", duration=day + timedelta(microseconds=1))


def test_as_many_as_allowed_are_expanded_and_one_more_is_not() -> None:
    hours = ",".join(map(str, range(24)))
    rule = f"FREQ=DAILY;BYHOUR={hours};UNTIL=20270705T23"
    day_of_last = f"{rule}5959Z"  # 125 days of 24 hours
    assert len(starts(day_of_last, "2027-03-03T00:00:00Z")) == MOST_OCCURRENCES == 125 * 24
    with pytest.raises(UnitError, match="has more than 3000 occurrences"):
        starts(day_of_last, "2027-03-02T23:00:00Z")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("every day", "is no recurrence"),
        ("", "is no recurrence"),
        (5, "is no recurrence (got 5)"),
        (["FREQ=DAILY;COUNT=2"], "is no recurrence"),
        ("FREQ=DAILY;COUNT=2\nFREQ=DAILY;COUNT=3", "is no recurrence"),
        ("COUNT=5", "has no frequency that slots can have"),
        ("FREQ=HOURLY;COUNT=5", "FREQ is one of DAILY, WEEKLY, MONTHLY, YEARLY"),
        ("FREQ=DAILY", "never ends"),
        ("FREQ=DAILY;COUNT=0", "cannot have COUNT=0"),
        ("FREQ=DAILY;COUNT=3001", "COUNT is 1 to 3000"),
        ("FREQ=DAILY;COUNT=2,3", "cannot have COUNT=2,3"),
        ("FREQ=DAILY;COUNT=²", "cannot have COUNT=²"),
        ("FREQ=DAILY;COUNT=5;COUNT=6", "has COUNT twice"),
        ("FREQ=DAILY;COUNT=5;INTERVAL=0", "cannot have INTERVAL=0"),
        ("FREQ=DAILY;COUNT=5;BYMONTHDAY=0", "BYMONTHDAY is 1 to 31 or -31 to -1"),
        ("FREQ=DAILY;COUNT=5;BYHOUR=24", "BYHOUR is 0 to 23"),
        ("FREQ=DAILY;COUNT=5;BYEASTER=1", "has an unknown part BYEASTER"),
        ("FREQ=DAILY;COUNT=2 DTSTART:20200101T000000", "cannot have COUNT=2DTSTART"),
        ("FREQ=WEEKLY;COUNT=5;BYDAY=2MO", "a numbered day needs MONTHLY or YEARLY"),
        ("FREQ=WEEKLY;COUNT=5;BYDAY=MON", "days are MO, TU"),
        ("FREQ=WEEKLY;UNTIL=2027-06-01", "has an UNTIL that is no date"),
        ("FREQ=WEEKLY;UNTIL=99991231T235959Z", "reaches further than 3660 d"),
        ("FREQ=YEARLY;COUNT=12", "reaches further than 3660 d"),
        ("FREQ=WEEKLY;UNTIL=20500101", "reaches further than 3660 d"),
        ("FREQ=DAILY;UNTIL=20260101", "never occurs"),
        ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=1", "never occurs"),
        ("FREQ=DAILY;COUNT=2;BYWEEKNO=5", "BYWEEKNO needs YEARLY"),
        ("FREQ=WEEKLY;COUNT=2;BYMONTHDAY=5", "BYMONTHDAY needs DAILY or MONTHLY or YEARLY"),
        ("FREQ=YEARLY;COUNT=2;BYWEEKNO=5;BYDAY=1MO", "beside BYWEEKNO days have no number"),
        ("FREQ=DAILY;COUNT=2;BYSETPOS=1", "cannot have BYSETPOS alone"),
        ("FREQ=MONTHLY;BYDAY=53SU;COUNT=1", "is no recurrence (got"),
    ],
)
def test_a_rule_refused_in_words(rule: object, words: str) -> None:
    with pytest.raises(UnitError) as caught:
        expand(
            rule,
            datetime.fromisoformat("2027-03-01T22:00:00+01:00"),
            Length(0, HOUR),
            parse_zone("Pacific/Kiritimati"),
        )
    assert words in str(caught.value)


def test_the_parts_of_a_rule_are_told() -> None:
    assert check_rule("RRULE:FREQ=DAILY;COUNT=5") == {"FREQ": "DAILY", "COUNT": "5"}
