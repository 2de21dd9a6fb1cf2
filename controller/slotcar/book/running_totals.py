"""What live reservations have together, by whose they are, as step functions: to find it costs no look at each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import numpy as np

from slotcar.admission import SlotTables
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.tables import Columns
from slotcar.base.timebase import MICROSECOND, Window, to_us
from slotcar.book.rules.reserving import LiveAmount, Whose
from slotcar.policy.reserving import Total
from slotcar.policy.site import Site

#: Step functions hold 64 bits, and volumes are more: they are kept as whole numbers of this many bits, and the rest.
_PART_BITS = 10**12
#: What is left at an instant of all that is not over then: how many there are, and the two parts of their volume.
_LEFT = ("live", "volume-parts", "volume-rest")


class RunningTotals:
    """A cache of the ledger, as slot tables are one, and under the same lock. Before the floor nothing is kept.

    Attributes:
        site: which owners are in which community and domain.
    """

    def __init__(self, site: Site, live: Iterable[tuple[int, LiveAmount]], now: datetime) -> None:
        """`live`: by the numbers of their entries. What is over by now is not kept."""
        self.site = site
        now_us = to_us(now)
        self._counted = {number: one for number, one in live if one.steps or one.end_us > now_us}
        rows = [row for one in self._counted.values() for row in _rows(one, site, now_us)]
        resources = list(dict.fromkeys(row[0] for row in rows))
        place = {resource: number for number, resource in enumerate(resources)}
        columns = np.array([(place[row[0]], *row[1:]) for row in rows], dtype=np.int64).reshape(len(rows), 4)
        self._tables = SlotTables.build({}, resources, *(columns[:, part] for part in range(4)))
        self.forget(now)

    @property
    def floor_us(self) -> int:
        return self._tables.floor_us

    def put(self, number: int, counted: LiveAmount | None) -> None:
        """What the entry of this number counts with from now on; None where it is over."""
        before = self._counted.pop(number, None)
        if before is not None:
            self._raise(before, -1)
        if counted is not None:
            self._raise(counted, 1)
            self._counted[number] = counted

    def total(self, whose: Whose, windows: Sequence[Window], now: datetime) -> Total:
        """The peak is that in the windows."""
        at = Window(now, now + MICROSECOND)
        live, parts, rest = (self._tables.peak(_resource(whose, what), at) for what in _LEFT)
        resource = _resource(whose, "rate")
        peak_bps = max((self._tables.peak(resource, window) for window in windows), default=0)
        return Total(live, peak_bps, parts * _PART_BITS + rest)

    def totals_with(
        self,
        number: int,
        counted: LiveAmount | None,
        wanted: Collection[Whose],
        windows: Sequence[Window],
        now: datetime,
    ) -> dict[Whose, Total]:
        """As `total` of each, were the entry of this number so."""
        before = self._counted.get(number)
        if before != counted:
            self.put(number, counted)
        totals = {whose: self.total(whose, windows, now) for whose in wanted}
        if before != counted:
            self.put(number, before)
        return totals

    def rates_without(
        self, number: int, owners: Collection[str], windows: Sequence[Window]
    ) -> tuple[tuple[int, int, int], ...]:
        """What these owners have in the windows, each by itself, but for the entry of this number: start and end in
        microseconds, and bits per second."""
        before = self._counted.get(number)
        if before is not None:
            self.put(number, None)
        rates = []
        for owner in owners:
            for window in windows:
                steps = self._tables.steps(_resource(Whose("owner", owner), "rate"), window)
                ends = (*(start for start, _ in steps[1:]), window.end_us)
                rates += [(start, end, rate) for (start, rate), end in zip(steps, ends, strict=False) if rate]
        if before is not None:
            self.put(number, before)
        return tuple(rates)

    def forget(self, now: datetime) -> None:
        """Forgets what is over."""
        self._tables.prune(now)
        now_us = to_us(now)
        self._counted = {number: one for number, one in self._counted.items() if _last_us(one) > now_us}

    def _raise(self, counted: LiveAmount, sign: int) -> None:
        for whose in counted.whose(self.site):
            if counted.steps:
                starts, ends, rates = np.array(counted.steps, dtype=np.int64).T.copy()
                self._tables.add_columns(Columns([_resource(whose, "rate")], rates[None, :], starts, ends), sign=sign)
            if counted.end_us > self.floor_us:
                left = Columns(
                    [_resource(whose, what) for what in _LEFT],
                    np.array(_amounts(counted), dtype=np.int64)[:, None],
                    np.array([self.floor_us], dtype=np.int64),
                    np.array([counted.end_us], dtype=np.int64),
                )
                self._tables.add_columns(left, sign=sign)


def _rows(counted: LiveAmount, site: Site, now_us: int) -> Iterable[tuple[ResourceId, int, int, int]]:
    for whose in counted.whose(site):
        rate = _resource(whose, "rate")
        yield from ((rate, *step) for step in counted.steps)
        if counted.end_us > now_us:
            parts = zip(_LEFT, _amounts(counted), strict=True)
            yield from ((_resource(whose, what), now_us, counted.end_us, amount) for what, amount in parts)


def _amounts(counted: LiveAmount) -> tuple[int, int, int]:
    """In the order of `_LEFT`."""
    return 1, *divmod(counted.volume_bits, _PART_BITS)


def _last_us(counted: LiveAmount) -> int:
    return max((counted.end_us, *(end for _, end, _ in counted.steps)))


def _resource(whose: Whose, what: str) -> ResourceId:
    """Not a resource: under what name slot tables count whose rates, or what of theirs is left."""
    return ResourceId(f"{whose.kind}-{what}", whose.name)
