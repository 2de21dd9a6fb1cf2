"""Recurrences (RFC 5545 RRULE) into windows: bounded, checked before they are searched, the wall clock kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import MAXYEAR, UTC, datetime, timedelta, tzinfo
from itertools import pairwise

from dateutil.rrule import rrulestr

from slotcar.timebase import Window, iso
from slotcar.units import UnitError

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
_DAY = "(?:MO|TU|WE|TH|FR|SA|SU)"
_NTH_DAY = rf"(?:[+-]?(?:[1-9]|[1-4][0-9]|5[0-3]))?{_DAY}"
_TEXTS = {"BYDAY": re.compile(rf"{_NTH_DAY}(?:,{_NTH_DAY})*"), "WKST": re.compile(_DAY)}
_PARTS = ("FREQ", "UNTIL", *_NUMBERS, *_TEXTS)
#: The calendar repeats after so many years, weekdays too.
_CYCLE_YEARS = 400


def check_rule(rule: object) -> Mapping[str, str]:
    """The parts of a rule, each of a form that it can have.

    Raises:
        UnitError: no rule, or one without end.
    """
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
    if parts["FREQ"] in ("DAILY", "WEEKLY") and re.search(r"[0-9]", parts.get("BYDAY", "")):
        # RFC 5545 §3.3.10 forbids it; read as every such day it would reserve four times what was meant.
        raise UnitError(f"cannot have BYDAY={parts['BYDAY'][:20]}", rule, "a numbered day needs MONTHLY or YEARLY")
    if "COUNT" not in parts and "UNTIL" not in parts:
        raise UnitError("never ends", rule, "end it with `COUNT=…` or `UNTIL=…`")
    return parts


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


def expand(rule: object, start: datetime, duration: timedelta, zone: tzinfo) -> tuple[Window, ...]:
    """The window of each occurrence, the wall clock of `zone` kept across its changes to summer time.

    Raises:
        UnitError: no rule, one without end, too many occurrences, none, one too far off, or some that overlap.
    """
    parts = check_rule(rule)
    local_start = start.astimezone(zone)
    starts: set[datetime] = set()
    for local in _occurrences(parts, rule, local_start.replace(tzinfo=None), zone):
        # An hour that comes twice is meant as the start was written: the first time or the second.
        fold = local_start.fold if local == local_start.replace(tzinfo=None) else 0
        starts.add(local.replace(tzinfo=zone, fold=fold).astimezone(UTC))
    if not starts:
        raise UnitError("never occurs", rule, RULE_HINT)
    windows = tuple(Window(one, one + duration) for one in sorted(starts))
    for earlier, later in pairwise(windows):
        if earlier.end > later.start:
            raise UnitError(
                f"occurs again at {iso(later.start)}, before its occurrence of {iso(earlier.start)} ends", rule,
                "make the duration shorter or the interval longer",
            )  # fmt: skip
    return windows


def _occurrences(parts: Mapping[str, str], rule: object, start: datetime, zone: tzinfo) -> Iterator[datetime]:
    """Local starts in order.

    The search for an occurrence ends at the calendar's last year only, so it is done in a copy of these years that is
    near that end: a rule that never occurs (30 February) takes a moment and not minutes.
    """
    until = _local_until(rule, parts["UNTIL"], zone) if "UNTIL" in parts else None
    text = ";".join(f"{name}={value}" for name, value in parts.items() if name != "UNTIL")
    away = (MAXYEAR - 1 - start.year - LONGEST_RECURRENCE.days // 365) // _CYCLE_YEARS * _CYCLE_YEARS
    count = 0
    try:
        # The search drops fractions of a second; every occurrence gets the start's back.
        for moment in rrulestr(text, dtstart=start.replace(year=start.year + away, microsecond=0, fold=0)):
            local = moment.replace(year=moment.year - away, microsecond=start.microsecond)
            if until is not None and local > until:
                return
            if local - start > LONGEST_RECURRENCE:
                raise UnitError(f"reaches further than {LONGEST_RECURRENCE.days} d", rule, "end it earlier")
            count += 1
            if count > MOST_OCCURRENCES:
                hint = "end it earlier with COUNT or UNTIL"
                raise UnitError(f"has more than {MOST_OCCURRENCES} occurrences", rule, hint)
            yield local
    except UnitError:
        raise
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        words = " ".join(str(error).split())
        reason = f": {words}" if isinstance(error, ValueError) else ""
        raise UnitError(f"is no recurrence{reason}", rule, RULE_HINT) from None


def _local_until(rule: object, until: str, zone: tzinfo) -> datetime:
    for form in ("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%Y%m%d"):
        try:
            moment = datetime.strptime(until, form)  # noqa: DTZ007 - local by its form
            if form.endswith("Z"):
                return moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
            return moment if "T" in form else moment + timedelta(days=1, microseconds=-1)
        except (ValueError, OverflowError):
            continue
    raise UnitError("has an UNTIL that is no date", rule, "say `UNTIL=20270601` or `UNTIL=20270601T000000Z`")
