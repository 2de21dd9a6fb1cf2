"""One transaction on the ledger: entries as a batch's operations leave them, and everything to be written at its end.

Nothing is kept before the end, so an operation that fails is taken back by forgetting what it noted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from slotcar.book.agreed_slss import AgreedSls
from slotcar.book.batch import Head, Key, Needs, Notes, Remembered, Savepoint
from slotcar.book.batch_entries import BatchEntries
from slotcar.book.errors import ForbiddenTransition
from slotcar.book.model import TRANSITIONS, Entry, State, Terms
from slotcar.book.rules.flows import ReservedFlow
from slotcar.book.shelf import Shelf
from slotcar.policy.sharing import CommunityShare

if TYPE_CHECKING:
    from slotcar.admission import SlotTables
    from slotcar.book.running_totals import RunningTotals


class Transaction:
    """What is kept on a shelf, and what a batch of operations changes of it.

    Attributes:
        head: the counters, which go on with what is noted; that of events when they are written.
        entries: the entries, read and as the batch has changed them.
        tables: caught up with the shelf; they follow what the batch notes, as `totals` do.
        notes: what is to be written beside entries.
    """

    def __init__(self, shelf: Shelf, head: Head, terms: Terms) -> None:
        self.head = head
        self.terms = terms
        self.entries = BatchEntries(shelf)
        self.notes = Notes()
        self._shelf = shelf
        self._tables: SlotTables | None = None
        self._totals: RunningTotals | None = None
        self._remembered: dict[Key, Remembered | None] = {}
        self._shares: dict[str, Mapping[str, CommunityShare]] = {}

    @property
    def tables(self) -> SlotTables:
        if self._tables is None:
            self._tables = self._shelf.tables(self.head.sequence)
        return self._tables

    @property
    def has_tables(self) -> bool:
        """Whether anything has asked for the tables."""
        return self._tables is not None

    def totals(self, now: datetime) -> RunningTotals:
        """What is live together, with what the batch has noted by now."""
        if self._totals is None:
            begun = self.head.sequence - len(self.notes.occupancy)
            self._totals = self._shelf.totals(begun, self.terms.policy.reserving.site, now)
            for _, entry, _, sign in self.notes.occupancy:
                self._totals.put(entry.number, entry.counted if sign == 1 else None)
        return self._totals

    @property
    def has_totals(self) -> bool:
        """Whether anything has asked for the totals."""
        return self._totals is not None

    @property
    def known_transfers(self) -> MutableMapping[str, Any]:
        return self._shelf.known_transfers

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
        entries = self.entries.newest(self._shelf.transfers(now)).values()
        live = (one for one in entries if one.reservation.need is not None and one.reservation.end > now)
        return tuple(sorted((one for one in live if one.state is State.COMMITTED), key=lambda one: one.number))

    def shares(self, community: str) -> Mapping[str, CommunityShare]:
        """What is shared out of a community, by name, with the batch's changes; those that ran out too."""
        if community not in self._shares:
            self._shares[community] = {one.name: one for one in self._shelf.shares(community)}
        shares = dict(self._shares[community])
        for (of, name), share in self.notes.shares:
            if of == community:
                if share is None:
                    shares.pop(name, None)
                else:
                    shares[name] = share
        return shares

    def slss(self) -> tuple[AgreedSls, ...]:
        """Those that domains have agreed on, or hold, those that are over too."""
        return tuple(self._shelf.slss())

    def _read_remembered(self, keys: Collection[Key]) -> None:
        for key, remembered in self._shelf.remembered(keys).items():
            self._remembered.setdefault(key, remembered)
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
        """Also what takes nothing of the network is noted: totals follow the log."""
        occupied = entry.occupied
        (self.tables.add if sign == 1 else self.tables.remove)(occupied.demands, occupied.windows)
        self.head.sequence += 1
        self.notes.occupancy.append((self.head.sequence, entry, occupied, sign))
        if self._totals is not None:
            self._totals.put(entry.number, entry.counted if sign == 1 else None)

    def event(
        self, kind: str, at: datetime, handle: str | None = None, device: str | None = None, /, **details: Any
    ) -> None:
        self.notes.events.append((at, kind, handle, device, details))

    def is_last_of_device(self, number: int, device: str, kinds: Collection[str]) -> bool:
        """Whether no event of the kinds came to the device after the event `number`."""
        if self._shelf.has_event_after(number, device, kinds):
            return False
        return not any(one[3] == device and one[1] in kinds for one in self.notes.events)

    def remember(self, key: Key, remembered: Remembered, at: datetime) -> None:
        self._remembered[key] = remembered
        self.notes.remembered.append((key, remembered, at))

    def share(self, key: Key, share: CommunityShare | None) -> None:
        """`key`: the community and the share's name; None withdraws it."""
        self.notes.shares.append((key, share))

    def agree(self, agreed: AgreedSls, *, is_dropped: bool = False) -> None:
        """Keeps an SLS as it is now, or no more. It is written at once: an operation does so once, and fails before."""
        self.head.slss += 1
        self._shelf.agree(agreed, is_dropped=is_dropped)

    # -- taking back ---------------------------------------------------------------------------------------------

    def mark(self) -> Savepoint:
        notes = self.notes
        return Savepoint(
            entries=self.entries.mark(),
            occupancy=len(notes.occupancy),
            events=len(notes.events),
            remembered=len(notes.remembered),
            shares=len(notes.shares),
            counters=(self.head.sequence, self.head.entry_number),
        )

    def take_back(self, mark: Savepoint) -> None:
        """Makes the transaction what it was at the mark."""
        notes = self.notes
        for _, entry, part, sign in reversed(notes.occupancy[mark.occupancy :]):
            (self.tables.remove if sign == 1 else self.tables.add)(part.demands, part.windows)
            if self._totals is not None:
                self._totals.put(entry.number, None if sign == 1 else entry.counted)
        for key, _, _ in notes.remembered[mark.remembered :]:
            self._remembered[key] = None
        del notes.occupancy[mark.occupancy :], notes.events[mark.events :], notes.remembered[mark.remembered :]
        del notes.shares[mark.shares :]
        self.entries.take_back(mark.entries)
        self.head.sequence, self.head.entry_number = mark.counters
