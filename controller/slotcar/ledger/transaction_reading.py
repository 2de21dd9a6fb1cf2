"""What a transaction on the ledger reads: entries, keys and quotas, each once, with what the batch has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from slotcar.admission import SlotTables
from slotcar.ledger import rows
from slotcar.ledger.batch import Key, Labelled, Needs, Notes, Remembered
from slotcar.ledger.cache import TableCache
from slotcar.ledger.database import Head
from slotcar.ledger.errors import StaleVersion, UnknownHandle
from slotcar.ledger.model import OCCUPYING, Entry, State, Terms
from slotcar.ledger.reading import (
    READ_BESIDE,
    READ_ENTRIES,
    READ_GROUP_OF,
    READ_LABELLED,
    READ_MEMBERS,
    READ_OTHERS,
    READ_USAGE,
)
from slotcar.policy.quotas import Usage
from slotcar.timebase import to_us


class TransactionReading:
    """The part of `Transaction` that only reads. Where the batch has changed an entry, the batch's form is the newer."""

    def __init__(self, connection: Connection, head: Head, cache: TableCache, terms: Terms, now_us: int) -> None:
        self.connection = connection
        self.head = head
        self.terms = terms
        self._cache = cache
        self._now_us = now_us
        self._tables: SlotTables | None = None
        self._entries: dict[str, Entry] = {}
        self._live: dict[Key, str | None] = {}
        self._remembered: dict[Key, Remembered | None] = {}
        self._new: set[str] = set()
        self._changed: set[str] = set()
        #: Pairs of entries as the database has them; and entries by pair, some of which may have it no more.
        self._stored_pairs: dict[str, frozenset[str]] = {}
        self._on_pair: dict[str, set[str]] = {}
        self._flows_read: set[tuple[str, str]] = set()
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
            self._read_entries(handles, keys)
        flows = {flow for need in listed for flow in need.flows}
        if flows:
            self._read_others(flows)
        asked = {key for need in listed for key in need.idempotency}
        if asked:
            self._read_remembered(asked)

    def entry(self, handle: str, expected_version: int | None = None) -> Entry:
        """
        Raises:
            UnknownHandle: there is none. StaleVersion: it is not at the version that the caller saw.
        """
        if handle not in self._entries:
            self._read_entries({handle}, set())
        entry = self._entries.get(handle)
        if entry is None:
            raise UnknownHandle(handle)
        if expected_version is not None and entry.version != expected_version:
            raise StaleVersion(handle, expected_version, entry.version)
        return entry

    def live(self, key: Key) -> Entry | None:
        """The owner's live entry of that name."""
        if key not in self._live:
            self._read_entries(set(), {key})
        handle = self._live[key]
        return self._entries[handle] if handle else None

    def remembered(self, key: Key) -> Remembered | None:
        if key not in self._remembered:
            self._read_remembered({key})
        return self._remembered[key]

    def due(self, now: datetime, *, ended: bool) -> tuple[Entry, ...]:
        """Entries whose hold has run out, or whose slot ended before somebody committed them; with `ended`, also
        committed ones whose last slot is over."""
        states = [State.HELD.value, State.AWAITING_APPROVAL.value] + ([State.COMMITTED.value] if ended else [])
        rows_read = self.connection.execute(
            text(
                "SELECT * FROM entry WHERE state = ANY(:states) AND (hold_until <= :now OR end_us <= :now_us)"
                " ORDER BY number"
            ),
            {"states": states, "now": now, "now_us": to_us(now)},
        )
        return tuple(self._note_read(rows.entry_from_row(row)) for row in rows_read)

    def beside(self, entry: Entry, devices: Collection[str]) -> tuple[Entry, ...]:
        """Other live entries that cross one of the devices and may be open while the entry is, by number."""
        start, end = entry.reservation.start, entry.reservation.end
        asked = {"start_us": to_us(start), "end_us": to_us(end), "devices": sorted(devices)}
        entries = [rows.entry_from_row(row) for row in self.connection.execute(READ_BESIDE, asked)]
        known = {one.handle: one for one in entries} | self._entries  # what the batch has changed already is newer
        return tuple(
            sorted(
                (
                    one
                    for one in known.values()
                    if one.state in OCCUPYING
                    and one.handle != entry.handle
                    and one.reservation.start < end
                    and start < one.reservation.end
                    and any(hop.device in devices for path in one.paths for hop in path.hops)
                ),
                key=lambda one: one.number,
            )
        )

    def on_same_pairs(self, entry: Entry) -> tuple[Entry, ...]:
        """Live entries of other owners between the same addresses with the same protocol, by number."""
        owner = entry.reservation.owner
        unread = {(pair, owner) for pair in entry.pairs} - self._flows_read
        if unread:
            self._read_others(unread)
        handles = {handle for pair in entry.pairs for handle in self._on_pair.get(pair, ())}
        known = [self._entries[handle] for handle in handles if handle in self._entries]
        others = [one for one in known if one.state in OCCUPYING and one.reservation.owner != owner]
        return tuple(sorted(others, key=lambda one: one.number))

    def transfers(self, now: datetime) -> tuple[Entry, ...]:
        """Committed volumes by a deadline that is to come, by number."""
        known = {one.handle: one for one in self._cache.transfers(self.connection, to_us(now))} | self._entries
        live = (one for one in known.values() if one.reservation.need is not None and one.reservation.end > now)
        return tuple(sorted((one for one in live if one.state is State.COMMITTED), key=lambda one: one.number))

    def group_of(self, key: Key) -> str | None:
        """The handle of the owner's live group of that name."""
        owner, name = key
        read = self.connection.execute(READ_GROUP_OF, {"owner": owner, "prefix": f"{name}."})
        known = {entry.handle: entry for entry in map(rows.entry_from_row, read)} | self._entries
        return next(
            (
                entry.group
                for entry in known.values()
                if entry.group
                and entry.state in OCCUPYING
                and (one := entry.reservation.together)
                and (entry.reservation.owner, one.group) == key
            ),
            None,
        )

    def members(self, group: str) -> tuple[Entry, ...]:
        """The entries of a group, those that are over too, by number.

        Raises:
            UnknownHandle: there is none.
        """
        for row in self.connection.execute(READ_MEMBERS, {"group": group}):
            self._note_read(rows.entry_from_row(row))
        members = sorted((one for one in self._entries.values() if one.group == group), key=lambda one: one.number)
        if not members:
            raise UnknownHandle(group)
        return tuple(members)

    def labelled(self, wanted: Labelled, now: datetime) -> set[Key]:
        """Owner and name of the entries with that label, with the batch's changes."""
        asked = {"label": wanted.label, "value": wanted.value, "owners": sorted(wanted.owners), "now": now}
        rows_read = self.connection.execute(READ_LABELLED, asked | {"now_us": to_us(now), "known": [*self._entries]})
        own = {one.reservation.key for one in self._entries.values() if wanted.has(one, now)}
        return own | {(row.owner, row.name) for row in rows_read}

    def usage(self, owner: str, now: datetime) -> Usage:
        """The owner's live reservations that are not over, as quotas count them, with the batch's changes."""
        own = [one for one in self._entries.values() if one.reservation.owner == owner]
        asked = {"owner": owner, "now_us": to_us(now), "known": [one.handle for one in own]}
        row = self.connection.execute(READ_USAGE, asked).one()
        stored = Usage(row.reservations, int(row.windows), row.holds, int(row.volume_bits))
        live = (one.usage for one in own if one.state in OCCUPYING and one.reservation.end > now)
        return sum(live, stored)

    def _read_others(self, flows: Collection[tuple[str, str]]) -> None:
        asked = {"pairs": [pair for pair, _ in flows], "owners": [owner for _, owner in flows]}
        for row in self.connection.execute(READ_OTHERS, asked | {"now_us": self._now_us}):
            self._note_read(rows.entry_from_row(row))
        self._flows_read |= set(flows)

    def _read_entries(self, handles: Collection[str], keys: Collection[Key]) -> None:
        rows_read = self.connection.execute(
            READ_ENTRIES,
            {
                "handles": list(handles),
                "owners": [owner for owner, _ in keys],
                "names": [name for _, name in keys],
            },
        )
        for row in rows_read:
            self._note_read(rows.entry_from_row(row))
        for key in keys:
            self._live.setdefault(key, None)

    def _note_read(self, entry: Entry) -> Entry:
        known = self._entries.setdefault(entry.handle, entry)
        self._stored_pairs.setdefault(entry.handle, entry.pairs)
        self._index(entry)
        if known.state in OCCUPYING:
            self._live.setdefault(known.reservation.key, known.handle)
        return known

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

    def _index(self, entry: Entry) -> None:
        for pair in entry.pairs:
            self._on_pair.setdefault(pair, set()).add(entry.handle)
