"""The entries that a batch of operations has to do with: each read once, and as the batch has changed it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from slotcar.book.batch import FlowsAt, Key, Labelled, OthersFlows, Replaced, flows_at, may_be_open, others_flows
from slotcar.book.errors import StaleVersion, UnknownHandle
from slotcar.book.in_time import InTime
from slotcar.book.model import OCCUPYING, Entry
from slotcar.book.rules.flows import ReservedFlow
from slotcar.book.rules.quotas import Usage
from slotcar.book.shelf import Shelf


class BatchEntries:
    """Where the batch has changed an entry, the batch's form is given, and not the shelf's."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        #: Entries by handle, as they were read, or as the batch has changed them since.
        self._by_handle: dict[str, Entry] = {}
        #: The handle of the live entry of that owner and name; None where there is none.
        self._live: dict[Key, str | None] = {}
        #: Handles of the entries that the batch made, and of those that it changed; and how each was before.
        self._new: set[str] = set()
        self._changed: set[str] = set()
        self._replaced: list[Replaced] = []
        #: Whose entries all were read.
        self._others_read: set[OthersFlows] = set()
        self._groups_read: set[Key] = set()
        #: What the shelf has of them, each flow with its entry's number.
        self._flows_at: dict[FlowsAt, list[tuple[int, ReservedFlow]]] = {}
        #: Flows of entries: as the shelf has them, and as they were computed last, of which form of the entry.
        self._stored_flows: dict[str, frozenset[ReservedFlow]] = {}
        self._flows: dict[str, tuple[Entry, frozenset[ReservedFlow]]] = {}
        #: Handles by owner and number; by pair of addresses and owner, device and group, which may have it no more.
        self._of_owner: dict[str, set[str]] = {}
        self._handles: dict[int, str] = {}
        self._on_pair: dict[str, dict[str, set[str]]] = {}
        self._at_device: dict[str, InTime] = {}
        self._in_group: dict[Key, set[str]] = {}

    # -- reading -------------------------------------------------------------------------------------------------

    def get(self, handle: str, expected_version: int | None = None) -> Entry:
        """
        Raises:
            UnknownHandle: there is none. StaleVersion: it is not at the version that the caller saw.
        """
        if handle not in self._by_handle:
            self.read({handle}, set())
        entry = self._by_handle.get(handle)
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
        return self._by_handle[handle] if handle else None

    def due(self, now: datetime, *, ended: bool) -> tuple[Entry, ...]:
        """Entries whose hold has run out, or whose slot ended before somebody committed them; with `ended`, also
        committed ones whose last slot is over."""
        return tuple(map(self._note_read, self._shelf.due(now, ended=ended)))

    def flows_beside(self, entry: Entry, devices: frozenset[str]) -> list[tuple[int, ReservedFlow]]:
        """Flows that the devices classify and that may be open while the entry is, each with its entry's number; of other
        live entries."""
        query = flows_at(entry.reservation, devices)
        if query not in self._flows_at:
            self.read_flows_at({query})
        stored = [one for one in self._flows_at[query] if self._handles.get(one[0]) not in self._by_handle]
        at_devices = (self._at_device[device] for device in devices if device in self._at_device)
        handles = {one for those in at_devices for one in those.overlapping(query.start_us, query.end_us)}
        handles -= {entry.handle}
        return stored + [
            (one.number, flow)
            for one in map(self._by_handle.get, handles)
            if one is not None
            for flow in self.flows_of(one)
            if flow.device in devices and flow.start_us < query.end_us and query.start_us < flow.end_us
        ]

    def open_with(self, entry: Entry) -> tuple[Entry, ...]:
        """Others that may be open in its time, or end or begin where it begins or ends, by number; see `may_be_open`."""
        first, last = entry.reservation.start, max(entry.reservation.end, entry.latest.end)
        self._note_all(self._shelf.open_between(first, last))
        others = (
            one for one in self._by_handle.values() if one.handle != entry.handle and may_be_open(one, first, last)
        )
        return tuple(sorted(others, key=lambda one: one.number))

    def numbered(self, numbers: Collection[int]) -> tuple[Entry, ...]:
        """The entries of these numbers, in their order."""
        wanted = sorted(numbers)
        missing = [number for number in wanted if self._handles.get(number) not in self._by_handle]
        if missing:
            self._note_all(self._shelf.numbered(missing))
        return tuple(self._by_handle[self._handles[number]] for number in wanted)

    def on_same_pairs(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """Other live entries between the same addresses with the same protocol as one of these of another owner, by number:
        all that may have packets of it at the same time, and some more.
        """
        wanted_flows = {
            flow for entry in entries for flow in others_flows(entry.reservation.owner, self.flows_of(entry))
        }
        if unread := wanted_flows - self._others_read:
            self.read_others(unread)
        owners_by_pair: dict[str, set[str]] = {}
        for owner, flow in wanted_flows:
            owners_by_pair.setdefault(flow.pair, set()).add(owner)
        handles: set[str] = set()
        for pair, owners in owners_by_pair.items():
            handles.update(*(those for other, those in self._on_pair.get(pair, {}).items() if owners - {other}))
        handles -= {entry.handle for entry in entries}
        listed = (self._by_handle[handle] for handle in handles if handle in self._by_handle)
        return tuple(sorted((one for one in listed if one.state in OCCUPYING), key=lambda one: one.number))

    def group_of(self, key: Key) -> str | None:
        """The handle of the owner's live group of that name."""
        if key not in self._groups_read:
            self.read_groups({key})
        members = (self._by_handle.get(handle) for handle in self._in_group.get(key, ()))
        live = (one for one in members if one is not None and one.state in OCCUPYING)
        return next((one.group for one in live if one.group and one.reservation.group_key == key), None)

    def members(self, group: str) -> tuple[Entry, ...]:
        """The entries of a group, those that are over too, by number.

        Raises:
            UnknownHandle: there is none.
        """
        self._note_all(self._shelf.members(group))
        members = sorted((one for one in self._by_handle.values() if one.group == group), key=lambda one: one.number)
        if not members:
            raise UnknownHandle(group)
        return tuple(members)

    def labelled(self, wanted: Labelled, now: datetime) -> set[Key]:
        """Owner and name of the entries with that label, with the batch's changes."""
        own = {one.reservation.key for one in self._by_handle.values() if wanted.has(one, now)}
        return own | self._shelf.labelled(wanted, now, without=self._by_handle)

    def usage(self, owner: str, now: datetime) -> Usage:
        """The owner's live reservations that are not over, as quotas count them, with the batch's changes."""
        own = [self._by_handle[one] for one in self._of_owner.get(owner, ()) if one in self._by_handle]
        stored = self._shelf.usage(owner, now, without=[one.handle for one in own])
        live = (one.usage for one in own if one.state in OCCUPYING and one.reservation.end > now)
        return sum(live, stored)

    def newest(self, entries: Iterable[Entry]) -> dict[str, Entry]:
        """These entries by handle, and all that the batch knows: what it has changed is newer."""
        return {one.handle: one for one in entries} | self._by_handle

    def read(self, handles: Collection[str], keys: Collection[Key]) -> None:
        """Reads the entries of these handles, and the live ones of these owners and names."""
        self._note_all(self._shelf.entries(handles, keys))
        for key in keys:
            self._live.setdefault(key, None)

    def read_others(self, flows: Collection[OthersFlows]) -> None:
        """Reads the live entries that have these."""
        self._note_all(self._shelf.having(flows))
        self._others_read |= set(flows)

    def read_groups(self, keys: Collection[Key]) -> None:
        """Reads the live members of these groups."""
        self._note_all(self._shelf.groups(keys))
        self._groups_read |= set(keys)

    def read_flows_at(self, wanted: Collection[FlowsAt]) -> None:
        """Reads the flows of live entries that these are."""
        self._flows_at |= {one: [] for one in wanted}
        for one, number, flow in self._shelf.flows_at(wanted):
            self._flows_at[one].append((number, flow))

    def flows_of(self, entry: Entry) -> frozenset[ReservedFlow]:
        """The entry's flows, computed once for each of its forms."""
        computed = self._flows.get(entry.handle)
        if computed is None or computed[0] is not entry:
            computed = self._flows[entry.handle] = entry, entry.flows
        return computed[1]

    def _note_all(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._note_read(entry)

    def _note_read(self, entry: Entry) -> Entry:
        current = self._by_handle.setdefault(entry.handle, entry)
        if current is entry:
            self._stored_flows[entry.handle] = self._index(entry)
        if current.state in OCCUPYING:
            self._live.setdefault(current.reservation.key, current.handle)
        return current

    def _index(self, entry: Entry) -> frozenset[ReservedFlow]:
        flows = self.flows_of(entry)
        self._handles[entry.number] = entry.handle
        self._of_owner.setdefault(entry.reservation.owner, set()).add(entry.handle)
        if group := entry.reservation.group_key:
            self._in_group.setdefault(group, set()).add(entry.handle)
        for flow in flows:
            self._on_pair.setdefault(flow.pair, {}).setdefault(entry.reservation.owner, set()).add(entry.handle)
            self._at_device.setdefault(flow.device, InTime()).add(flow.start_us, flow.end_us, entry.handle)
        return flows

    # -- changing ------------------------------------------------------------------------------------------------

    def add(self, entry: Entry, flows: Iterable[ReservedFlow]) -> None:
        """Notes an entry that the batch made, with its flows, which the request's needs were found by."""
        self._flows[entry.handle] = entry, frozenset(flows)
        self._keep(entry, self._new)

    def replace(self, entry: Entry) -> None:
        """Notes the next form of an entry."""
        self._keep(entry, self._changed)

    def _keep(self, entry: Entry, listed: set[str]) -> None:
        handle, key = entry.handle, entry.reservation.key
        self._replaced.append(
            Replaced(
                handle,
                self._by_handle.get(handle),
                key,
                key in self._live,
                self._live.get(key),
                None if handle in listed else listed,
            )
        )
        listed.add(handle)
        self._by_handle[handle] = entry
        self._index(entry)
        if entry.state in OCCUPYING:
            self._live[key] = handle
        elif self._live.get(key) == handle:
            self._live[key] = None

    def mark(self) -> int:
        """How many changes are noted by now."""
        return len(self._replaced)

    def take_back(self, mark: int) -> None:
        """Undoes the changes since the mark; what was read since stays in memory."""
        for was in reversed(self._replaced[mark:]):
            if was.before is None:
                del self._by_handle[was.handle]
            else:
                self._by_handle[was.handle] = was.before
            if was.was_known:
                self._live[was.key] = was.live
            else:
                self._live.pop(was.key, None)
            if was.listed is not None:
                was.listed.discard(was.handle)
        del self._replaced[mark:]

    # -- what is to be written -----------------------------------------------------------------------------------

    @property
    def changed(self) -> list[Entry]:
        """The entries that the shelf has in another form."""
        return [self._by_handle[handle] for handle in self._changed - self._new]

    @property
    def new(self) -> list[Entry]:
        """The entries that the shelf does not have, by number."""
        return sorted((self._by_handle[handle] for handle in self._new), key=lambda entry: entry.number)

    def stored_flows(self, entry: Entry) -> frozenset[ReservedFlow]:
        """The flows that the shelf has of an entry."""
        return self._stored_flows.get(entry.handle, frozenset())
