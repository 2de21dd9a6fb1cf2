"""One transaction on the ledger: entries as a batch's operations leave them, and everything to be written at its end.

Nothing reaches the database before `flush`, so an operation that fails is taken back by forgetting what it noted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import psycopg
from sqlalchemy import Connection, select, text

from slotcar.admission import SlotTables
from slotcar.base.timebase import to_us
from slotcar.ledger import rows, schema, writing
from slotcar.ledger.batch import Key, Needs, Notes, Remembered, Savepoint
from slotcar.ledger.batch_entries import BatchEntries
from slotcar.ledger.cache import TableCache
from slotcar.ledger.database import Head
from slotcar.ledger.errors import ForbiddenTransition
from slotcar.ledger.model import TRANSITIONS, Entry, State, Terms
from slotcar.policy.flows import ReservedFlow


class Transaction:
    """The ledger under its lock.

    Attributes:
        entries: the entries, read and as the batch has changed them.
        tables: caught up with the ledger; they follow what the batch notes.
    """

    def __init__(self, connection: Connection, head: Head, cache: TableCache, terms: Terms, now_us: int) -> None:
        self.connection = connection
        self.head = head
        self.terms = terms
        self.entries = BatchEntries(connection)
        self._cache = cache
        self._now_us = now_us
        self._tables: SlotTables | None = None
        self._remembered: dict[Key, Remembered | None] = {}
        self._notes = Notes()

    @property
    def tables(self) -> SlotTables:
        if self._tables is None:
            self._tables = self._cache.caught_up(self.connection, self.head.sequence, self.terms, self._now_us)
        return self._tables

    @property
    def known_transfers(self) -> dict[str, Any]:
        """Deadline transfers as earlier transactions prepared them; see `slotcar.ledger.transfers.movable`."""
        return self._cache.known_transfers

    # -- reading -------------------------------------------------------------------------------------------------

    def prepare(self, needs: Iterable[Needs]) -> None:
        """Reads what the operations of the batch will look at: one statement for each kind."""
        listed = list(needs)
        handles = {handle for need in listed for handle in need.handles}
        keys = {key for need in listed for key in need.keys}
        if handles or keys:
            self.entries.read(handles, keys)
        flows = {flow for need in listed for flow in need.flows}
        if flows:
            self.entries.read_others(flows)
        beside = {one for need in listed for one in need.beside}
        if beside:
            self.entries.read_flows_at(beside)
        groups = {key for need in listed for key in need.groups}
        if groups:
            self.entries.read_groups(groups)
        idempotency_keys = {key for need in listed for key in need.idempotency}
        if idempotency_keys:
            self._read_remembered(idempotency_keys)

    def remembered(self, key: Key) -> Remembered | None:
        if key not in self._remembered:
            self._read_remembered({key})
        return self._remembered[key]

    def transfers(self, now: datetime) -> tuple[Entry, ...]:
        """Committed volumes by a deadline that is to come, by number."""
        entries = self.entries.newest(self._cache.transfers(self.connection, to_us(now))).values()
        live = (one for one in entries if one.reservation.need is not None and one.reservation.end > now)
        return tuple(sorted((one for one in live if one.state is State.COMMITTED), key=lambda one: one.number))

    def _read_remembered(self, keys: Collection[Key]) -> None:
        rows_read = self.connection.execute(
            text(
                "SELECT actor, key, request, handle FROM idempotency WHERE (actor, key) IN"
                " (SELECT * FROM unnest(CAST(:actors AS text[]), CAST(:keys AS text[])))"
            ),
            {"actors": [actor for actor, _ in keys], "keys": [key for _, key in keys]},
        )
        for row in rows_read:
            self._remembered.setdefault((row.actor, row.key), Remembered(row.request, row.handle))
        for key in keys:
            self._remembered.setdefault(key, None)

    # -- noting --------------------------------------------------------------------------------------------------

    def next_number(self) -> int:
        self.head.entry_number += 1
        return self.head.entry_number

    def create(self, entry: Entry, flows: Iterable[ReservedFlow]) -> None:
        """`flows`: the entry's."""
        self.entries.add(entry, flows)

    def change(self, entry: Entry, state: State, now: datetime, **updates: Any) -> Entry:
        """The entry in its next state, one version on; its place in the tables is the caller's to take or give back.

        Raises:
            ForbiddenTransition: the table of states does not allow it (docs/design.md rule 12).
        """
        if state not in TRANSITIONS[entry.state]:
            raise ForbiddenTransition(entry.handle, entry.state, state)
        changed = replace(entry, state=state, version=entry.version + 1, changed_at=now, **updates)
        self.entries.replace(changed)
        return changed

    def take(self, entry: Entry) -> None:
        self._occupy(entry, 1)

    def give_back(self, entry: Entry) -> None:
        self._occupy(entry, -1)

    def _occupy(self, entry: Entry, sign: int) -> None:
        occupied = entry.occupied
        if occupied.demands:
            (self.tables.add if sign == 1 else self.tables.remove)(occupied.demands, occupied.windows)
            self.head.sequence += 1
            self._notes.occupancy.append((self.head.sequence, entry, occupied, sign))

    def event(
        self, kind: str, at: datetime, handle: str | None = None, device: str | None = None, /, **details: Any
    ) -> None:
        self._notes.events.append((at, kind, handle, device, details))

    def is_last_of_device(self, number: int, device: str, kinds: Collection[str]) -> bool:
        """Whether no event of the kinds came to the device after the event `number`."""
        event = schema.event.c
        later = (
            select(event.sequence)
            .where(event.device == device, event.kind.in_(kinds), event.sequence > number)
            .limit(1)
        )
        if self.connection.execute(later).first() is not None:
            return False
        return not any(one[3] == device and one[1] in kinds for one in self._notes.events)

    def remember(self, key: Key, remembered: Remembered, at: datetime) -> None:
        self._remembered[key] = remembered
        self._notes.remembered.append((key, remembered, at))

    # -- taking back ---------------------------------------------------------------------------------------------

    def mark(self) -> Savepoint:
        notes = self._notes
        return Savepoint(
            entries=self.entries.mark(),
            occupancy=len(notes.occupancy),
            events=len(notes.events),
            remembered=len(notes.remembered),
            counters=(self.head.sequence, self.head.entry_number),
        )

    def take_back(self, mark: Savepoint) -> None:
        """Makes the transaction what it was at the mark."""
        notes = self._notes
        for _, _, part, sign in reversed(notes.occupancy[mark.occupancy :]):
            (self.tables.remove if sign == 1 else self.tables.add)(part.demands, part.windows)
        for key, _, _ in notes.remembered[mark.remembered :]:
            self._remembered[key] = None
        del notes.occupancy[mark.occupancy :], notes.events[mark.events :], notes.remembered[mark.remembered :]
        self.entries.take_back(mark.entries)
        self.head.sequence, self.head.entry_number = mark.counters

    # -- writing -------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Writes all that was noted: changes, then new entries, then what refers to them."""
        raw = self.connection.connection.driver_connection
        assert isinstance(raw, psycopg.Connection)
        with raw.cursor() as cursor:
            changed, new = self.entries.changed, self.entries.new
            if changed:
                cursor.executemany(writing.UPDATE, [writing.updated(entry) for entry in changed])
            writing.copy_rows(cursor, writing.COPY_ENTRY, [writing.inserted(entry) for entry in new])
            self._write_flows(cursor, (*changed, *new))
            writing.copy_rows(cursor, writing.COPY_OCCUPANCY, self._occupancy_rows())
            first = self.head.event + 1
            self.head.event += len(self._notes.events)
            writing.copy_rows(
                cursor,
                writing.COPY_EVENT,
                [
                    (number, at, kind, handle, device, rows.as_json(details))
                    for number, (at, kind, handle, device, details) in enumerate(self._notes.events, first)
                ],
            )
            writing.copy_rows(
                cursor,
                writing.COPY_REMEMBERED,
                [(*key, what.request, what.handle, at) for key, what, at in self._notes.remembered],
            )
        self._cache.sequence = self.head.sequence if self._tables is not None else self._cache.sequence

    def _write_flows(self, cursor: psycopg.Cursor[Any], entries: Sequence[Entry]) -> None:
        removed: list[tuple[Any, ...]] = []
        added: list[tuple[Any, ...]] = []
        for entry in entries:
            stored, own = self.entries.stored_flows(entry), self.entries.flows_of(entry)
            whose = entry.reservation.owner, entry.number
            removed += [(*flow.packets, flow.device, *whose) for flow in sorted(stored - own)]
            added += [(*flow, *whose) for flow in sorted(own - stored)]
        if removed:
            cursor.executemany(writing.DELETE_FLOW, removed)
        writing.copy_rows(cursor, writing.COPY_FLOW, added)

    def _occupancy_rows(self) -> list[tuple[Any, ...]]:
        occupancy = []
        for sequence, entry, part, sign in self._notes.occupancy:
            starts, ends = rows.window_rows(part.windows)
            numbers = self._cache.numbers(self.connection, [demand.resource for demand in part.demands])
            amounts = rows.amounts_of(part.demands, len(starts))
            columns = tuple(writing.array(one) for one in (numbers, amounts, starts, ends))
            occupancy.append((sequence, entry.number, sign, *columns, max(ends)))
        return occupancy
