"""When a reservation is wanted and how much: one window, a recurrence, a schedule, or rates by the hours of the day."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any, NamedTuple

from slotcar.base.timebase import Window, iso
from slotcar.base.units import (
    MAX_DURATION,
    format_duration,
    parse_any_bps,
    parse_calendar_duration,
    parse_rate_bps,
)
from slotcar.base.vocabulary import RESERVED_SERVICES, Direction, Service
from slotcar.reservation import times
from slotcar.reservation.hours import DailyHours, expand_hours, parse_time_of_day
from slotcar.reservation.keys import Keys, Mistakes, value_text, with_unit
from slotcar.reservation.model import BackgroundShare, Reservation, Slot, joined_slots
from slotcar.reservation.need import VolumeByDeadline
from slotcar.reservation.recurrence import MOST_OCCURRENCES, check_rule, expand
from slotcar.reservation.wall_clock import Length
from slotcar.reservation.written import HOURS_KEYS, RATE_KEYS, SCHEDULE_KEYS, read_ways

#: As many as a recurrence may have: a day's and a night's rate for four years.
MOST_SLOTS = MOST_OCCURRENCES
_RATE_HINT = "say the payload rate, such as `36 Mbit/s`; best-effort and qbss need none"
_WAYS_HINT = "say `rate: {forward: 20 Mbit/s, reverse: 1 Mbit/s}`"
_RELATIVE = re.compile(r"\s*now\b", re.IGNORECASE)


class Rates(NamedTuple):
    """Payload rates each way, bits per second."""

    forward_bps: int
    reverse_bps: int


@dataclass(frozen=True, slots=True)
class Amounts:
    """What the keys of time and rate say together. `timezone` is None where no wall clock was used; `need` is what was
    asked by volume, and the slots the constant rate that would do.
    """

    slots: tuple[Slot, ...]
    direction: Direction
    timezone: str | None
    need: VolumeByDeadline | None = None


@dataclass(slots=True)
class SlotReader(Keys):
    """Reads `rate`, `start`, `end`, `duration`, `recurrence`, `timezone`, `schedule`, `hours` and `direction`.

    Attributes:
        slot_count: how many slots they give, also where anything else is wrong.
        relative: whether a start or an end is written relative to now.
        share: of a background reservation, which says its rates.
    """

    share: BackgroundShare | None = None
    slot_count: int = 0
    relative: bool = False

    def amounts(self, service: Service | None) -> Amounts | None:
        """The amounts; None where anything is wrong, which was noted."""
        stated = self.field("direction", Reservation.model_fields["direction"])
        reserved = (service is None or service in RESERVED_SERVICES) and not self._has("share")
        self._refuse_rates_of_a_share(service)
        zone = self.unit("timezone", times.parse_zone)
        slots = self._schedule(reserved) if self._has("schedule") else self._simple(reserved, zone)
        self.slot_count = max(self.slot_count, len(slots or ()))
        if slots is None or stated is None or "timezone" in self.failed:
            return None
        uses_clock = self._has("recurrence") or self._has("hours")
        if zone is not None and not uses_clock:
            hint = "leave it out"
            self.wrong("timezone", "has no meaning without a recurrence or hours", self.data["timezone"], hint)
        if len(slots) > MOST_SLOTS:
            key = next(key for key in ("hours", "schedule", "recurrence") if self._has(key))
            self.wrong(key, f"makes more than {MOST_SLOTS} slots", "", "end it earlier")
            return None
        return Amounts(slots, self._direction(stated, slots), self._zone_name() if uses_clock else None)

    def _refuse_rates_of_a_share(self, service: Service | None) -> None:
        if not self._has("share"):
            return
        for key in ("rate", "schedule", "hours"):
            if self._has(key):
                hint = "say `at_least` and `at_most` in the share, and one window"
                self.wrong(key, "does not go with a share", value_text(self.data[key]), hint)
        if service is not None and service not in RESERVED_SERVICES:
            hint = f"leave it out, or say service {' or '.join(RESERVED_SERVICES)}"
            self.wrong("share", f"does not go with {service.value}, which promises no rate", "", hint)

    def _has(self, key: str) -> bool:
        return self.data.get(key) is not None

    # -- rates ---------------------------------------------------------------------------------------------------

    def rates(self, needed: bool) -> Rates | None:
        """The key `rate`: a text for each reserved direction, or one text for each way, or such a mapping as a text."""
        value = self.data.get("rate")
        if self.share is not None:
            ways = self._stated_direction().ways
            return Rates(*(self.share.at_least_bps if way in ways else 0 for way in Direction.BOTH.ways))
        if value is None:
            if needed:
                self.wrong("rate", "is missing", "", _RATE_HINT)
                return None
            return Rates(0, 0)
        if isinstance(value, str) and "=" in value:
            try:
                value = read_ways(value)
            except Mistakes as error:
                for below, message, wrong, hint in error.wrong:
                    self.wrong(f"rate{below}", message, wrong, hint)
                return None
        return self._rates_each_way(value) if isinstance(value, Mapping) else self._one_rate()

    def _one_rate(self) -> Rates | None:
        rate_bps = self.unit("rate", with_unit(parse_rate_bps, "Mbit/s"))
        if rate_bps is None:
            return None
        ways = self._stated_direction().ways
        return Rates(*(rate_bps if way in ways else 0 for way in Direction.BOTH.ways))

    def _rates_each_way(self, value: Mapping[str, Any]) -> Rates | None:
        inner = Keys(value, lambda key, *words: self.complain(f"rate.{key}", *words), self.now)
        _refuse_unknown(inner, RATE_KEYS)
        if not any(value.get(key) is not None for key in RATE_KEYS):
            self.wrong("rate", "is missing", "", _WAYS_HINT)
        rates = [inner.unit(key, with_unit(parse_any_bps, "Mbit/s"), 0) for key in RATE_KEYS]
        if not inner.failed and not any(rates):
            self.wrong("rate", "is not a rate above zero either way", value_text(value), _WAYS_HINT)
        if self._has("direction"):
            for way, rate_bps in zip(Direction.BOTH.ways, rates, strict=True):
                if rate_bps and way not in self._stated_direction().ways:
                    inner.wrong(
                        way.value, f"is given, but direction is {self.data['direction']}", value[way.value],
                        "leave `direction` out: the rates say it",
                    )  # fmt: skip
        if inner.failed or "rate" in self.failed:
            self.failed.add("rate")
            return None
        return Rates(*(rate_bps or 0 for rate_bps in rates))

    def _stated_direction(self) -> Direction:
        value = self.data.get("direction")
        return Direction(value) if value in list(Direction) else Direction.FORWARD

    def _direction(self, stated: Direction, slots: Sequence[Slot]) -> Direction:
        """The direction as stated, or as the rates have it."""
        if self._has("direction"):
            return stated
        ways = [way for way in Direction.BOTH.ways if any(slot.rate_bps(way) for slot in slots)]
        return ways[0] if len(ways) == 1 else Direction.BOTH if ways else stated

    # -- times ---------------------------------------------------------------------------------------------------

    def _simple(self, reserved: bool, zone: tzinfo | None) -> tuple[Slot, ...] | None:
        """One window, or each window of a recurrence; each with one rate, or with rates by the hours of the day."""
        rates = self.rates(needed=reserved and not self._has("hours"))
        windows, zone = self._windows(zone)
        self.slot_count = len(windows or ())
        hours = self._hours() if self._has("hours") else ()
        if rates is None or windows is None or hours is None:
            return None
        if not hours or zone is None:
            return tuple(Slot(window.start, window.end, *rates) for window in windows)
        if _RELATIVE.match(str(self.data["start"])):
            self.wrong(
                "start",
                "is relative, which hours of the day cannot be",
                self.data["start"],
                "say a time with its zone",
            )
            return None
        slots: list[Slot] = []
        for window in windows:
            parts = expand_hours(window, hours, tuple(rates), zone)
            slots += joined_slots(Slot(start, end, *each) for start, end, each in parts if any(each) or not reserved)
        if not slots:
            self.wrong("hours", "lie outside of the slot", "", "the slot must hold some of these hours")
            return None
        return tuple(slots)

    def _windows(self, zone: tzinfo | None) -> tuple[tuple[Window, ...] | None, tzinfo | None]:
        """The windows, and the zone of their wall clock."""
        if not self._has("start"):
            self.wrong("start", "is missing", "", times.TIME_HINT)
        start = self.unit("start", self._time)
        length = self._length(start)
        if start is None or length is None or "timezone" in self.failed:
            self.unit("recurrence", check_rule)
            return None, None
        local = zone or times.parse_zone(times.zone_name(start))
        if not self._has("recurrence"):
            return self._not_past((Window(start, length.after(start, local)),)), local
        expanded = self.unit("recurrence", lambda text: expand(text, start, length, local))
        return (self._not_past(expanded) if expanded else None), local

    def _time(self, text: object) -> datetime:
        moment = times.parse_time(text, self.now)
        self.relative = self.relative or bool(_RELATIVE.match(str(text)))
        return moment

    def _length(self, start: datetime | None) -> Length | None:
        end_given, duration_given = (self._has(key) for key in ("end", "duration"))
        if end_given == duration_given:
            message = "is given, and so is duration" if end_given else "is missing, and so is duration"
            self.wrong("end", message, "", "say either `end` or `duration`")
            return None
        if duration_given:
            parted = self.unit("duration", with_unit(parse_calendar_duration, "min"))
            return None if parted is None else Length(*parted)
        end = self.unit("end", self._time)
        if end is None or start is None:
            return None
        if end <= start:
            self.wrong(
                "end", f"is not after the start at {iso(start)}", self.data["end"], "a slot ends after it starts"
            )
            return None
        if end - start > MAX_DURATION:
            self.wrong("end", "is too late for one slot", self.data["end"], f"at most {MAX_DURATION.days} d long")
            return None
        return Length(0, end - start)

    def _not_past(self, windows: tuple[Window, ...]) -> tuple[Window, ...]:
        last = windows[-1].end
        if last <= self.now:
            key = "recurrence" if len(windows) > 1 else "end" if self._has("end") else "start"
            ago = format_duration(timedelta(seconds=max(1, round((self.now - last).total_seconds()))))
            which, hint = "the slot", times.TIME_HINT
            if key == "recurrence":
                which, hint = "its last slot", "start it later, or let it recur for longer"
            self.wrong(key, f"is past: {which} ended at {iso(last)}, {ago} ago", self.data.get(key), hint)
        return windows

    def _zone_name(self) -> str:
        if self._has("timezone"):
            return str(self.data["timezone"])
        start = self.data["schedule"][0]["start"] if self._has("schedule") else self.data["start"]
        return times.zone_name(times.parse_time(start, self.now))

    # -- schedule ------------------------------------------------------------------------------------------------

    def _schedule(self, reserved: bool) -> tuple[Slot, ...] | None:
        """Slots that were written one by one; a recurrence repeats all of them, as far apart as they are."""
        for key in ("start", "end", "duration", "hours"):
            if self._has(key):
                self.wrong(key, "does not go with a schedule", self.data[key], "say it in the schedule's slots")
        items = self.data["schedule"]
        hint = "say a list of slots: `- {start: …, duration: …, rate: …}`"
        if not isinstance(items, list | tuple) or not items or not all(isinstance(one, Mapping) for one in items):
            self.wrong("schedule", "is no list of slots", value_text(items), hint)
            return None
        if len({bool(_RELATIVE.match(str(item.get("start")))) for item in items}) > 1:
            self.wrong("schedule", "mixes times that are relative to now with others", "", "say all of one kind")
        read = [self._slot(number, item, reserved) for number, item in enumerate(items)]
        slots = sorted(slot for slot in read if slot is not None)
        if len(slots) < len(items) or self.failed & {"schedule", "start", "end", "duration", "hours"}:
            return None
        for earlier, later in pairwise(slots):
            if earlier.end > later.start:
                self.wrong(
                    "schedule", f"has slots that overlap: {earlier} and {later}", "", "one ends where one starts"
                )
                return None
        return self._repeated(joined_slots(slots))

    def _slot(self, number: int, item: Mapping[str, Any], reserved: bool) -> Slot | None:
        above = f"schedule[{number}]"
        data = {"rate": self.data.get("rate"), "direction": self.data.get("direction"), **item}
        inner = SlotReader(data, lambda key, *words: self.complain(f"{above}.{key}", *words), self.now)
        _refuse_unknown(Keys(item, inner.complain, self.now, inner.failed), SCHEDULE_KEYS)
        rates = inner.rates(needed=reserved)
        windows, _ = inner._windows(None)
        self.relative = self.relative or inner.relative
        if inner.failed or rates is None or windows is None:
            self.failed.add("schedule")
            return None
        return Slot(windows[0].start, windows[0].end, *rates)

    def _repeated(self, slots: tuple[Slot, ...]) -> tuple[Slot, ...] | None:
        if not self._has("recurrence"):
            return slots
        first, length = slots[0].start, Length(0, slots[-1].end - slots[0].start)
        zone = times.parse_zone(self._zone_name())
        windows = self.unit("recurrence", lambda text: expand(text, first, length, zone))
        if windows is None:
            return None
        self._not_past(windows)
        shifts = [window.start - first for window in windows]
        return tuple(
            replace(slot, start=slot.start + shift, end=slot.end + shift) for shift in shifts for slot in slots
        )

    # -- hours of the day ----------------------------------------------------------------------------------------

    def _hours(self) -> tuple[DailyHours, ...] | None:
        items = self.data["hours"]
        hint = "say a list: `- {from: 20:00, to: 06:00, rate: 34 Mbit/s}`"
        if not isinstance(items, list | tuple) or not items or not all(isinstance(one, Mapping) for one in items):
            self.wrong("hours", "is no list of hours", value_text(items), hint)
            return None
        read = [self._one_span(number, item) for number, item in enumerate(items)]
        spans = [span for span in read if span is not None]
        for number, span in enumerate(spans):
            if any(span.overlaps(other) for other in spans[:number]):
                self.wrong(f"hours[{number}]", "overlaps other hours", "", "each hour has one rate")
                return None
        return tuple(spans) if len(spans) == len(items) else None

    def _one_span(self, number: int, item: Mapping[str, Any]) -> DailyHours | None:
        above = f"hours[{number}]"
        data = {"direction": self.data.get("direction"), **item}
        inner = SlotReader(data, lambda key, *words: self.complain(f"{above}.{key}", *words), self.now)
        _refuse_unknown(Keys(item, inner.complain, self.now, inner.failed), HOURS_KEYS)
        for key in ("from", "to"):
            inner.required(key, "say a time of day such as `20:00`")
        begin, end = (inner.unit(key, parse_time_of_day) for key in ("from", "to"))
        rates = inner.rates(needed=True)
        if begin is not None and begin == end:
            inner.wrong(
                "to", "is the same as `from`", item["to"], "a span of hours has a length; leave it out for all day"
            )
        if inner.failed or begin is None or end is None or rates is None:
            self.failed.add("hours")
            return None
        return DailyHours(begin, end, tuple(rates))


def _refuse_unknown(keys: Keys, names: Sequence[str]) -> None:
    for key in keys.data:
        if key not in names:
            keys.wrong(key, "is no key that is known here", "", f"the keys are {', '.join(names)}")
