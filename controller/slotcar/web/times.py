"""Times as a reader of the page sees and writes them: in the session's one zone, and never of two meanings. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from markupsafe import Markup

from slotcar.base import lengths
from slotcar.base.timebase import iso
from slotcar.base.units import UnitError, format_duration
from slotcar.reservation.times import parse_time, parse_zone

_WITH_ZONE = re.compile(r".*(Z|[+-]\d\d:?\d\d)", re.IGNORECASE | re.DOTALL)
_RELATIVE = re.compile(r"now\b.*", re.IGNORECASE | re.DOTALL)
_HINT = "say a time such as `2027-03-01 22:00`, `now`, or `now + 2 h`"


@dataclass(frozen=True, slots=True)
class Clock:
    """The zone of a session and the present instant.

    Attributes:
        name: the zone as it was chosen: `Europe/Zurich`.
    """

    name: str
    now: datetime

    @property
    def zone(self) -> tzinfo:
        return parse_zone(self.name)

    @property
    def heading(self) -> str:
        """`Europe/Zurich, UTC+01:00`: the offset of now, from which others are told apart."""
        return self.name if self.name == "UTC" else f"{self.name}, UTC{_offset(self.now.astimezone(self.zone))}"

    def words(self, moment: datetime) -> str:
        """`Mon 2027-03-01 22:00`, with seconds where there are some (fractions are in `element`), and with its offset where
        that is not now's: so the two hours of one name at the end of summer time differ.
        """
        local = moment.astimezone(self.zone)
        text = f"{local:%a %Y-%m-%d %H:%M}"
        if local.second or local.microsecond:
            text += f":{local:%S}"
        same = local.utcoffset() == self.now.astimezone(self.zone).utcoffset()
        return text if same else f"{text} {_offset(local)}"

    def written(self, moment: datetime) -> str:
        """For an input, which `parse` reads back as the same instant."""
        return moment.astimezone(self.zone).isoformat(sep=" ").removesuffix(":00") if _whole(moment) else iso(moment)

    def element(self, moment: datetime) -> Markup:
        """The words, with the instant in UTC for programs and for whoever points at it."""
        utc = iso(moment)
        return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(utc, self.words(moment))

    def parse(self, text: str) -> datetime:
        """The instant that somebody wrote: `now + 2 h`, a time with its zone, or one of the session's zone.

        Raises:
            UnitError: no time; one that the clocks leave out; one that they show twice.
        """
        if len(text) > lengths.TIME:
            raise UnitError("is not a time", text, _HINT)
        stripped = text.strip()
        if _RELATIVE.fullmatch(stripped) or _WITH_ZONE.fullmatch(stripped):
            return parse_time(stripped, self.now).astimezone(UTC)
        try:
            naive = datetime.fromisoformat(stripped)
        except ValueError:
            raise UnitError("is not a time", text, _HINT) from None
        if naive.tzinfo is None and len(stripped) <= len("2027-03-01"):
            raise UnitError("has no time of day", text, f"say `{stripped} 00:00` for midnight")
        earlier, later = (naive.replace(tzinfo=self.zone, fold=fold) for fold in (0, 1))
        if earlier.utcoffset() != later.utcoffset():
            # The clocks leave the hour out where going to UTC and back gives another time.
            if earlier.astimezone(UTC).astimezone(self.zone).replace(tzinfo=None) != naive:
                after = earlier.astimezone(UTC).astimezone(self.zone)
                raise UnitError(
                    f"is left out by the clocks of {self.name}", text, f"did you mean `{after:%Y-%m-%d %H:%M}`?"
                )
            meant = " or ".join(f"`{naive.isoformat(sep=' ')}{_offset(one)}`" for one in (earlier, later))
            raise UnitError(f"is twice on the clocks of {self.name} that night", text, f"say {meant}")
        return parse_time(earlier.astimezone(UTC).isoformat(), self.now)

    def distance(self, moment: datetime) -> str:
        """`in 2 h 5 min`, `3 min ago`, `now`."""
        seconds = round((moment - self.now).total_seconds())
        if not seconds:
            return "now"
        words = span_words(timedelta(seconds=abs(seconds)))
        return f"in {words}" if seconds > 0 else f"{words} ago"


def span_words(length: timedelta) -> str:
    """`2 h 5 min`: its two largest units."""
    seconds = int(length.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        minutes, rest = divmod(seconds, 60)
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < 10 else "")
    if seconds < 86_400:
        hours, rest = divmod(seconds // 60, 60)
        return f"{hours} h" + (f" {rest} min" if rest else "")
    days, rest = divmod(seconds // 3600, 24)
    return f"{days} d" + (f" {rest} h" if rest else "")


def echo(start: datetime, end: datetime, clock: Clock) -> str:
    """What was understood of a range: `Mon 2027-03-01 22:00 to 23:00 …, 1 h`."""
    return f"{clock.words(start)} to {clock.words(end)}, {format_duration(end - start)}"


def _offset(local: datetime) -> str:
    text = local.strftime("%z")
    return f"{text[:3]}:{text[3:5]}"


def _whole(moment: datetime) -> bool:
    return not moment.microsecond
