"""Slot tables: every resource's exact reserved rate over time, in memory (ADR 0002).

A cache of the ledger that can always be thrown away and built again. Not safe for concurrent use by threads: whoever
holds the ledger's lock holds the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

import numpy as np

from slotcar.admission import kernels, storage
from slotcar.admission.kernels import Ints
from slotcar.admission.model import Demand
from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import EPOCH, MICROSECOND, Window, to_us
from slotcar.base.units import MAX_RATE_BPS

#: What a resource is that the tables have never heard of: capacity 0, nothing reserved.
NOWHERE = 0

#: Demands over windows, for the kernels: numbers of the resources; the amounts of all windows of the first resource, then
#: of the second; starts and ends of the windows.
Request: TypeAlias = tuple[Ints, Ints, Ints, Ints]


class Columns(NamedTuple):
    """Amounts `[resource, step]` on resources, each named once, over steps in order of time."""

    resources: Sequence[ResourceId]
    amounts: Ints
    starts_us: Ints
    ends_us: Ints


class SlotTables:
    """Step functions of reserved rate, one per resource, with the resources' capacities."""

    def __init__(self, capacities: Mapping[ResourceId, int]) -> None:
        """Empty tables.

        Raises:
            ValueError: a capacity that no sane network has.
        """
        self._ids = {resource: number for number, resource in enumerate(capacities, start=NOWHERE + 1)}
        self._capacities = [0] * (len(self._ids) + 1)
        self._state = storage.empty(len(self._capacities))
        #: The same for the kernels, made where it is asked for.
        self._capacity_array: Ints | None = None
        #: The latest request and what it was made of: what was found to fit is added next.
        self._latest: tuple[Sequence[Demand], Sequence[Window], Request] | None = None
        self.set_capacities(capacities)

    @classmethod
    def build(
        cls,
        capacities: Mapping[ResourceId, int],
        resources: Sequence[ResourceId],
        resource_index: Ints,
        start_us: Ints,
        end_us: Ints,
        rate_bps: Ints,
    ) -> SlotTables:
        """Tables that hold row i's rate on `resources[resource_index[i]]` over `[start_us[i], end_us[i])`.

        A resource that `capacities` lacks is kept with capacity 0: what the ledger holds stays held.

        Raises:
            ValueError: arrays of unlike lengths, a window that does not end after it starts, or an insane rate.
        """
        tables = cls(dict.fromkeys(resources, 0) | dict(capacities))
        ids = np.array([tables._ids[name] for name in resources], dtype=np.int64)
        rows = [np.asarray(column, dtype=np.int64) for column in (resource_index, start_us, end_us, rate_bps)]
        if len({column.size for column in rows}) != 1:
            raise ValueError(f"columns differ in length: {', '.join(str(column.size) for column in rows)}")
        index, starts, ends, rates = rows
        if index.size:
            if index.min() < 0 or index.max() >= ids.size:
                raise ValueError(f"a resource index is outside 0 .. {ids.size - 1}")
            if (starts >= ends).any() or starts.min() <= kernels.BEGINNING or ends.max() >= kernels.FOREVER:
                raise ValueError("a window must end after it starts")
            _check_rate(int(rates.min()), "a row")
            _check_rate(int(rates.max()), "a row")
            tables._state = storage.pack(storage.sweep(ids[index], starts, ends, rates, len(tables._capacities)))
        return tables

    # Resources

    @property
    def resources(self) -> tuple[ResourceId, ...]:
        return tuple(self._ids)

    def __contains__(self, resource: ResourceId) -> bool:
        return resource in self._ids

    def capacity(self, resource: ResourceId) -> int:
        """Capacity, bits per second; 0 of a resource that is not known."""
        return self._capacities[self._ids.get(resource, NOWHERE)]

    def set_capacities(self, capacities: Mapping[ResourceId, int]) -> None:
        """Takes an inventory's capacities over; what they no longer name has capacity 0 and keeps its reservations.

        Raises:
            ValueError: a capacity that no sane network has; nothing changed.
        """
        for resource, capacity in capacities.items():
            _check_rate(capacity, str(resource))
        self._capacities, self._capacity_array = [0] * len(self._capacities), None
        for resource, capacity in capacities.items():
            number = self._register(resource)  # which may add to the list
            self._capacities[number] = capacity

    def _register(self, resource: ResourceId) -> int:
        number = self._ids.get(resource)
        if number is None:
            number = self._ids[resource] = len(self._capacities)
            self._capacities.append(0)
            self._capacity_array, self._latest = None, None
            self._state = storage.with_resource(self._state)
        return number

    # Changes

    def add(self, demands: Sequence[Demand], windows: Sequence[Window]) -> None:
        """Reserves every demand's amounts over the windows; whether it fits is for `decide`. Before the floor nothing is
        kept.

        Raises:
            ValueError: a rate that no sane network has; nothing changed.
        """
        for demand in demands:
            if demand.resource not in self._ids:
                self._register(demand.resource)
        self._raise(*self._request(demands, windows))

    def remove(self, demands: Sequence[Demand], windows: Sequence[Window], *, surely_there: bool = False) -> None:
        """Takes away what `add` with the same arguments gave; `surely_there`: the caller knows, and it is not looked for.

        Raises:
            ValueError: less than that is reserved there, so it was never added; nothing changed.
        """
        ids, amounts, starts, ends = self._request(demands, windows)
        by_resource = amounts.reshape(ids.size, starts.size)
        for index, number in enumerate([] if surely_there else ids.tolist()):
            for start, end, amount in zip(starts.tolist(), ends.tolist(), by_resource[index].tolist(), strict=True):
                start = max(start, self.floor_us)
                if amount and start < end and kernels.lowest(self._state, number, start, end) < amount:
                    name = demands[index].resource
                    raise ValueError(f"{name} has less than {amount} bit/s reserved over {Window.of_us(start, end)}")
        self._raise(ids, -amounts, starts, ends)

    def add_columns(self, columns: Columns, *, sign: int = 1) -> None:
        """As `add` of sane rates, in columns; with -1 as `remove` of what is surely there."""
        ids = np.array([self._register(name) for name in columns.resources], dtype=np.int64)
        self._raise(ids, (sign * columns.amounts).ravel(), columns.starts_us, columns.ends_us)

    def _raise(self, ids: Ints, rates: Ints, starts: Ints, ends: Ints) -> None:
        total, done = ids.size * starts.size, 0
        while done < total:
            done = kernels.raise_all(self._state, ids, rates, starts, ends, done)
            if done < total:
                self._state = storage.with_room(self._state)

    @property
    def floor_us(self) -> int:
        """The time before which nothing is kept: that past counts as free, and adds and removals do not touch it."""
        return int(self._state.head[kernels.FLOOR])

    def prune(self, before: datetime) -> None:
        """Forgets what lies before a moment; the floor only rises."""
        before_us = to_us(before)
        if before_us > self.floor_us:
            storage.forget(self._state, before_us)

    def copy(self) -> SlotTables:
        """Tables of their own, for a plan that adds what is only intended."""
        return self.excerpt(self.resources)

    def excerpt(self, resources: Iterable[ResourceId], window: Window | None = None) -> SlotTables:
        """A copy of some resources' tables alone, others are unknown there; outside a window nothing is reserved in it."""
        names = [name for name in resources if name in self._ids]
        copied = SlotTables({name: self.capacity(name) for name in names})
        numbers = [NOWHERE, *(self._ids[name] for name in names)]
        if window is None:
            functions = [storage.unpack(self._state, number) for number in numbers]
        else:
            ends = max(window.start_us, self.floor_us), window.end_us
            whole = ends[0] < ends[1]
            functions = [storage.part(self._state, number, *ends) if whole else storage.NOTHING for number in numbers]
        copied._state = storage.pack(functions, self.floor_us)
        return copied

    # Questions

    def fits(self, demands: Sequence[Demand], windows: Sequence[Window]) -> bool:
        """Whether every demand fits over every window, beside what is reserved: peaks, not sums (docs/design.md rule 3)."""
        ids, amounts, starts, ends = self._request(demands, windows)
        return kernels.fits(self._state, ids, amounts, self._limits(), starts, ends)

    def fits_columns(self, columns: Columns) -> bool:
        """As `fits`, in columns."""
        ids = np.array([self._ids.get(name, NOWHERE) for name in columns.resources], dtype=np.int64)
        return kernels.fits(
            self._state, ids, columns.amounts.ravel(), self._limits(), columns.starts_us, columns.ends_us
        )

    def peak(self, resource: ResourceId, window: Window) -> int:
        """The highest reserved rate at any moment of the window, bits per second."""
        start, end = max(window.start_us, self.floor_us), window.end_us
        return kernels.peak(self._state, self._ids.get(resource, NOWHERE), start, end) if start < end else 0

    def steps(self, resource: ResourceId, window: Window) -> tuple[tuple[int, int], ...]:
        """Reserved rate over the window: (time in us, rate in bps) of its start and of each change in it."""
        times, levels = self.step_columns(resource, window)
        return tuple(zip(times.tolist(), levels.tolist(), strict=True))

    def step_columns(self, resource: ResourceId, window: Window) -> storage.Steps:
        """`steps` as two arrays of the caller's own: times in us, rates in bps."""
        start_us = max(window.start_us, self.floor_us)
        return storage.segment(self._state, self._ids.get(resource, NOWHERE), start_us, window.end_us)

    def worst(self, resource: ResourceId, window: Window, rate_bps: int) -> tuple[int, Window] | None:
        """Where in the window `rate_bps` more does not fit: the peak, and the period around its first moment.

        None where it fits.
        """
        start = max(window.start_us, self.floor_us)
        if start >= window.end_us:
            return None
        number = self._ids.get(resource, NOWHERE)
        highest, first, last = kernels.worst(
            self._state, number, start, window.end_us, self.capacity(resource) - rate_bps
        )
        return None if highest == kernels.BEGINNING else (highest, Window.of_us(first, last))

    def nearest_shift_us(
        self, demands: Sequence[Demand], windows: Sequence[Window], least_us: int, most_us: int
    ) -> int | None:
        """The least shift of all windows together, in `least_us .. most_us`, by which every demand fits, or None."""
        ids, amounts, starts, ends = self._request(demands, windows)
        limits = self._limits()[ids][:, None] - amounts.reshape(ids.size, starts.size)
        least_us = max(least_us, self.floor_us - int(starts[0]))
        shift = kernels.nearest_shift(self._state, ids, limits, starts, ends, least_us, most_us)
        return shift if shift >= 0 else None

    def _request(self, demands: Sequence[Demand], windows: Sequence[Window]) -> Request:
        """Arrays for the kernels. The latest request of tuples is kept: the very same ones are not read again.

        Raises:
            ValueError: an insane rate, another number of amounts than of windows, or a resource that is named twice.
        """
        if self._latest is not None and self._latest[0] is demands and self._latest[1] is windows:
            return self._latest[2]
        ids, n, w = self._ids, len(demands), len(windows)
        numbers = [ids.get(demand.resource, NOWHERE) for demand in demands]
        if len(set(numbers)) != n and len({demand.resource for demand in demands}) != n:
            raise ValueError("a resource is asked for twice: merge its demands first")
        amounts = _amounts(demands, w)
        starts = [(window.start - EPOCH) // MICROSECOND for window in windows]
        ends = [(window.end - EPOCH) // MICROSECOND for window in windows]
        # One array is made and cut in four: making arrays costs more than the kernels' own work.
        row = np.array(numbers + amounts + starts + ends, dtype=np.int64)
        times = n + n * w
        request = row[:n], row[n:times], row[times : times + w], row[times + w :]
        if type(demands) is tuple and type(windows) is tuple:  # a list may be another by the next time
            self._latest = demands, windows, request
        return request

    def _limits(self) -> Ints:
        """Capacities by the resources' numbers."""
        if self._capacity_array is None:
            self._capacity_array = np.array(self._capacities, dtype=np.int64)
        return self._capacity_array


def _amounts(demands: Sequence[Demand], windows: int) -> list[int]:
    """The amounts of each demand in each of so many windows.

    Raises:
        ValueError: a rate that no sane network has, or another number of amounts than of windows.
    """
    if windows == 1:  # as below, without a call of each demand, which costs as much as all the rest
        amounts = [amount for demand in demands for amount in demand.amounts]
    else:
        amounts = [amount for demand in demands for amount in demand.over(windows)]
    if len(amounts) != len(demands) * windows:
        raise ValueError(f"there are {windows} slots, and a demand has another number of amounts")
    if amounts and (min(amounts) < 0 or max(amounts) > MAX_RATE_BPS):
        for number, amount in enumerate(amounts):
            _check_rate(amount, str(demands[number // windows].resource))
    return amounts


def _check_rate(rate_bps: int, where: str) -> None:
    if not 0 <= rate_bps <= MAX_RATE_BPS:
        raise ValueError(f"{where}: a rate is from 0 to {MAX_RATE_BPS} bit/s (got {rate_bps})")
