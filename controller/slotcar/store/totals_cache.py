"""What is live together, as a cache of the ledger: loaded when policies first ask for totals, then following the occupancy
log, which has a row wherever something of it changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection

from slotcar.base.timebase import to_us
from slotcar.book.rules.reserving import LiveAmount
from slotcar.book.running_totals import RunningTotals
from slotcar.policy.site import Site
from slotcar.store import reading
from slotcar.store.rows import entry_from_row

#: As often as the slot tables do, what is over is forgotten.
FORGET_AFTER_US = 3_600_000_000


class TotalsCache:
    """Totals as of `sequence` of the ledger. Not thread-safe: its user holds a lock."""

    def __init__(self) -> None:
        self._totals: RunningTotals | None = None
        self.sequence = 0

    def drop(self) -> None:
        """Forgets everything; the next `caught_up` loads again."""
        self._totals = None

    def caught_up(self, connection: Connection, sequence: int, site: Site, now: datetime) -> RunningTotals:
        """The totals as of `sequence`, which the connection's transaction must see. Another site loads them again."""
        if self._totals is None or self._totals.site is not site:
            self._totals = RunningTotals(site, _load(connection, now), now)
        elif self.sequence < sequence:
            for row in reading.read(connection, reading.READ_OCCUPIED_SINCE, {"sequence": self.sequence}):
                self._totals.put(row.number, entry_from_row(row).counted)
        self.sequence = sequence
        if to_us(now) - self._totals.floor_us > FORGET_AFTER_US:
            self._totals.forget(now)
        return self._totals


def _load(connection: Connection, now: datetime) -> Iterator[tuple[int, LiveAmount]]:
    parameters = {"now_us": to_us(now)}
    for row in reading.read(connection, reading.READ_COUNTED, parameters):
        steps = tuple(map(tuple, row.steps))
        yield row.number, LiveAmount(row.owner, row.asked_by, row.end_us, int(row.volume_bits), steps)
    for entry in map(entry_from_row, reading.read(connection, reading.READ_COUNTED_FORMS, parameters)):
        if (counted := entry.counted) is not None:
            yield entry.number, counted
