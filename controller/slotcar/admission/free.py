"""What is free over time, as columns: the same as a profile without a gap, for arithmetic over thousands of steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slotcar.admission.kernels import Ints
from slotcar.admission.rates import SECOND_US, Crossing, Profile, RateStep
from slotcar.admission.resource_id import SLS
from slotcar.admission.tables import Columns, SlotTables
from slotcar.base.timebase import Window
from slotcar.base.units import MAX_RATE_BPS
from slotcar.network.model import Sls

#: Numbers are multiplied in two parts of so many bits: sums of their products stay within 64 bits.
_BITS = 20
_MASK = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class Free:
    """Payload rates, bits per second, each from its start to the next one's; the last to `end_us`."""

    starts_us: Ints
    rates_bps: Ints
    end_us: int

    @classmethod
    def of(cls, steps: Sequence[RateStep]) -> Free:
        """Columns of at least one step; the steps have no gap between them."""
        columns = np.array(steps, dtype=np.int64)
        return cls(columns[:, 0], columns[:, 2], int(columns[-1, 1]))

    @property
    def ends_us(self) -> Ints:
        return np.append(self.starts_us[1:], self.end_us)

    def profile(self) -> Profile:
        return tuple(map(RateStep, self.starts_us.tolist(), self.ends_us.tolist(), self.rates_bps.tolist()))

    def within(self, start_us: int, end_us: int) -> Free:
        """What lies in `[start_us, end_us)`; nothing where that is outside."""
        first = max(0, int(np.searchsorted(self.starts_us, start_us, "right")) - 1)
        last = int(np.searchsorted(self.starts_us, min(end_us, self.end_us), "left"))
        starts = np.maximum(self.starts_us[first:last], start_us)
        return Free(starts, self.rates_bps[first:last], min(end_us, self.end_us))

    def between(self, low_bps: int, high_bps: int) -> Free:
        """min(high, free), and nothing where that is under `low_bps`; equal neighbours joined."""
        rates = np.where(self.rates_bps >= low_bps, np.minimum(self.rates_bps, high_bps), 0)
        changes = np.concatenate(([True], rates[1:] != rates[:-1]))
        return Free(self.starts_us[changes], rates[changes], self.end_us)

    @property
    def microbits(self) -> int:
        """The volume of all of it, exactly."""
        return _volume(self.rates_bps, self.ends_us - self.starts_us)

    def least_bps(self, start_us: int, end_us: int) -> int:
        """The least rate in `[start_us, end_us)`, which lies inside."""
        first = int(np.searchsorted(self.starts_us, start_us, "right")) - 1
        last = int(np.searchsorted(self.starts_us, end_us, "left"))
        return int(self.rates_bps[first:last].min())

    def least_between(self, cuts_us: Ints) -> Ints:
        """The least rate from each cut to the next one; ascending, and inside."""
        first = np.searchsorted(self.starts_us, cuts_us[:-1], "right") - 1
        last = np.searchsorted(self.starts_us, cuts_us[1:], "left")
        # The least of rates[first:last], for each; the rate that is appended is that of no part.
        rates = np.append(self.rates_bps, np.iinfo(np.int64).max)
        least: Ints = np.minimum.reduceat(rates, np.stack((first, last), axis=1).ravel())[::2]
        return least

    def head(self, needed_microbits: int) -> Profile:
        """The least number of steps from the beginning that move the volume; all where none do."""
        lengths = self.ends_us - self.starts_us
        count = _least(len(lengths), lambda n: _volume(self.rates_bps[:n], lengths[:n]), needed_microbits)
        return self._part(0, count)

    def tail(self, needed_microbits: int) -> Profile:
        """The least number of steps up to the end that move the volume; all where none do."""
        lengths, size = self.ends_us - self.starts_us, len(self.starts_us)
        count = _least(size, lambda n: _volume(self.rates_bps[size - n :], lengths[size - n :]), needed_microbits)
        return self._part(size - count, size)

    def _part(self, first: int, last: int) -> Profile:
        part = (self.starts_us[first:last], self.ends_us[first:last], self.rates_bps[first:last])
        return tuple(map(RateStep, *(column.tolist() for column in part)))


def _least(size: int, volume: Callable[[int], int], needed: int) -> int:
    """The least count, at most `size`, whose volume suffices."""
    return min(size, bisect_left(range(size + 1), needed, key=volume))


def _volume(rates_bps: Ints, lengths_us: Ints) -> int:
    """The sum of their products, of any size."""
    if rates_bps.size and int(rates_bps.max()) >> _BITS > (1 << 41) // rates_bps.size:
        return sum(rate * length for rate, length in zip(rates_bps.tolist(), lengths_us.tolist(), strict=True))
    high, low = rates_bps >> _BITS, rates_bps & _MASK
    long, short = lengths_us >> _BITS, lengths_us & _MASK
    middle = int(high @ short) + int(low @ long)
    return (int(high @ long) << 2 * _BITS) + (middle << _BITS) + int(low @ short)


def free_in(
    tables: SlotTables, crossings: Sequence[Crossing], window: Window, sls: Mapping[str, Sls] | None = None
) -> Free:
    """The highest payload rate that every crossed resource leaves at every moment of the window.

    `sls`: the network's SLSs, by name; outside its validity one leaves nothing. A path without a resource leaves
    `MAX_RATE_BPS`.
    """
    functions = [_free_on(tables, crossing, window, sls or {}) for crossing in crossings]
    times = _union(np.array([window.start_us], dtype=np.int64), *(times for times, _ in functions))
    levels = np.full(len(times), MAX_RATE_BPS, dtype=np.int64)
    for others, rates in functions:
        np.minimum(levels, _at(others, rates, times), out=levels)
    changes = np.concatenate(([True], levels[1:] != levels[:-1]))
    return Free(times[changes], levels[changes], window.end_us)


def _union(*columns: Ints) -> Ints:
    """The union of ascending columns. A stable sort merges columns that are ascending already."""
    together = np.concatenate(columns)
    together.sort(kind="stable")
    return together[np.concatenate(([True], together[1:] != together[:-1]))]


def _at(times: Ints, levels: Ints, moments: Ints) -> Ints:
    return levels[np.searchsorted(times, moments, "right") - 1]


def _free_on(tables: SlotTables, crossing: Crossing, window: Window, sls: Mapping[str, Sls]) -> tuple[Ints, Ints]:
    times, reserved = tables.step_columns(crossing.resource, window)
    if not times.size:
        times, reserved = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    times[0] = window.start_us  # before the tables' floor nothing is kept, and counts as free
    free = np.maximum(0, tables.capacity(crossing.resource) - reserved)
    # free * payload // wire, in two parts that stay inside 64 bits.
    whole, rest = np.divmod(free, crossing.wire_bytes)
    rates = whole * crossing.payload_bytes + rest * crossing.payload_bytes // crossing.wire_bytes
    agreement = sls.get(crossing.resource.place) if crossing.resource.kind == SLS else None
    if agreement is None or agreement.validity is None:
        return times, rates
    start_us, end_us = agreement.validity.start_us, agreement.validity.end_us
    borders = [time for time in (start_us, end_us) if window.start_us < time < window.end_us]
    union = _union(times, np.array(borders, dtype=np.int64))
    valid = (start_us <= union) & (union < end_us)
    return union, np.where(valid, _at(times, rates, union), 0)


def whole_seconds(steps: Profile, usable: Free) -> Profile:
    """The same with borders on whole seconds where that takes no more than is usable: each step only grows.

    `usable`: nowhere below the steps. Devices act at borders, and people read them.
    """
    grown: list[RateStep] = []
    for number, (start_us, end_us, rate_bps) in enumerate(steps):
        before_us = grown[-1].end_us if grown else int(usable.starts_us[0])
        after_us = steps[number + 1].start_us if number + 1 < len(steps) else usable.end_us
        first_us, last_us = start_us - start_us % SECOND_US, end_us + -end_us % SECOND_US
        if before_us > first_us or (first_us < start_us and usable.least_bps(first_us, start_us) < rate_bps):
            first_us = start_us
        if last_us > after_us or (end_us < last_us and usable.least_bps(end_us, last_us) < rate_bps):
            last_us = end_us
        grown.append(RateStep(first_us, last_us, rate_bps))
    return tuple(grown)


def profile_columns(crossings: Sequence[Crossing], profile: Profile) -> Columns:
    """As `profile_demands`, in columns; a step at least."""
    steps = np.array(profile, dtype=np.int64)
    ratios = np.array([crossing[1:] for crossing in crossings], dtype=np.int64).reshape(-1, 2)
    wire, payload = ratios[:, :1], ratios[:, 1:]
    # rate * wire / payload, rounded up, in two parts that stay inside 64 bits.
    whole, rest = np.divmod(steps[:, 2], payload)
    amounts = whole * wire - -(rest * wire) // payload
    return Columns([crossing.resource for crossing in crossings], amounts, steps[:, 0].copy(), steps[:, 1].copy())
