"""One transaction on the ledger: entries as a batch's operations leave them, and everything to be written at its end.

Nothing reaches the database before `flush`, so an operation that fails is taken back by forgetting what it noted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import psycopg
from sqlalchemy import select

from slotcar.ledger import rows, schema, writing
from slotcar.ledger.batch import Key, Mark, Remembered
from slotcar.ledger.errors import ForbiddenTransition
from slotcar.ledger.model import OCCUPYING, TRANSITIONS, Entry, State
from slotcar.ledger.transaction_reading import TransactionReading


class Transaction(TransactionReading):
    """The ledger under its lock. `tables` are caught up with it and follow what the batch notes."""

    # -- noting --------------------------------------------------------------------------------------------------

    def next_number(self) -> int:
        self.head.entry_number += 1
        return self.head.entry_number

    def create(self, entry: Entry) -> None:
        self._new.add(entry.handle)
        self._keep(entry)

    def change(self, entry: Entry, state: State, now: datetime, **updates: Any) -> Entry:
        """The entry in its next state, one version on; its place in the tables is the caller's to take or give back.

        Raises:
            ForbiddenTransition: the table of states does not allow it (docs/design.md rule 12).
        """
        if state not in TRANSITIONS[entry.state]:
            raise ForbiddenTransition(entry.handle, entry.state, state)
        changed = replace(entry, state=state, version=entry.version + 1, changed_at=now, **updates)
        self._changed.add(entry.handle)
        self._keep(changed)
        return changed

    def _keep(self, entry: Entry) -> None:
        self._entries[entry.handle] = entry
        self._index(entry)
        key = entry.reservation.key
        if entry.state in OCCUPYING:
            self._live[key] = entry.handle
        elif self._live.get(key) == entry.handle:
            self._live[key] = None

    def take(self, entry: Entry) -> None:
        self._occupy(entry, 1)

    def give_back(self, entry: Entry) -> None:
        self._occupy(entry, -1)

    def _occupy(self, entry: Entry, sign: int) -> None:
        taken = entry.occupied
        if taken.demands:
            (self.tables.add if sign == 1 else self.tables.remove)(taken.demands, taken.windows)
            self.head.sequence += 1
            self._notes.occupancy.append((self.head.sequence, entry, taken, sign))

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

    def mark(self) -> Mark:
        return Mark(
            entries=dict(self._entries),
            live=dict(self._live),
            remembered=dict(self._remembered),
            new=set(self._new),
            changed=set(self._changed),
            flows_read=set(self._flows_read),
            lengths=(len(self._notes.occupancy), len(self._notes.events), len(self._notes.remembered)),
            counters=(self.head.sequence, self.head.entry_number),
        )

    def take_back(self, mark: Mark) -> None:
        """Makes the transaction what it was at the mark."""
        occupancy, events, remembered = mark.lengths
        for _, _, part, sign in reversed(self._notes.occupancy[occupancy:]):
            (self.tables.remove if sign == 1 else self.tables.add)(part.demands, part.windows)
        del self._notes.occupancy[occupancy:], self._notes.events[events:], self._notes.remembered[remembered:]
        self._entries, self._live, self._remembered = dict(mark.entries), dict(mark.live), dict(mark.remembered)
        self._new, self._changed = set(mark.new), set(mark.changed)
        self._flows_read = set(mark.flows_read)
        self.head.sequence, self.head.entry_number = mark.counters

    # -- writing -------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Writes all that was noted: changes, then new entries, then what refers to them."""
        raw = self.connection.connection.driver_connection
        assert isinstance(raw, psycopg.Connection)
        with raw.cursor() as cursor:
            changed = [self._entries[handle] for handle in self._changed - self._new]
            if changed:
                cursor.executemany(writing.UPDATE, [writing.updated(entry) for entry in changed])
            new = sorted((self._entries[handle] for handle in self._new), key=lambda entry: entry.number)
            writing.copy_rows(cursor, writing.COPY_ENTRY, [writing.inserted(entry) for entry in new])
            self._write_flows(cursor, (*changed, *new))
            writing.copy_rows(cursor, writing.COPY_OCCUPANCY, self._occupancy_rows())
            first = self.head.event + 1
            self.head.event += len(self._notes.events)
            writing.copy_rows(
                cursor,
                writing.COPY_EVENT,
                [
                    (number, at, kind, handle, device, json.dumps(details))
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
        gone: list[tuple[str, str, int]] = []
        added: list[tuple[str, str, int]] = []
        for entry in entries:
            stored = self._stored_pairs.get(entry.handle, frozenset())
            for pairs, listed in ((stored - entry.pairs, gone), (entry.pairs - stored, added)):
                listed += [(pair, entry.reservation.owner, entry.number) for pair in sorted(pairs)]
        if gone:
            cursor.executemany(writing.DELETE_FLOW, gone)
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
