"""How others decide, on PostgreSQL: a sum over all overlapping reservations, or load them and sweep them in Python.

Each on two indexes: the usual one on (interface, start, end), and one that also covers the rate, so that no row of the
table is touched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
import psycopg

from benchmarks.admission.workload import Bookings, Request

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_TRAILER = b"\xff\xff"

_OVERLAPPING = """
FROM reserved_{index}
WHERE interface = ANY(%(path)s::bigint[]) AND start_us < %(end)s AND end_us > %(start)s
"""
_SUM = f"""
SELECT coalesce(max(total), 0)::bigint FROM (
    SELECT sum(rate_bps) AS total {_OVERLAPPING} GROUP BY interface
) AS sums
"""
_LOAD = f"SELECT interface, start_us, end_us, rate_bps {_OVERLAPPING}"
INDEXES = {"plain": "", "covering": "INCLUDE (rate_bps)"}


def fill(connection: Connection, live: Bookings) -> None:
    """The live reservations, a row for every interface of each, in a table for each index."""
    columns = "(interface bigint NOT NULL, start_us bigint NOT NULL, end_us bigint NOT NULL, rate_bps bigint NOT NULL)"
    names = ("interface", "start_us", "end_us", "rate_bps")
    connection.execute("SET maintenance_work_mem = '1GB'")
    for index, covered in INDEXES.items():
        connection.execute(f"DROP TABLE IF EXISTS reserved_{index}; CREATE TABLE reserved_{index} {columns}")
        copy_rows(connection, f"reserved_{index}", dict(zip(names, live.rows(), strict=True)))
        connection.execute(f"CREATE INDEX ON reserved_{index} (interface, start_us, end_us) {covered}")
    connection.commit()
    connection.autocommit = True
    for index in INDEXES:
        connection.execute(f"VACUUM ANALYZE reserved_{index}")
    connection.autocommit = False


def copy_rows(connection: Connection, table: str, columns: Mapping[str, Any]) -> None:
    """COPY of bigint columns, in the binary form, which NumPy writes at once."""
    sizes = [(f"{name}_size", ">i4") for name in columns]
    fields = [field for size, name in zip(sizes, columns, strict=True) for field in (size, (name, ">i8"))]
    arrays = {name: np.asarray(values, dtype=np.int64) for name, values in columns.items()}
    rows = np.zeros(next(iter(arrays.values())).size, dtype=np.dtype([("fields", ">i2"), *fields]))
    rows["fields"] = len(columns)
    for name, values in arrays.items():
        rows[name], rows[f"{name}_size"] = values, 8
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(_COPY_HEADER)
        for part in np.array_split(rows, 1 + rows.size // 100_000):
            copy.write(part.tobytes())
        copy.write(_COPY_TRAILER)


class Peer(Protocol):
    """Decides one request and adds it where it fits."""

    def answer(self, connection: Connection, request: Request, capacity_bps: int) -> bool: ...


class SqlSum:
    """Refuses where the sum of everything that overlaps the window leaves too little: more than need be."""

    def __init__(self, index: str) -> None:
        self._query = _SUM.format(index=index)
        self._index = index

    def answer(self, connection: Connection, request: Request, capacity_bps: int) -> bool:
        row = connection.execute(self._query, _parameters(request)).fetchone()
        assert row is not None
        admitted = bool(row[0] + request.rate_bps <= capacity_bps)
        if admitted:
            insert(connection, request, self._index)
        return admitted


class LoadAndSweep:
    """Loads everything that overlaps the window and finds the peak in Python: exact."""

    def __init__(self, index: str) -> None:
        self._query = _LOAD.format(index=index)
        self._index = index

    def answer(self, connection: Connection, request: Request, capacity_bps: int) -> bool:
        changes: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for interface, start, end, rate in connection.execute(self._query, _parameters(request)):
            changes[interface] += ((max(start, request.start_us), rate), (end, -rate))
        admitted = all(_peak(each) + request.rate_bps <= capacity_bps for each in changes.values())
        admitted = admitted and request.rate_bps <= capacity_bps
        if admitted:
            insert(connection, request, self._index)
        return admitted


def _peak(changes: list[tuple[int, int]]) -> int:
    level = highest = 0
    for _, change in sorted(changes):  # at the same time what ends comes first: slots that touch do not overlap
        level += change
        highest = max(highest, level)
    return highest


def insert(connection: Connection, request: Request, index: str) -> None:
    connection.execute(
        f"INSERT INTO reserved_{index} SELECT number, %s, %s, %s FROM unnest(%s::bigint[]) AS asked (number)",
        (request.start_us, request.end_us, request.rate_bps, list(request.path)),
    )


def _parameters(request: Request) -> dict[str, Any]:
    return {"path": list(request.path), "start": request.start_us, "end": request.end_us}
