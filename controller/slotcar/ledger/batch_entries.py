"""The entries that a batch of operations has to do with: each read once, and as the batch has changed it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import Connection

from slotcar.ledger import rows
from slotcar.ledger.batch import Key, Labelled, Replaced
from slotcar.ledger.errors import StaleVersion, UnknownHandle
from slotcar.ledger.model import OCCUPYING, Entry
from slotcar.ledger.reading import (
    READ_BESIDE,
    READ_DUE,
    READ_ENTRIES,
    READ_GROUP_OF,
    READ_LABELLED,
    READ_MEMBERS,
    READ_OTHERS,
    READ_RUN_OUT,
    READ_USAGE,
    read,
)
from slotcar.policy.quotas import Usage
from slotcar.timebase import to_us


class BatchEntries:
    """Where the batch has changed an entry, the batch's form is given, and not the database's."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        #: Entries by handle, as they were read, or as the batch has changed them since.
        self._known: dict[str, Entry] = {}
        #: The handle of the live entry of that owner and name; None where there is none.
        self._live: dict[Key, str | None] = {}
        #: Handles of the entries that the batch made, and of those that it changed; and how each was before.
        self._new: set[str] = set()
        self._changed: set[str] = set()
        self._replaced: list[Replaced] = []
        #: Pairs of addresses, each with the owner besides whose entries all were read that are on it.
        self._pairs_read: set[tuple[str, str]] = set()
        #: Pairs of entries as the database has them; and handles by pair and owner, some of which may have it no more.
        self._stored_pairs: dict[str, frozenset[str]] = {}
        self._on_pair: dict[str, dict[str, set[str]]] = {}

    # -- reading -------------------------------------------------------------------------------------------------

    def get(self, handle: str, expected_version: int | None = None) -> Entry:
        """
        Raises:
            UnknownHandle: there is none. StaleVersion: it is not at the version that the caller saw.
        """
        if handle not in self._known:
            self.read({handle}, set())
        entry = self._known.get(handle)
        if entry is None:
            raise UnknownHandle(handle)
        if expected_version is not None and entry.version != expected_version:
            raise StaleVersion(handle, expected_version, entry.version)
        return entry

    def live(self, key: Key) -> Entry | None:
        """The owner's live entry of that name."""
        if key not in self._live:
            self.read(set(), {key})
        handle = self._live[key]
        return self._known[handle] if handle else None

    def due(self, now: datetime, *, ended: bool) -> tuple[Entry, ...]:
        """Entries whose hold has run out, or whose slot ended before somebody committed them; with `ended`, also
        committed ones whose last slot is over."""
        asked = {"now": now, "now_us": to_us(now)}
        rows_read = read(self._connection, READ_DUE if ended else READ_RUN_OUT, asked)
        return tuple(self._note_read(rows.entry_from_row(row)) for row in rows_read)

    def beside(self, entry: Entry, devices: Collection[str]) -> tuple[Entry, ...]:
        """Other live entries that cross one of the devices and may be open while the entry is, by number."""
        start, end = entry.reservation.start, entry.reservation.end
        asked = {"start_us": to_us(start), "end_us": to_us(end), "devices": sorted(devices)}
        entries = [rows.entry_from_row(row) for row in read(self._connection, READ_BESIDE, asked)]
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
        unread = {(pair, owner) for pair in pairs} - self._pairs_read
        if unread:
            self.read_others(unread)
        handles: set[str] = set()
        for pair in pairs:
            handles.update(*(those for other, those in self._on_pair.get(pair, {}).items() if other != owner))
        known = (self._known[handle] for handle in handles if handle in self._known)
        return tuple(sorted((one for one in known if one.state in OCCUPYING), key=lambda one: one.number))

    def group_of(self, key: Key) -> str | None:
        """The handle of the owner's live group of that name."""
        owner, name = key
        members = read(self._connection, READ_GROUP_OF, {"owner": owner, "prefix": f"{name}."})
        known = self.newest(map(rows.entry_from_row, members))
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
        for row in read(self._connection, READ_MEMBERS, {"group": group}):
            self._note_read(rows.entry_from_row(row))
        members = sorted((one for one in self._known.values() if one.group == group), key=lambda one: one.number)
        if not members:
            raise UnknownHandle(group)
        return tuple(members)

    def labelled(self, wanted: Labelled, now: datetime) -> set[Key]:
        """Owner and name of the entries with that label, with the batch's changes."""
        asked = {"label": wanted.label, "value": wanted.value, "owners": sorted(wanted.owners), "now": now}
        rows_read = read(self._connection, READ_LABELLED, asked | {"now_us": to_us(now), "known": [*self._known]})
        own = {one.reservation.key for one in self._known.values() if wanted.has(one, now)}
        return own | {(row.owner, row.name) for row in rows_read}

    def usage(self, owner: str, now: datetime) -> Usage:
        """The owner's live reservations that are not over, as quotas count them, with the batch's changes."""
        own = [one for one in self._known.values() if one.reservation.owner == owner]
        asked = {"owner": owner, "now_us": to_us(now), "known": [one.handle for one in own]}
        row = read(self._connection, READ_USAGE, asked)[0]
        stored = Usage(row.reservations, int(row.windows), row.holds, int(row.volume_bits))
        live = (one.usage for one in own if one.state in OCCUPYING and one.reservation.end > now)
        return sum(live, stored)

    def newest(self, entries: Iterable[Entry]) -> dict[str, Entry]:
        """These entries by handle, and all that the batch knows: what it has changed is newer."""
        return {one.handle: one for one in entries} | self._known

    def read(self, handles: Collection[str], keys: Collection[Key]) -> None:
        """Reads the entries of these handles, and the live ones of these owners and names."""
        rows_read = read(
            self._connection,
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

    def read_others(self, flows: Collection[tuple[str, str]]) -> None:
        """Reads the live entries on these pairs of addresses, but those of the owner that stands with each."""
        asked = {"pairs": [pair for pair, _ in flows], "owners": [owner for _, owner in flows]}
        for row in read(self._connection, READ_OTHERS, asked):
            self._note_read(rows.entry_from_row(row))
        self._pairs_read |= set(flows)

    def _note_read(self, entry: Entry) -> Entry:
        known = self._known.setdefault(entry.handle, entry)
        self._stored_pairs.setdefault(entry.handle, self._index(entry))
        if known.state in OCCUPYING:
            self._live.setdefault(known.reservation.key, known.handle)
        return known

    def _index(self, entry: Entry) -> frozenset[str]:
        pairs = entry.pairs
        for pair in pairs:
            self._on_pair.setdefault(pair, {}).setdefault(entry.reservation.owner, set()).add(entry.handle)
        return pairs

    # -- changing ------------------------------------------------------------------------------------------------

    def add(self, entry: Entry) -> None:
        """Notes an entry that the batch made."""
        self._keep(entry, self._new)

    def replace(self, entry: Entry) -> None:
        """Notes the next form of an entry."""
        self._keep(entry, self._changed)

    def _keep(self, entry: Entry, listed: set[str]) -> None:
        handle, key = entry.handle, entry.reservation.key
        self._replaced.append(
            Replaced(
                handle,
                self._known.get(handle),
                key,
                key in self._live,
                self._live.get(key),
                None if handle in listed else listed,
            )
        )
        listed.add(handle)
        self._known[handle] = entry
        self._index(entry)
        if entry.state in OCCUPYING:
            self._live[key] = handle
        elif self._live.get(key) == handle:
            self._live[key] = None

    def mark(self) -> int:
        """How many changes are noted by now."""
        return len(self._replaced)

    def take_back(self, mark: int) -> None:
        """Undoes the changes since the mark; what was read since stays known."""
        for was in reversed(self._replaced[mark:]):
            if was.before is None:
                del self._known[was.handle]
            else:
                self._known[was.handle] = was.before
            if was.was_asked:
                self._live[was.key] = was.live
            else:
                self._live.pop(was.key, None)
            if was.listed is not None:
                was.listed.discard(was.handle)
        del self._replaced[mark:]

    # -- what is to be written -----------------------------------------------------------------------------------

    @property
    def changed(self) -> list[Entry]:
        """The entries that the database has in another form."""
        return [self._known[handle] for handle in self._changed - self._new]

    @property
    def new(self) -> list[Entry]:
        """The entries that the database does not have, by number."""
        return sorted((self._known[handle] for handle in self._new), key=lambda entry: entry.number)

    def stored_pairs(self, entry: Entry) -> frozenset[str]:
        """The pairs of addresses that the database has of an entry."""
        return self._stored_pairs.get(entry.handle, frozenset())
