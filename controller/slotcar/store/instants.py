"""Reservations in force around an instant: those that change there one by one, the unchanged ones as sums.

Thousands of reservations may be open at a boundary, and a few of them begin or end there. To read each of the others took a
second; what the network is to keep for them together is a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from json import loads
from typing import Any

from sqlalchemy import Engine, Row, any_, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import BigInteger

from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import to_us
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.book.crowds import Crowd, Instant
from slotcar.book.model import Entry
from slotcar.network.path.model import Path
from slotcar.store import database, rows, schema
from slotcar.store.known_entries import KnownEntries

_entry = schema.entry.c
# One slot, which `start_us` and `end_us` are those of, and one constant rate. As a CASE: the planner takes each test of a
# document for one that a row in two hundred passes.
_PLAIN = """CASE WHEN windows = 1 AND document ->> 'need' IS NULL AND document ->> 'share' IS NULL
    AND document -> 'claim' IS NULL AND document -> 'delay' IS NULL AND document -> 'jitter' IS NULL
    AND document -> 'receivers' IS NULL THEN true ELSE false END"""
_WAS_COMMITTED = """(state IN ('committed', 'ended') OR (state = 'cancelled' AND EXISTS (
    SELECT FROM event WHERE event.handle = entry.handle AND event.kind = 'reservation.committed')))"""
_CHANGES = text(
    f"""({_WAS_COMMITTED} AND CASE WHEN {_PLAIN} THEN start_us = :at_us OR end_us = :at_us ELSE EXISTS (
        SELECT FROM jsonb_array_elements(document -> 'slots') AS slot
        WHERE (slot ->> 'start')::timestamptz <= :at AND (slot ->> 'end')::timestamptz >= :at
    ) END)"""
)
_CROWDS = text(
    f"""
    WITH open AS MATERIALIZED (
        SELECT number, paths::text AS paths, resources::text AS resource_names, resources, amounts,
            document ->> 'service' AS service, document ->> 'protocol' AS protocol,
            document ->> 'direction' AS direction, (document ->> 'packet_size_bytes')::integer AS packet_size_bytes,
            (document ->> 'rtt_us')::integer AS rtt_us, (document #>> '{{slots,0,forward_bps}}')::bigint AS forward_bps,
            (document #>> '{{slots,0,reverse_bps}}')::bigint AS reverse_bps
        FROM entry
        WHERE start_us < :at_us AND end_us > :at_us AND {_PLAIN} AND {_WAS_COMMITTED}
            AND (state <> 'cancelled' OR changed_at >= :at) AND (CAST(:owner AS text) IS NULL OR owner = :owner)
    )
    SELECT paths, min(resources) AS resources, service, protocol, direction, packet_size_bytes, rtt_us,
        array_agg(number) AS numbers, array_agg(forward_bps) AS forward_bps, array_agg(reverse_bps) AS reverse_bps,
        array_agg(amounts) FILTER (WHERE cardinality(amounts) > 0) AS amounts
    FROM open GROUP BY paths, resource_names, service, protocol, direction, packet_size_bytes, rtt_us
    """  # noqa: S608 - constants of this file
)
# Of this transaction alone: of many that are live the planner reads all rather than the few that are open.
_BY_INDEX = text("SELECT set_config('enable_seqscan', 'off', true)")


@dataclass(frozen=True)
class Instants:
    """What is in force around instants, out of one ledger's database.

    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine
    entry_cache: KnownEntries

    def around(self, at: datetime, owner: str | None = None) -> Instant:
        """What is or was in force around an instant.

        Args:
            owner: whose crowds; everybody's where it is None. The entries are always everybody's.
        """
        near = rows.SELECT_ENTRY.where(_entry.start_us <= to_us(at), _entry.end_us >= to_us(at))
        changing = near.where(_CHANGES.bindparams(at=at, at_us=to_us(at)))
        with database.reading_by_plan(self.engine) as connection:
            connection.execute(_BY_INDEX)
            entries = self.entry_cache.read(connection, changing.order_by(_entry.number))
            crowds = connection.execute(_CROWDS, {"at": at, "at_us": to_us(at), "owner": owner})
            return Instant(entries, tuple(map(_crowd, crowds)))

    def numbered(self, numbers: Sequence[int]) -> tuple[Entry, ...]:
        """The entries of these numbers, by number."""
        wanted = rows.SELECT_ENTRY.where(_entry.number == any_(bindparam(None, numbers, ARRAY(BigInteger))))
        with database.reading(self.engine) as connection:
            return self.entry_cache.read(connection, wanted.order_by(_entry.number))


def _crowd(row: Row[Any]) -> Crowd:
    direction = Direction(row.direction)
    rates = {Direction.FORWARD: row.forward_bps, Direction.REVERSE: row.reverse_bps}
    sums = map(sum, zip(*(row.amounts or ()), strict=True))
    return Crowd(
        paths=_paths(row.paths), service=Service(row.service), protocol=Protocol(row.protocol), direction=direction,
        packet_size_bytes=row.packet_size_bytes, rtt_us=row.rtt_us, numbers=row.numbers,
        rates_bps={way: rates[way] for way in direction.ways},
        amounts=dict(zip(map(ResourceId.parse, row.resources), sums, strict=True)),
    )  # fmt: skip


@lru_cache(maxsize=4_096)
def _paths(document: str) -> tuple[Path, ...]:
    """A network has few ways between its hosts, and thousands of entries take each of them."""
    return tuple(map(rows.path_from_row, loads(document)))
