"""Recurrences against RFC 5545 read literally: every minute of every day is asked whether the rule has it.

The oracle knows neither dateutil nor the code under test: it goes through the days of each period, keeps those that all
parts of the rule allow, and counts what the zone's clock shows.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.units import UnitError
from slotcar.reservation.recurrence import expand
from slotcar.reservation.wall_clock import Length

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
#: Half an hour of summer time, a winter time, a day that was left out, none at all.
ZONES = ("Europe/Amsterdam", "America/New_York", "Australia/Lord_Howe", "Europe/Dublin", "Pacific/Apia", "UTC")
MOMENT = Length(0, timedelta(microseconds=1))
MOST_DAYS = 1500
Rule = dict[str, list[int] | list[str] | str | int]


def numbers(least: int, most: int, *, signed: bool = False) -> st.SearchStrategy[list[int]]:
    one = st.integers(least, most)
    return st.lists(one | one.map(lambda number: -number) if signed else one, min_size=1, max_size=3, unique=True)


@st.composite
def rules(draw: st.DrawFn) -> dict[str, object]:
    freq = draw(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    rule: dict[str, object] = {"FREQ": freq, "INTERVAL": draw(st.integers(1, 3)), "WKST": draw(st.sampled_from(DAYS))}
    parts: dict[str, st.SearchStrategy[object]] = {
        "BYHOUR": numbers(0, 3), "BYMINUTE": st.sampled_from([[0], [30], [15, 45]]), "BYMONTH": numbers(1, 12),
        "BYDAY": st.lists(st.sampled_from(DAYS), min_size=1, max_size=3, unique=True),
    }  # fmt: skip
    if freq != "WEEKLY":
        parts["BYMONTHDAY"] = numbers(1, 31, signed=True)
    if freq == "YEARLY":
        parts |= {"BYYEARDAY": numbers(1, 366, signed=True), "BYWEEKNO": numbers(1, 52)}
    for name in draw(st.sets(st.sampled_from(sorted(parts)), max_size=3)):
        rule[name] = draw(parts[name])
    if freq in ("MONTHLY", "YEARLY") and "BYDAY" in rule and "BYWEEKNO" not in rule:
        numbered = st.tuples(st.integers(1, 5) | st.integers(-5, -1), st.sampled_from(DAYS)).map(
            lambda one: f"{one[0]}{one[1]}"
        )
        rule["BYDAY"] = [*rule["BYDAY"], *draw(st.lists(numbered, max_size=2, unique=True))]  # type: ignore[misc]
    if set(rule) - {"FREQ", "INTERVAL", "WKST"} and draw(st.booleans()):
        rule["BYSETPOS"] = draw(numbers(1, 4, signed=True))
    return rule


def written(rule: dict[str, object]) -> str:
    values = {name: value if isinstance(value, list) else [value] for name, value in rule.items()}
    return ";".join(f"{name}={','.join(map(str, value))}" for name, value in values.items())


def period_of(rule: dict[str, object], day: date) -> date:
    match rule["FREQ"]:
        case "WEEKLY":
            return day - timedelta(days=(day.weekday() - DAYS.index(str(rule["WKST"]))) % 7)
        case "MONTHLY":
            return day.replace(day=1)
        case "YEARLY":
            return day.replace(month=1, day=1)
    return day


def periods_between(rule: dict[str, object], first: date, day: date) -> int:
    begin, other = period_of(rule, first), period_of(rule, day)
    match rule["FREQ"]:
        case "WEEKLY":
            return (other - begin).days // 7
        case "MONTHLY":
            return (other.year - begin.year) * 12 + other.month - begin.month
        case "YEARLY":
            return other.year - begin.year
    return (other - begin).days


def week_of(rule: dict[str, object], day: date) -> int:
    """As ISO 8601 counts, with weeks that begin on WKST: the first has four days of its year at least."""
    middle = day - timedelta(days=(day.weekday() - DAYS.index(str(rule["WKST"]))) % 7) + timedelta(days=3)
    return (middle - middle.replace(month=1, day=1)).days // 7 + 1


def has_weekday(rule: dict[str, object], day: date, text: str) -> bool:
    if day.weekday() != DAYS.index(text[-2:]):
        return False
    if len(text) == 2:
        return True
    if rule["FREQ"] == "YEARLY" and "BYMONTH" not in rule:
        place, length = day.timetuple().tm_yday, 366 if monthrange(day.year, 2)[1] == 29 else 365
    else:
        place, length = day.day, monthrange(day.year, day.month)[1]
    wanted = int(text[:-2])
    return wanted == ((place - 1) // 7 + 1 if wanted > 0 else -((length - place) // 7 + 1))


def allows(rule: dict[str, object], start: datetime, day: date) -> bool:
    year = 366 if monthrange(day.year, 2)[1] == 29 else 365
    month, year_day = monthrange(day.year, day.month)[1], day.timetuple().tm_yday
    tests = {
        "BYMONTH": {day.month}, "BYMONTHDAY": {day.day, day.day - month - 1},
        "BYYEARDAY": {year_day, year_day - year - 1}, "BYWEEKNO": {week_of(rule, day)},
    }  # fmt: skip
    if any(name in rule and not values & set(rule[name]) for name, values in tests.items()):  # type: ignore[call-overload]
        return False
    if "BYDAY" in rule:
        return any(has_weekday(rule, day, text) for text in rule["BYDAY"])  # type: ignore[attr-defined]
    if rule.keys() & {"BYMONTHDAY", "BYYEARDAY"} or rule["FREQ"] == "DAILY":
        return True
    if rule["FREQ"] == "WEEKLY" or "BYWEEKNO" in rule:
        return day.weekday() == start.weekday()
    return day.day == start.day and (rule["FREQ"] == "MONTHLY" or "BYMONTH" in rule or day.month == start.month)


def occurrences(rule: dict[str, object], start: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Instants from the start on, in order, as far as whole periods fit in `MOST_DAYS`."""
    first, periods = start.date(), dict[date, list[datetime]]()
    day, last = period_of(rule, first), first + timedelta(days=MOST_DAYS)
    while day < last:
        if periods_between(rule, first, day) % int(str(rule["INTERVAL"])) == 0 and allows(rule, start, day):
            for hour in sorted(rule.get("BYHOUR", [start.hour])):  # type: ignore[call-overload]
                for minute in sorted(rule.get("BYMINUTE", [start.minute])):  # type: ignore[call-overload]
                    local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
                    if local.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
                        periods.setdefault(period_of(rule, day), []).append(local)
        day += timedelta(days=1)
    periods.pop(period_of(rule, last), None)  # which the days may end in
    for begin in sorted(periods):
        moments = sorted(periods[begin], key=lambda one: one.replace(tzinfo=None))
        if "BYSETPOS" in rule:
            places = {one - 1 if one > 0 else len(moments) + one for one in rule["BYSETPOS"]}  # type: ignore[attr-defined]
            moments = [moments[place] for place in sorted(places) if 0 <= place < len(moments)]
        yield from (one.astimezone(UTC) for one in moments if one.replace(tzinfo=None) >= start.replace(tzinfo=None))


STARTS = st.datetimes(datetime(2026, 1, 1), datetime(2030, 12, 31)).map(  # noqa: DTZ001 - a wall clock
    lambda one: one.replace(minute=one.minute // 15 * 15, hour=one.hour % 4, second=0, microsecond=0)
)


@given(rules(), STARTS, st.sampled_from(ZONES), st.integers(1, 12), st.booleans())
def test_a_rule_occurs_when_rfc_5545_says(
    rule: dict[str, object], local: datetime, name: str, count: int, by_instant: bool
) -> None:
    zone = ZoneInfo(name)
    start = local.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)  # a time that there is, and the first of two
    expected = list(islice(occurrences(rule, start, zone), count + 1))
    if len(expected) <= count:
        return  # the oracle looks no further
    # Up to the instant of the last and no further, or as many.
    end = f"UNTIL={expected[count - 1]:%Y%m%dT%H%M%SZ}" if by_instant else f"COUNT={count}"
    try:
        windows = expand(f"{written(rule)};{end}", start, MOMENT, zone)
    except UnitError as error:
        raise AssertionError(f"{written(rule)};{end} {start}: {error}") from None
    assert [window.start for window in windows] == expected[:count], f"{written(rule)};{end} {start}"
