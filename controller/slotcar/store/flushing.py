"""Writes what a transaction has noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import psycopg
from sqlalchemy import Connection

from slotcar.book.batch import Head
from slotcar.book.model import Entry
from slotcar.book.transaction import Transaction
from slotcar.store import rows, shares, writing

if TYPE_CHECKING:
    from slotcar.store.cache import TableCache

#: When, of which kind, of which reservation and device, and the details.
NotedEvent = tuple[datetime, str, str | None, str | None, Mapping[str, Any]]


def flush(transaction: Transaction, connection: Connection, cache: TableCache) -> None:
    """Writes all that was noted: changes, then new entries, then what refers to them.

    Args:
        cache: whose tables the transaction has used.
    """
    head, notes = transaction.head, transaction.notes
    with _raw(connection).cursor() as cursor:
        changed, new = transaction.entries.changed, transaction.entries.new
        if changed:
            cursor.executemany(writing.UPDATE, [writing.updated(entry) for entry in changed])
        writing.copy_rows(cursor, writing.COPY_ENTRY, [writing.inserted(entry) for entry in new])
        _write_flows(cursor, transaction, (*changed, *new))
        writing.copy_rows(cursor, writing.COPY_OCCUPANCY, _occupancy_rows(transaction, connection, cache))
        write_events(connection, head, notes.events)
        writing.copy_rows(
            cursor,
            writing.COPY_REMEMBERED,
            [(*key, what.request, what.handle, at) for key, what, at in notes.remembered],
        )
        if notes.shares:
            shares.write(connection, notes.shares)
    if transaction.has_tables:
        cache.sequence = head.sequence
    if transaction.has_totals:
        cache.totals.sequence = head.sequence


def write_events(connection: Connection, head: Head, events: Sequence[NotedEvent]) -> None:
    """Writes events with the numbers that follow the last one."""
    first = head.event + 1
    head.event += len(events)
    numbered = [
        (number, at, kind, handle, device, rows.as_json(details))
        for number, (at, kind, handle, device, details) in enumerate(events, first)
    ]
    with _raw(connection).cursor() as cursor:
        writing.copy_rows(cursor, writing.COPY_EVENT, numbered)


def _raw(connection: Connection) -> psycopg.Connection[Any]:
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    return raw


def _write_flows(cursor: psycopg.Cursor[Any], transaction: Transaction, entries: Sequence[Entry]) -> None:
    removed: list[tuple[Any, ...]] = []
    added: list[tuple[Any, ...]] = []
    for entry in entries:
        stored, own = transaction.entries.stored_flows(entry), transaction.entries.flows_of(entry)
        whose = entry.reservation.owner, entry.number
        removed += [(*flow.packets, flow.device, *whose) for flow in sorted(stored - own)]
        added += [(*flow, *whose) for flow in sorted(own - stored)]
    if removed:
        cursor.executemany(writing.DELETE_FLOW, removed)
    writing.copy_rows(cursor, writing.COPY_FLOW, added)


def _occupancy_rows(transaction: Transaction, connection: Connection, cache: TableCache) -> list[tuple[Any, ...]]:
    occupancy = []
    for sequence, entry, part, sign in transaction.notes.occupancy:
        starts, ends = rows.window_rows(part.windows)
        numbers = cache.numbers(connection, [demand.resource for demand in part.demands])
        amounts = rows.amounts_of(part.demands, len(starts))
        columns = tuple(writing.array(one) for one in (numbers, amounts, starts, ends))
        occupancy.append((sequence, entry.number, sign, *columns, max(ends)))
    return occupancy
