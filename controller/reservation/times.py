"""Times as people write them: `now`, `now + 20 s`, or a time with its zone; and recurrences (RFC 5545)."""

from __future__ import annotations

import re
import warnings
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil.rrule import rrule, rrulestr

from controller.timebase import Window, iso
from controller.units import UnitError, parse_duration

TIME_HINT = "say `now`, `now + 20 min`, or a time with its zone such as `2027-03-01T22:00:00+01:00`"
RULE_HINT = "say for example `FREQ=DAILY;COUNT=14` or `FREQ=WEEKLY;BYDAY=MO,TH;UNTIL=20270601T000000Z`"
ZONE_HINT = "say a place such as `Europe/Zurich`, `UTC`, or an offset such as `+01:00`"
#: A slot every hour for four months, or every day for eight years.
MOST_OCCURRENCES = 3_000
#: How far a recurrence reaches at most: an impossible one ends the search there.
LONGEST_RECURRENCE = timedelta(days=3660)
_NOW = re.compile(r"now(?:\s*\+\s*(.+))?", re.IGNORECASE)
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")


def parse_time(text: object, now: datetime) -> datetime:
    """The instant, in the zone that was written.

    Raises:
        UnitError: no time, or one without a zone.
    """
    if not isinstance(text, str):
        raise UnitError("is no time", text, TIME_HINT)
    stripped = text.strip()
    if match := _NOW.fullmatch(stripped):
        return now + parse_duration(match[1]) if match[1] else now
    try:
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        raise UnitError("is no time", text, TIME_HINT) from None
    if moment.tzinfo is None:
        raise UnitError("has no time zone", text, f"say `{stripped}Z` for UTC or `{stripped}+01:00`")
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise UnitError("is beyond the calendar", text, TIME_HINT) from None
    return moment


def parse_zone(text: object) -> tzinfo:
    """
    Raises:
        UnitError: no such zone.
    """
    if not isinstance(text, str):
        raise UnitError("is no time zone", text, ZONE_HINT)
    if match := _OFFSET.fullmatch(text):
        minutes = int(match[2]) * 60 + int(match[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=minutes if match[1] == "+" else -minutes))
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UnitError("is no time zone", text, ZONE_HINT) from None


def zone_name(moment: datetime) -> str:
    """The zone of a written time: `+01:00`, or `UTC`."""
    offset = moment.strftime("%z")
    return "UTC" if offset in ("+0000", "") else f"{offset[:3]}:{offset[3:5]}"


def expand(rule: object, start: datetime, duration: timedelta, zone: tzinfo) -> tuple[Window, ...]:
    """The window of each occurrence, the wall clock of `zone` kept across its changes to summer time.

    Raises:
        UnitError: no rule, one without end, too many occurrences, none, or occurrences that overlap.
    """
    parsed = _parse_rule(rule, start.astimezone(zone).replace(tzinfo=None), zone)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        starts = [local.replace(tzinfo=zone).astimezone(UTC) for local in islice(parsed, MOST_OCCURRENCES + 1)]
    if len(starts) > MOST_OCCURRENCES:
        raise UnitError(f"has more than {MOST_OCCURRENCES} occurrences", rule, "end it earlier with COUNT or UNTIL")
    if not starts:
        raise UnitError("never occurs", rule, RULE_HINT)
    windows = tuple(Window(one, one + duration) for one in sorted(set(starts)))
    for earlier, later in pairwise(windows):
        if earlier.end > later.start:
            raise UnitError(
                f"occurs again at {iso(later.start)}, before its occurrence of {iso(earlier.start)} ends", rule,
                "make the duration shorter or the interval longer",
            )  # fmt: skip
    return windows


def _parse_rule(rule: object, local_start: datetime, zone: tzinfo) -> rrule:
    if not isinstance(rule, str) or "\n" in rule.strip():
        raise UnitError("is no recurrence", rule, RULE_HINT)
    text = rule.strip().removeprefix("RRULE:")
    parts = dict(part.partition("=")[::2] for part in text.upper().split(";") if part)
    if parts.get("FREQ") not in _FREQUENCIES:
        raise UnitError("has no frequency that slots can have", rule, f"FREQ is one of {', '.join(_FREQUENCIES)}")
    if "COUNT" not in parts and "UNTIL" not in parts:
        raise UnitError("never ends", rule, "end it with COUNT=… or UNTIL=…")
    latest = local_start + LONGEST_RECURRENCE
    if until := parts.get("UNTIL", ""):
        latest = min(latest, _local_until(rule, until, zone))
        text = ";".join(part for part in text.split(";") if not part.upper().startswith("UNTIL"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # COUNT and a last day together: the first that is reached ends it
            found = rrulestr(text, dtstart=local_start)
            if not isinstance(found, rrule):
                raise UnitError("is more than one rule", rule, RULE_HINT)
            bounded: rrule = found.replace(until=latest)
            return bounded
    except UnitError:
        raise
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
        words = " ".join(str(error).split()) or "it cannot be read"
        raise UnitError(f"is no recurrence: {words}", rule, RULE_HINT) from None


def _local_until(rule: str, until: str, zone: tzinfo) -> datetime:
    for form in ("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%Y%m%d"):
        try:
            moment = datetime.strptime(until, form)  # noqa: DTZ007 - local by its form
        except ValueError:
            continue
        if form.endswith("Z"):
            return moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
        return moment if "T" in form else moment + timedelta(days=1, microseconds=-1)
    raise UnitError("has an UNTIL that is no date", rule, "say UNTIL=20270601 or UNTIL=20270601T000000Z")
