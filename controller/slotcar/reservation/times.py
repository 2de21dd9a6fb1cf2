"""Times as people write them: `now`, `now + 20 s`, or a time with its zone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slotcar.base import lengths
from slotcar.base.units import UnitError, parse_duration

TIME_HINT = "say `now`, `now + 20 min`, or a time with its zone such as `2027-03-01T22:00:00+01:00`"
ZONE_HINT = "say a place such as `Europe/Zurich`, `UTC`, or an offset such as `+01:00`"
#: Years outside are slips of the pen, and would not leave room for a duration or another zone.
FIRST_YEAR, LAST_YEAR = 1970, 2999
_NOW = re.compile(r"now(?:\s*\+\s*(.+))?", re.IGNORECASE)
_DATE = re.compile(r"[0-9W-]+")
#: Not the same place on every machine, or with leap seconds.
_NO_PLACES = re.compile(r"localtime|posixrules|(posix|right)/.*", re.DOTALL)
_OFFSET = re.compile(r"([+-])([01][0-9]|2[0-3]):?([0-5][0-9])")


def parse_time(text: object, now: datetime) -> datetime:
    """The instant, in the zone that was written; `now` is the next whole second, so that people can read and repeat it.

    Raises:
        UnitError: no time, or one without a zone.
    """
    if not isinstance(text, str):
        raise UnitError("is no time", text, TIME_HINT)
    if len(text) > lengths.TIME:
        raise UnitError("is no time", text, f"say it in at most {lengths.TIME} characters")
    stripped = text.strip()
    if match := _NOW.fullmatch(stripped):
        try:
            whole = _next_whole_second(now)
            return whole + parse_duration(match[1]) if match[1] else whole
        except UnitError as error:
            raise UnitError(f"{error.message} after `now +`", text, error.hint) from None
    try:
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        raise UnitError("is no time", text, TIME_HINT) from None
    if moment.tzinfo is None:
        if _DATE.fullmatch(stripped):
            raise UnitError(
                "has no time of day and no time zone", text, f"say `{stripped}T00:00:00Z` for midnight UTC"
            )
        raise UnitError("has no time zone", text, f"say `{stripped}Z` for UTC or `{stripped}+01:00`")
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise UnitError("is beyond the calendar", text, f"say a year from {FIRST_YEAR} to {LAST_YEAR}")
    return moment


def _next_whole_second(moment: datetime) -> datetime:
    return moment.replace(microsecond=0) + timedelta(seconds=1 if moment.microsecond else 0)


def parse_zone(text: object) -> tzinfo:
    """
    Raises:
        UnitError: no such zone.
    """
    if not isinstance(text, str) or len(text) > lengths.ZONE:
        raise UnitError("is no time zone", text, ZONE_HINT)
    if match := _OFFSET.fullmatch(text):
        minutes = int(match[2]) * 60 + int(match[3])
        return timezone(timedelta(minutes=minutes if match[1] == "+" else -minutes))
    try:
        if _NO_PLACES.fullmatch(text):
            raise ValueError(text)
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UnitError("is no time zone", text, ZONE_HINT) from None


def zone_name(moment: datetime) -> str:
    """The zone of a written time: `+01:00`, or `UTC`."""
    offset = moment.strftime("%z")
    return "UTC" if offset in ("+0000", "") else f"{offset[:3]}:{offset[3:5]}"
