"""The entries that a batch of operations has to do with: each read once, and as the batch has changed it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import Connection, text

from slotcar.ledger import rows
from slotcar.ledger.batch import Key, Known, Labelled
from slotcar.ledger.errors import StaleVersion, UnknownHandle
from slotcar.ledger.model import OCCUPYING, Entry, State
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


class BatchEntries:
    """Where the batch has changed an entry, the batch's form is given, and not the database's."""

    def __init__(self, connection: Connection, now_us: int) -> None:
        self._connection = connection
        self._now_us = now_us
        self._known = Known()
        #: Pairs of entries as the database has them; and entries by pair, some of which may have it no more.
        self._stored_pairs: dict[str, frozenset[str]] = {}
        self._on_pair: dict[str, set[str]] = {}

    # -- reading -------------------------------------------------------------------------------------------------

    def get(self, handle: str, expected_version: int | None = None) -> Entry:
        """
        Raises:
            UnknownHandle: there is none. StaleVersion: it is not at the version that the caller saw.
        """
        if handle not in self._known.by_handle:
            self.read({handle}, set())
        entry = self._known.by_handle.get(handle)
        if entry is None:
            raise UnknownHandle(handle)
        if expected_version is not None and entry.version != expected_version:
            raise StaleVersion(handle, expected_version, entry.version)
        return entry

    def live(self, key: Key) -> Entry | None:
        """The owner's live entry of that name."""
        if key not in self._known.live:
            self.read(set(), {key})
        handle = self._known.live[key]
        return self._known.by_handle[handle] if handle else None

    def due(self, now: datetime, *, ended: bool) -> tuple[Entry, ...]:
        """Entries whose hold has run out, or whose slot ended before somebody committed them; with `ended`, also
        committed ones whose last slot is over."""
        states = [State.HELD.value, State.AWAITING_APPROVAL.value] + ([State.COMMITTED.value] if ended else [])
        rows_read = self._connection.execute(
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
        entries = [rows.entry_from_row(row) for row in self._connection.execute(READ_BESIDE, asked)]
        known = self.newest(entries)
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
        pairs = entry.pairs
        unread = {(pair, owner) for pair in pairs} - self._known.flows_read
        if unread:
            self.read_others(unread)
        handles = {handle for pair in pairs for handle in self._on_pair.get(pair, ())}
        known = [self._known.by_handle[handle] for handle in handles if handle in self._known.by_handle]
        others = [one for one in known if one.state in OCCUPYING and one.reservation.owner != owner]
        return tuple(sorted(others, key=lambda one: one.number))

    def group_of(self, key: Key) -> str | None:
        """The handle of the owner's live group of that name."""
        owner, name = key
        read = self._connection.execute(READ_GROUP_OF, {"owner": owner, "prefix": f"{name}."})
        known = self.newest(map(rows.entry_from_row, read))
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
        for row in self._connection.execute(READ_MEMBERS, {"group": group}):
            self._note_read(rows.entry_from_row(row))
        members = sorted(
            (one for one in self._known.by_handle.values() if one.group == group), key=lambda one: one.number
        )
        if not members:
            raise UnknownHandle(group)
        return tuple(members)

    def labelled(self, wanted: Labelled, now: datetime) -> set[Key]:
        """Owner and name of the entries with that label, with the batch's changes."""
        asked = {"label": wanted.label, "value": wanted.value, "owners": sorted(wanted.owners), "now": now}
        rows_read = self._connection.execute(
            READ_LABELLED, asked | {"now_us": to_us(now), "known": [*self._known.by_handle]}
        )
        own = {one.reservation.key for one in self._known.by_handle.values() if wanted.has(one, now)}
        return own | {(row.owner, row.name) for row in rows_read}

    def usage(self, owner: str, now: datetime) -> Usage:
        """The owner's live reservations that are not over, as quotas count them, with the batch's changes."""
        own = [one for one in self._known.by_handle.values() if one.reservation.owner == owner]
        asked = {"owner": owner, "now_us": to_us(now), "known": [one.handle for one in own]}
        row = self._connection.execute(READ_USAGE, asked).one()
        stored = Usage(row.reservations, int(row.windows), row.holds, int(row.volume_bits))
        live = (one.usage for one in own if one.state in OCCUPYING and one.reservation.end > now)
        return sum(live, stored)

    def newest(self, entries: Iterable[Entry]) -> dict[str, Entry]:
        """These entries by handle, and all that the batch knows: what it has changed is newer."""
        return {one.handle: one for one in entries} | self._known.by_handle

    def read(self, handles: Collection[str], keys: Collection[Key]) -> None:
        """Reads the entries of these handles, and the live ones of these owners and names."""
        rows_read = self._connection.execute(
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
            self._known.live.setdefault(key, None)

    def read_others(self, flows: Collection[tuple[str, str]]) -> None:
        """Reads the live entries on these pairs of addresses, but those of the owner that stands with each."""
        asked = {"pairs": [pair for pair, _ in flows], "owners": [owner for _, owner in flows]}
        for row in self._connection.execute(READ_OTHERS, asked | {"now_us": self._now_us}):
            self._note_read(rows.entry_from_row(row))
        self._known.flows_read |= set(flows)

    def _note_read(self, entry: Entry) -> Entry:
        known = self._known.by_handle.setdefault(entry.handle, entry)
        pairs = entry.pairs
        self._stored_pairs.setdefault(entry.handle, pairs)
        self._index(entry.handle, pairs)
        if known.state in OCCUPYING:
            self._known.live.setdefault(known.reservation.key, known.handle)
        return known

    def _index(self, handle: str, pairs: Iterable[str]) -> None:
        for pair in pairs:
            self._on_pair.setdefault(pair, set()).add(handle)

    # -- changing ------------------------------------------------------------------------------------------------

    def add(self, entry: Entry) -> None:
        """Notes an entry that the batch made."""
        self._known.new.add(entry.handle)
        self._keep(entry)

    def replace(self, entry: Entry) -> None:
        """Notes the next form of an entry."""
        self._known.changed.add(entry.handle)
        self._keep(entry)

    def _keep(self, entry: Entry) -> None:
        known = self._known
        known.by_handle[entry.handle] = entry
        self._index(entry.handle, entry.pairs)
        key = entry.reservation.key
        if entry.state in OCCUPYING:
            known.live[key] = entry.handle
        elif known.live.get(key) == entry.handle:
            known.live[key] = None

    def mark(self) -> Known:
        return self._known.copy()

    def take_back(self, mark: Known) -> None:
        """Knows again what it knew at the mark."""
        self._known = mark.copy()

    # -- what is to be written -----------------------------------------------------------------------------------

    @property
    def changed(self) -> list[Entry]:
        """The entries that the database has in another form."""
        known = self._known
        return [known.by_handle[handle] for handle in known.changed - known.new]

    @property
    def new(self) -> list[Entry]:
        """The entries that the database does not have, by number."""
        known = self._known
        return sorted((known.by_handle[handle] for handle in known.new), key=lambda entry: entry.number)

    def stored_pairs(self, entry: Entry) -> frozenset[str]:
        """The pairs of addresses that the database has of an entry."""
        return self._stored_pairs.get(entry.handle, frozenset())
