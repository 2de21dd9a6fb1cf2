"""Recurrences (RFC 5545 RRULE) into windows: bounded, checked before they are searched, the wall clock kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import MAXYEAR, UTC, datetime, timedelta, tzinfo
from functools import partial
from heapq import merge
from itertools import groupby, pairwise

from dateutil.rrule import rrulestr

from slotcar.base import lengths
from slotcar.base.timebase import Window, iso
from slotcar.base.units import UnitError
from slotcar.reservation.wall_clock import Length, exists, instant_of

RULE_HINT = "say for example `FREQ=DAILY;COUNT=14` or `FREQ=WEEKLY;BYDAY=MO,TH;UNTIL=20270601T000000Z`"
#: A slot every hour for four months, or every day for eight years.
MOST_OCCURRENCES = 3_000
#: How far a recurrence reaches at most.
LONGEST_RECURRENCE = timedelta(days=3660)
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
#: RFC 5545 §3.3.10: the least and the greatest number of each part; True where it also counts from the end.
_NUMBERS: dict[str, tuple[int, int, bool]] = {
    "COUNT": (1, MOST_OCCURRENCES, False), "INTERVAL": (1, 10**4, False),
    "BYSECOND": (0, 59, False), "BYMINUTE": (0, 59, False), "BYHOUR": (0, 23, False),
    "BYMONTHDAY": (1, 31, True), "BYYEARDAY": (1, 366, True), "BYWEEKNO": (1, 53, True), "BYMONTH": (1, 12, False),
    "BYSETPOS": (1, 366, True),
}  # fmt: skip
_DAYS_HINT = "days are MO, TU, WE, TH, FR, SA, SU; `1MO` is the first Monday, `-1FR` the last Friday"
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY = "(?:MO|TU|WE|TH|FR|SA|SU)"
_NTH_DAY = rf"(?:[+-]?(?:[1-9]|[1-4][0-9]|5[0-3]))?{_DAY}"
_TEXTS = {"BYDAY": re.compile(rf"{_NTH_DAY}(?:,{_NTH_DAY})*"), "WKST": re.compile(_DAY)}
_PARTS = ("FREQ", "UNTIL", *_NUMBERS, *_TEXTS)
#: RFC 5545 §3.3.10: in other rules these parts have no meaning.
_ONLY_WITH = {
    "BYWEEKNO": ("YEARLY",), "BYYEARDAY": ("YEARLY",), "BYMONTHDAY": ("DAILY", "MONTHLY", "YEARLY"),
}  # fmt: skip
#: The calendar repeats after so many years, weekdays too.
_CYCLE_YEARS = 400


def check_rule(rule: object) -> Mapping[str, str]:
    """The parts of a rule, each of a form that it can have.

    Raises:
        UnitError: no rule, or one without end.
    """
    if isinstance(rule, str) and len(rule) > lengths.RECURRENCE:
        raise UnitError("is too long", rule, f"say it in at most {lengths.RECURRENCE} characters")
    if not isinstance(rule, str) or "=" not in rule or not rule.strip().isprintable():
        raise UnitError("is no recurrence", rule, RULE_HINT)
    text = "".join(rule.upper().split()).removeprefix("RRULE:")
    parts: dict[str, str] = {}
    for part in filter(None, text.split(";")):
        name, _, value = part.partition("=")
        if name not in _PARTS:
            raise UnitError(f"has an unknown part {name[:20]}", rule, f"the parts are {', '.join(_PARTS)}")
        if name in parts:
            raise UnitError(f"has {name} twice", rule, "keep one of the two")
        _check_part(name, value, rule)
        parts[name] = value
    if parts.get("FREQ") not in _FREQUENCIES:
        raise UnitError("has no frequency that slots can have", rule, f"FREQ is one of {', '.join(_FREQUENCIES)}")
    _check_together(parts, rule)
    if "COUNT" not in parts and "UNTIL" not in parts:
        raise UnitError("never ends", rule, "end it with `COUNT=…` or `UNTIL=…`")
    return parts


def _check_together(parts: Mapping[str, str], rule: str) -> None:
    """What RFC 5545 §3.3.10 forbids beside one another."""
    if parts["FREQ"] in ("DAILY", "WEEKLY") and re.search(r"[0-9]", parts.get("BYDAY", "")):
        # RFC 5545 §3.3.10 forbids it; read as every such day it would reserve four times what was meant.
        raise UnitError(f"cannot have BYDAY={parts['BYDAY'][:20]}", rule, "a numbered day needs MONTHLY or YEARLY")
    for name, frequencies in _ONLY_WITH.items():
        if name in parts and parts["FREQ"] not in frequencies:
            raise UnitError(f"cannot have {name}", rule, f"{name} needs {' or '.join(frequencies)}")
    if "BYWEEKNO" in parts and re.search(r"[0-9]", parts.get("BYDAY", "")):
        raise UnitError(f"cannot have BYDAY={parts['BYDAY'][:20]}", rule, "beside BYWEEKNO days have no number")
    if "BYSETPOS" in parts and not any(name.startswith("BY") and name != "BYSETPOS" for name in parts):
        raise UnitError(
            "cannot have BYSETPOS alone", rule, "it chooses among what another BY… gives, such as BYDAY=MO,TU"
        )


def _check_part(name: str, value: str, rule: str) -> None:
    if name in _NUMBERS:
        least, most, negative = _NUMBERS[name]
        numbers = value.split(",") if name not in ("COUNT", "INTERVAL") else [value]
        sign = "[+-]?" if negative else ""
        if not all(re.fullmatch(f"{sign}[0-9]{{1,10}}", one) and least <= abs(int(one)) <= most for one in numbers):
            also = f" or -{most} to -{least}" if negative else ""
            raise UnitError(f"cannot have {name}={value[:20]}", rule, f"{name} is {least} to {most}{also}")
    elif name in _TEXTS and not _TEXTS[name].fullmatch(value):
        raise UnitError(f"cannot have {name}={value[:20]}", rule, _DAYS_HINT)


def expand(rule: object, start: datetime, length: Length, zone: tzinfo) -> tuple[Window, ...]:
    """The window of each occurrence, the wall clock of `zone` kept across its changes to summer time.

    An occurrence whose start the clock leaves out is none, and does not count (RFC 5545 §3.3.10).

    Raises:
        UnitError: no rule, one without end, too many occurrences, none, one too far off, or some that overlap.
    """
    parts = check_rule(rule)
    starts = tuple(_starts(parts, rule, start.astimezone(zone), zone))
    if not starts:
        raise UnitError("never occurs", rule, RULE_HINT)
    windows = tuple(Window(one, length.after(one, zone)) for one in starts)
    for earlier, later in pairwise(windows):
        if earlier.end > later.start:
            offsets = {one.astimezone(zone).utcoffset() for one in (earlier.start, later.start)}
            changed = (
                "the clocks change in between: give the duration in days, such as `P1D`, a day of the calendar; or "
            )
            raise UnitError(
                f"occurs again at {iso(later.start)}, before its occurrence of {iso(earlier.start)} ends", rule,
                f"{changed if len(offsets) > 1 else ''}make the duration shorter or the interval longer",
            )  # fmt: skip
    return windows


def left_out(rule: str, windows: Sequence[Window], zone: tzinfo) -> tuple[datetime, ...]:
    """The times of the wall clock at which a rule that was expanded to `windows` would occur too, were they not among those
    that the clock leaves out: up to UNTIL, or the last window."""
    parts = check_rule(rule)
    positions = [int(one) for one in parts["BYSETPOS"].split(",")] if "BYSETPOS" in parts else []
    first, last = (one.start.astimezone(zone).replace(tzinfo=None, fold=0) for one in (windows[0], windows[-1]))
    if "UNTIL" in parts:
        until = _until(rule, parts["UNTIL"])
        last = min(until.astimezone(zone).replace(tzinfo=None) if until.tzinfo else until, first + LONGEST_RECURRENCE)
    missing = []
    for period in _periods(parts, rule, first):
        missing += [one for one in _at_positions(period, positions) if first < one <= last and not exists(one, zone)]
        if period[-1] >= last:
            break
    return tuple(missing)


def _starts(parts: Mapping[str, str], rule: object, start: datetime, zone: tzinfo) -> Iterator[datetime]:
    """The instants at which the rule occurs, in order; UNTIL in UTC is an instant, else a time of the wall clock."""
    until = _until(rule, parts["UNTIL"]) if "UNTIL" in parts else None
    positions = [int(one) for one in parts["BYSETPOS"].split(",")] if "BYSETPOS" in parts else []
    most = int(parts.get("COUNT", MOST_OCCURRENCES + 1))
    first, count = start.replace(tzinfo=None, fold=0), 0
    for period in _periods(parts, rule, first):
        instants = {}
        for local in period:
            if exists(local, zone):
                # An hour that comes twice is meant as the start was written: the first time or the second.
                fold = start.fold if local.date() == first.date() else 0
                instants[local] = instant_of(local, zone, fold)
        for local in _at_positions(list(instants), positions):
            if local < first:
                continue
            if until is not None and (instants[local] if until.tzinfo else local) > until:
                return
            _require_near(local, first, rule)
            count += 1
            if count > MOST_OCCURRENCES:
                hint = "end it earlier with COUNT or UNTIL"
                raise UnitError(f"has more than {MOST_OCCURRENCES} occurrences", rule, hint)
            yield instants[local]
            if count == most:
                return
        last = period[-1]
        if until is not None and (instant_of(last, zone) if until.tzinfo else last) > until:
            return
        _require_near(last, first, rule)


def _require_near(local: datetime, first: datetime, rule: object) -> None:
    if local - first > LONGEST_RECURRENCE:
        raise UnitError(f"reaches further than {LONGEST_RECURRENCE.days} d", rule, "end it earlier")


def _at_positions(period: list[datetime], positions: Sequence[int]) -> list[datetime]:
    """Those at the positions of BYSETPOS, from 1 or from the end; all without any."""
    if not positions:
        return period
    size = len(period)
    chosen = {one - 1 if one > 0 else size + one for one in positions}
    return [period[place] for place in sorted(chosen) if 0 <= place < size]


def _periods(parts: Mapping[str, str], rule: object, start: datetime) -> Iterator[list[datetime]]:
    """The local times of each day, week, month or year (as FREQ has it) in which there are any, the start's own first.

    The search for an occurrence ends at the calendar's last year only, so it is done in a copy of these years that is
    near that end: a rule that never occurs (30 February) takes a moment and not minutes.
    """
    away = (MAXYEAR - 1 - start.year - LONGEST_RECURRENCE.days // 365) // _CYCLE_YEARS * _CYCLE_YEARS
    begin = _period_of(parts, start)
    # The search drops fractions of a second; every occurrence gets the start's back.
    begin = begin.replace(year=begin.year + away)
    try:
        rules = [rrulestr(text, dtstart=begin) for text in _plain_rules(parts, start)]
        for _, period in groupby(merge(*rules), key=partial(_period_of, parts)):
            yield [
                moment.replace(year=moment.year - away, microsecond=start.microsecond)
                for moment in dict.fromkeys(period)
            ]
    except UnitError:
        raise
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        words = " ".join(str(error).split())
        reason = f": {words}" if isinstance(error, ValueError) else ""
        raise UnitError(f"is no recurrence{reason}", rule, RULE_HINT) from None


def _period_of(parts: Mapping[str, str], moment: datetime) -> datetime:
    """When the moment's day, week, month or year begins."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match parts["FREQ"]:
        case "WEEKLY":
            return day - timedelta(days=(day.weekday() - _WEEKDAYS.index(parts.get("WKST", "MO"))) % 7)
        case "MONTHLY":
            return day.replace(day=1)
        case "YEARLY":
            return day.replace(month=1, day=1)
    return day


def _plain_rules(parts: Mapping[str, str], start: datetime) -> Iterator[str]:
    """Rules that dateutil reads as RFC 5545 means them, and that occur together where the rule does; BYSETPOS, COUNT
    and UNTIL are left to the caller.

    What the rule leaves open is the start's (§3.3.10): it is stated, so that a search may begin at the period's beginning.
    Numbered days and days without a number are a union; within one rule dateutil takes what is both.
    """
    stated = {name: value for name, value in parts.items() if name not in ("COUNT", "UNTIL", "BYSETPOS")}
    stated = {"BYHOUR": str(start.hour), "BYMINUTE": str(start.minute), "BYSECOND": str(start.second)} | stated
    weekday = _WEEKDAYS[start.weekday()]
    if not stated.keys() & {"BYDAY", "BYMONTHDAY", "BYYEARDAY"}:
        if stated["FREQ"] == "WEEKLY" or "BYWEEKNO" in stated:
            stated["BYDAY"] = weekday
        elif stated["FREQ"] in ("MONTHLY", "YEARLY"):
            stated["BYMONTHDAY"] = str(start.day)
            if stated["FREQ"] == "YEARLY":
                stated.setdefault("BYMONTH", str(start.month))
    days = stated["BYDAY"].split(",") if "BYDAY" in stated else []
    plain, numbered = [day for day in days if len(day) == 2], [day for day in days if len(day) > 2]
    for these in [one for one in (plain, numbered) if one] or [[]]:
        own = stated | ({"BYDAY": ",".join(these)} if these else {})
        yield ";".join(f"{name}={value}" for name, value in own.items())


def _until(rule: object, until: str) -> datetime:
    """An instant in UTC, or without a zone a time of the wall clock; of a date its last moment."""
    for form in ("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%Y%m%d"):
        try:
            moment = datetime.strptime(until, form)  # noqa: DTZ007 - local by its form
            if form.endswith("Z"):
                return moment.replace(tzinfo=UTC)
            return moment if "T" in form else moment + timedelta(days=1, microseconds=-1)
        except (ValueError, OverflowError):
            continue
    raise UnitError("has an UNTIL that is no date", rule, "say `UNTIL=20270601` or `UNTIL=20270601T000000Z`")
