"""The slot tables as a cache of the occupancy log: loaded at once, then following the ledger's sequence (ADR 0003)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
from sqlalchemy import Connection, Row, text

from slotcar.admission import SlotTables
from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import Window, from_us
from slotcar.book.model import Entry, Terms
from slotcar.store.rows import demands_of, entry_from_row
from slotcar.store.totals_cache import TotalsCache

#: One row of the binary COPY below: a count of fields, then each field behind its length.
_ROW = np.dtype(
    [
        ("fields", ">i2"),
        ("length_1", ">i4"),
        ("resource", ">i4"),
        ("length_2", ">i4"),
        ("amount", ">i8"),
        ("length_3", ">i4"),
        ("start_us", ">i8"),
        ("length_4", ">i4"),
        ("end_us", ">i8"),
    ]
)
#: A controller that runs for months forgets what is past so often.
FORGET_AFTER_US = 3_600_000_000
_HEADER_BYTES = 19
_TRAILER_BYTES = 2

# A row that was given back counts no more; a give-back always names the whole of what its entry took before.
_LIVE = """
COPY (
    SELECT asked.resource, asked.amount, open.start_us, open.end_us
    FROM occupancy AS taken,
         unnest(taken.resources, taken.amounts) AS asked (resource, amount),
         unnest(taken.starts_us, taken.ends_us) AS open (start_us, end_us)
    WHERE cardinality(taken.resources) = cardinality(taken.amounts) AND open.end_us > {floor_us} AND {live}
) TO STDOUT (FORMAT BINARY)
"""
_LIVE_VARYING = """
SELECT taken.sign, taken.resources, taken.amounts, taken.starts_us, taken.ends_us
FROM occupancy AS taken
WHERE cardinality(taken.resources) <> cardinality(taken.amounts) AND {live}
"""
_IS_LIVE = """
    taken.sign = 1 AND taken.last_end_us > {floor_us} AND NOT EXISTS (
        SELECT FROM occupancy AS given
        WHERE given.sign = -1 AND given.entry = taken.entry AND given.sequence > taken.sequence
    )
"""
_SINCE = text(
    "SELECT sign, resources, amounts, starts_us, ends_us FROM occupancy WHERE sequence > :s ORDER BY sequence"
)
# A writer asks for few rows by their indexes (`database.locked`); to load them all, an index is the slower way.
_ALL_OF_IT = text("SELECT set_config('enable_seqscan', 'on', true)")
_TRANSFERS = text("SELECT number, version FROM entry WHERE deadline_us > :now_us AND state = 'committed'")
_ENTRIES = text("SELECT * FROM entry WHERE number = ANY(CAST(:numbers AS bigint[]))")


class TableCache:
    """Slot tables as of `sequence` of the ledger. Not thread-safe: its user holds a lock."""

    def __init__(self) -> None:
        self._tables: SlotTables | None = None
        self._terms: Terms | None = None
        self._names: dict[int, ResourceId] = {}
        self._numbers: dict[ResourceId, int] = {}
        self._transfers: dict[int, Entry] = {}
        self.known_transfers: dict[str, Any] = {}
        self.sequence = 0
        self.totals = TotalsCache()

    def drop(self) -> None:
        """Forgets everything; the next `caught_up` loads again."""
        self._tables, self._transfers, self.known_transfers = None, {}, {}
        self.totals.drop()

    def caught_up(self, connection: Connection, sequence: int, terms: Terms, now_us: int) -> SlotTables:
        """The tables as of `sequence`, which the connection's transaction must see."""
        if self._tables is None:
            self._load(connection, sequence, terms, now_us)
        assert self._tables is not None
        if now_us - self._tables.floor_us > FORGET_AFTER_US:
            self._tables.prune(from_us(now_us))
        if self._terms is not terms:
            self._tables.set_capacities(terms.capacities)
            self._terms = terms
        if self.sequence < sequence:
            self._follow(connection, self._tables)
            self.sequence = sequence
        return self._tables

    def transfers(self, connection: Connection, now_us: int) -> Sequence[Entry]:
        """Committed volumes by a deadline after `now_us`; those that have not changed since they were read are not read
        again.
        """
        listed = connection.execute(_TRANSFERS, {"now_us": now_us}).all()
        entries_by_number = {row.number: self._transfers.get(row.number) for row in listed}
        new = [
            row.number
            for row in listed
            if (have := entries_by_number[row.number]) is None or have.version != row.version
        ]
        for row in connection.execute(_ENTRIES, {"numbers": new}) if new else ():
            entries_by_number[row.number] = entry_from_row(row)
        self._transfers = {number: entry for number, entry in entries_by_number.items() if entry is not None}
        return tuple(self._transfers.values())

    def numbers(self, connection: Connection, names: list[ResourceId]) -> list[int]:
        """The ledger's numbers of resources, given to those that have none yet."""
        missing = [name for name in names if name not in self._numbers]
        if missing:
            connection.execute(
                text("INSERT INTO resource (name) SELECT unnest(CAST(:names AS text[])) ON CONFLICT DO NOTHING"),
                {"names": sorted(map(str, set(missing)))},
            )
            self._read_names(connection)
        return [self._numbers[name] for name in names]

    def _load(self, connection: Connection, sequence: int, terms: Terms, now_us: int) -> None:
        self._read_names(connection)
        numbers = sorted(self._names)
        position = np.zeros(max(numbers, default=0) + 1, dtype=np.int64)
        position[numbers] = np.arange(len(numbers))
        connection.execute(_ALL_OF_IT)
        rows = _copy_rows(connection, now_us)
        self._tables = SlotTables.build(
            terms.capacities,
            [self._names[number] for number in numbers],
            position[rows["resource"].astype(np.int64)],
            rows["start_us"].astype(np.int64),
            rows["end_us"].astype(np.int64),
            rows["amount"].astype(np.int64),
        )
        self._add_varying(connection, self._tables, now_us)
        # What was over by then was not loaded: giving it back must find the floor and not a lack.
        self._tables.prune(from_us(now_us))
        self._terms = terms
        self.sequence = sequence

    def _read_names(self, connection: Connection) -> None:
        self._names = {
            row.id: ResourceId.parse(row.name) for row in connection.execute(text("SELECT id, name FROM resource"))
        }
        self._numbers = {name: number for number, name in self._names.items()}

    def _follow(self, connection: Connection, tables: SlotTables) -> None:
        rows = connection.execute(_SINCE, {"s": self.sequence}).all()
        if any(number not in self._names for row in rows for number in row.resources):
            self._read_names(connection)
        for row in rows:
            self._apply(tables, row)

    def _add_varying(self, connection: Connection, tables: SlotTables, floor_us: int) -> None:
        """Adds what has more than one amount; there are few of them beside what is constant."""
        statement = _LIVE_VARYING.format(live=_IS_LIVE.format(floor_us=int(floor_us)))
        for row in connection.execute(text(statement)):
            self._apply(tables, row)

    def _apply(self, tables: SlotTables, row: Row[Any]) -> None:
        demands = demands_of([self._names[number] for number in row.resources], row.amounts)
        windows = [Window.of_us(start, end) for start, end in zip(row.starts_us, row.ends_us, strict=True)]
        (tables.add if row.sign == 1 else tables.remove)(demands, windows)


def _copy_rows(connection: Connection, floor_us: int) -> np.ndarray[Any, np.dtype[Any]]:
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    data = bytearray()
    statement = _LIVE.format(floor_us=int(floor_us), live=_IS_LIVE.format(floor_us=int(floor_us)))
    with raw.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        for piece in copy:
            data += piece
    return np.frombuffer(data, dtype=_ROW, offset=_HEADER_BYTES, count=(len(data) - _HEADER_BYTES) // _ROW.itemsize)
