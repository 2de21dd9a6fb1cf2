"""A volume by a deadline as people write it, with every mistake at its key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from slotcar.base.timebase import Window, iso
from slotcar.base.units import (
    MAX_DURATION,
    MAX_RATE_BPS,
    format_bytes,
    format_bytes_about,
    format_rate,
    parse_any_bps,
    parse_rate_bps,
    parse_size_bytes,
)
from slotcar.base.vocabulary import RESERVED_SERVICES, Service
from slotcar.reservation.keys import with_unit
from slotcar.reservation.model import Reservation, constant_slots
from slotcar.reservation.need import VolumeByDeadline, most_bytes
from slotcar.reservation.slots import Amounts, SlotReader
from slotcar.reservation.written import FIELDS

_VOLUME_HINT = "say how much is to be moved, such as `2 TB`"
_BY_HINT = "say the deadline, such as `2027-03-02T06:00:00Z`, or `now + 8 h`"
#: What says a rate or a time in another way.
_OTHER_WAYS = ("rate", "share", "end", "duration", "schedule", "hours", "recurrence", "timezone")


class _Bounds(NamedTuple):
    """Payload rates, bits per second; None where nothing was said."""

    at_least_bps: int | None
    at_most_bps: int | None


@dataclass(slots=True)
class NeedReader(SlotReader):
    """Reads `volume`, `by`, `start`, `at_most`, `at_least`, `shape` and `direction`."""

    def amounts(self, service: Service | None) -> Amounts | None:
        """The amounts; None where anything is wrong, which was noted."""
        for key in _OTHER_WAYS:
            if self._has(key):
                self.wrong(key, "does not go with a volume", self.data[key], "leave it out: admission finds the rates")
        direction = self.field("direction", Reservation.model_fields["direction"])
        shape = self.field("shape", FIELDS["shape"])
        volume_bytes = self._volume(service)
        start, by = self._start(), self._by()
        bounds = self._bounds()
        if volume_bytes is None or by is None or bounds is None or direction is None or "start" in self.failed:
            return None
        window = self._window(start, by)
        if window is None or shape is None:
            return None
        need = VolumeByDeadline(
            volume_bytes=volume_bytes,
            by=by,
            start=start,
            at_most_bps=bounds.at_most_bps,
            at_least_bps=bounds.at_least_bps or 0,
            shape=shape,
        )
        rate_bps = need.needed_bps(window)
        if not self._fast_enough(need, rate_bps, window):
            return None
        self.slot_count = 1
        return Amounts(constant_slots((window,), rate_bps, direction), direction, None, need)

    def _volume(self, service: Service | None) -> int | None:
        if not self._has("volume"):
            self.wrong("volume", "is missing", "", _VOLUME_HINT)
            return None
        if service is not None and service not in RESERVED_SERVICES:
            promised = " or ".join(one.value for one in RESERVED_SERVICES)
            hint = f"say {promised}: nothing else is promised a rate"
            self.wrong("volume", f"does not go with {service.value}", self.data["volume"], hint)
        return self.unit("volume", with_unit(parse_size_bytes, "GB"))

    def _start(self) -> datetime | None:
        """The start; None for at once."""
        return None if self._at_once else self.unit("start", self._time)

    @property
    def _at_once(self) -> bool:
        return str(self.data.get("start") or "now").strip().lower() == "now"

    def _by(self) -> datetime | None:
        if not self._has("by"):
            self.wrong("by", "is missing: a volume has a deadline", "", _BY_HINT)
            return None
        start_is_relative, self.relative = self.relative, False
        by = self.unit("by", self._time)
        if by is not None and start_is_relative and not self.relative:
            hint = "say both relative to now, or neither"
            self.wrong("by", "is no time relative to now, and start is one", self.data["by"], hint)
        elif self.relative and not start_is_relative and not self._at_once:
            hint = "say both relative to now, or neither"
            self.wrong("start", "is no time relative to now, and by is one", self.data["start"], hint)
        self.relative = self.relative or start_is_relative
        return by

    def _bounds(self) -> _Bounds | None:
        parse = {"at_least": parse_any_bps, "at_most": parse_rate_bps}
        bounds = _Bounds(*(self.unit(key, with_unit(each, "Mbit/s")) for key, each in parse.items()))
        if self.failed & {"at_least", "at_most"}:
            return None
        if (
            bounds.at_least_bps is not None
            and bounds.at_most_bps is not None
            and bounds.at_least_bps > bounds.at_most_bps
        ):
            hint = "raise at_most, or lower at_least"
            self.wrong("at_least", f"is above at_most, {format_rate(bounds.at_most_bps)}", self.data["at_least"], hint)
            return None
        return bounds

    def _window(self, start: datetime | None, by: datetime) -> Window | None:
        """The time that there is, from now on."""
        if start is not None and by <= start:
            hint = "a deadline is after the start"
            self.wrong("by", f"is not after the start at {iso(start)}", self.data["by"], hint)
        elif by <= self.now:
            self.wrong("by", f"is past: it is {iso(self.now)}", self.data["by"], _BY_HINT)
        elif by - max(start or self.now, self.now) > MAX_DURATION:
            self.wrong("by", "is too late", self.data["by"], f"at most {MAX_DURATION.days} d after the start")
        else:
            first = max(start or self.now, self.now)
            return Window(first, by)
        return None

    def _fast_enough(self, need: VolumeByDeadline, needed_bps: int, window: Window) -> bool:
        """Whether the highest rate moves the volume in all of the time."""
        if needed_bps <= need.highest_bps:
            return True
        most, later = format_bytes_about(most_bytes(need.highest_bps, window)), "or a later deadline"
        if needed_bps > MAX_RATE_BPS:
            words = f"is more than any link carries by {iso(need.by)}"
            self.wrong("volume", words, self.data["volume"], f"say at most {most}, {later}")
        else:
            words = f"moves {most} by {iso(need.by)} and not {format_bytes(need.volume_bytes)}"
            self.wrong("at_most", words, self.data["at_most"], f"say at least {format_rate(needed_bps)}, {later}")
        return False
