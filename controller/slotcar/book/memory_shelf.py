"""A ledger in memory as a `Shelf`: what is decided where there is no database, and against which its shelf is tested."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from slotcar.admission import SlotTables
from slotcar.book.agreed_slss import AgreedSls
from slotcar.book.batch import FlowsAt, Head, Key, Labelled, OthersFlows, Remembered, may_be_open
from slotcar.book.in_time import InTime
from slotcar.book.model import OCCUPYING, Entry, State, Terms
from slotcar.book.rules.flows import ReservedFlow
from slotcar.book.rules.quotas import Usage
from slotcar.book.running_totals import RunningTotals
from slotcar.book.transaction import Transaction
from slotcar.policy.sharing import CommunityShare
from slotcar.policy.site import Site


@dataclass(slots=True)
class _Indexes:
    """Handles of what was live, some of which is it no more: by owner, owner and name, group, pair of
    addresses, and device."""

    of_owner: dict[str, set[str]] = field(default_factory=dict)
    named: dict[Key, set[str]] = field(default_factory=dict)
    in_group: dict[Key, set[str]] = field(default_factory=dict)
    on_pair: dict[str, InTime] = field(default_factory=dict)
    at_device: dict[str, InTime] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        self.of_owner.setdefault(entry.reservation.owner, set()).add(entry.handle)
        self.named.setdefault(entry.reservation.key, set()).add(entry.handle)
        if group := entry.reservation.group_key:
            self.in_group.setdefault(group, set()).add(entry.handle)
        for flow in entry.flows:
            self.on_pair.setdefault(flow.pair, InTime()).add(flow.start_us, flow.end_us, entry.handle)
            self.at_device.setdefault(flow.device, InTime()).add(flow.start_us, flow.end_us, entry.handle)


class MemoryShelf:
    """Entries and what is recorded of them. `keep` takes over what a transaction has noted."""

    def __init__(
        self, terms: Terms, entries: Iterable[Entry], head: Head, tables: SlotTables,
        shares: Iterable[CommunityShare] = (),
    ) -> None:  # fmt: skip
        """
        Args:
            head: the counters, which each transaction goes on with. tables: with what the entries occupy.
        """
        self.terms = terms
        self.head = head
        self.known_transfers: dict[str, Any] = {}
        self._entries = {entry.handle: entry for entry in entries}
        self._tables = tables
        self._totals: RunningTotals | None = None
        self._slss: dict[str, AgreedSls] = {}
        self._shares = {(one.community, one.name): one for one in shares}
        self._remembered: dict[Key, Remembered] = {}
        self._events: list[tuple[int, str, str | None]] = []

    @classmethod
    def of(cls, terms: Terms, now: datetime, entries: Iterable[Entry] = ()) -> MemoryShelf:
        """A ledger that has these entries and no past.

        Args:
            now: before it nothing is kept in the tables.
        """
        listed = tuple(entries)
        tables = SlotTables(terms.capacities)
        for occupied in (entry.occupied for entry in listed if entry.state in OCCUPYING):
            if occupied.demands:
                tables.add(occupied.demands, occupied.windows)
        if listed:
            tables.prune(now)
        newest = max((entry.number for entry in listed), default=0)
        return cls(terms, listed, Head(sequence=0, event=0, entry_number=newest), tables)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __getitem__(self, handle: str) -> Entry:
        return self._entries[handle]

    def transaction(self, terms: Terms | None = None) -> Transaction:
        return Transaction(self, self.head, terms or self.terms)

    def keep(self, transaction: Transaction) -> None:
        """Takes over what was noted; the tables have followed it already."""
        for entry in (*transaction.entries.changed, *transaction.entries.new):
            self._entries[entry.handle] = entry
            self._indexed.add(entry)
            if self._totals is not None:
                self._totals.put(entry.number, entry.counted)
        notes = transaction.notes
        for number, (_, kind, _, device, _) in enumerate(notes.events, self.head.event + 1):
            self._events.append((number, kind, device))
        self.head.event += len(notes.events)
        for key, share in notes.shares:
            self._shares.pop(key, None)
            if share is not None:
                self._shares[key] = share
        self._remembered |= {key: remembered for key, remembered, _ in notes.remembered}

    @cached_property
    def _indexed(self) -> _Indexes:
        """Made when something is first asked by it: a plan on a quiet network asks little."""
        indexes = _Indexes()
        for entry in self._entries.values():
            indexes.add(entry)
        return indexes

    # -- the questions -------------------------------------------------------------------------------------------

    def entries(self, handles: Collection[str], keys: Collection[Key]) -> Iterator[Entry]:
        yield from (self._entries[handle] for handle in handles if handle in self._entries)
        for key in keys:
            yield from (one for one in self._live(self._indexed.named.get(key, ())) if one.reservation.key == key)

    def numbered(self, numbers: Collection[int]) -> Iterator[Entry]:
        return (entry for entry in self._entries.values() if entry.number in numbers)

    def due(self, now: datetime, *, ended: bool) -> list[Entry]:
        return sorted((one for one in self._entries.values() if _is_due(one, now, ended)), key=lambda one: one.number)

    def groups(self, keys: Collection[Key]) -> Iterator[Entry]:
        for key in keys:
            yield from (
                one for one in self._live(self._indexed.in_group.get(key, ())) if one.reservation.group_key == key
            )

    def members(self, group: str) -> list[Entry]:
        return sorted((one for one in self._entries.values() if one.group == group), key=lambda one: one.number)

    def having(self, flows: Collection[OthersFlows]) -> list[Entry]:
        by_handle: dict[str, Entry] = {}
        for owner, flow in flows:
            on_pair = self._indexed.on_pair.get(flow.pair, InTime())
            for entry in self._live({*on_pair.overlapping(flow.start_us, flow.end_us)} - by_handle.keys()):
                if entry.reservation.owner != owner and any(_may_share_packets(flow, one) for one in entry.flows):
                    by_handle[entry.handle] = entry
        return list(by_handle.values())

    def flows_at(self, wanted: Collection[FlowsAt]) -> Iterator[tuple[FlowsAt, int, ReservedFlow]]:
        for question in wanted:
            at_device = self._indexed.at_device
            at_devices = (at_device[device] for device in question.devices if device in at_device)
            handles = {one for those in at_devices for one in those.overlapping(question.start_us, question.end_us)}
            for entry in self._live(handles):
                yield from ((question, entry.number, flow) for flow in entry.flows if _is_at(flow, question))

    def open_between(self, first: datetime, last: datetime) -> Iterator[Entry]:
        return (one for one in self._entries.values() if may_be_open(one, first, last))

    def totals(self, _sequence: int, site: Site, now: datetime) -> RunningTotals:
        if self._totals is None or self._totals.site is not site:
            counted = ((one.number, one.counted) for one in self._entries.values())
            self._totals = RunningTotals(site, ((number, one) for number, one in counted if one), now)
        return self._totals

    def labelled(self, wanted: Labelled, now: datetime, *, without: Collection[str]) -> set[Key]:
        others = (one for handle, one in self._entries.items() if handle not in without)
        return {one.reservation.key for one in others if wanted.has(one, now)}

    def usage(self, owner: str, now: datetime, *, without: Collection[str]) -> Usage:
        own = self._live(self._indexed.of_owner.get(owner, set()).difference(without))
        return sum((one.usage for one in own if one.reservation.end > now), Usage())

    def shares(self, community: str) -> Iterator[CommunityShare]:
        return (share for (of, _), share in self._shares.items() if of == community)

    def slss(self) -> tuple[AgreedSls, ...]:
        return tuple(self._slss.values())

    def agree(self, agreed: AgreedSls, *, is_dropped: bool) -> None:
        self._slss[agreed.id] = agreed
        if is_dropped:
            del self._slss[agreed.id]

    def transfers(self, now: datetime) -> Iterator[Entry]:
        for one in self._live(self._entries):
            need = one.reservation.need
            if need is not None and one.state is State.COMMITTED and need.by > now:
                yield one

    def remembered(self, keys: Collection[Key]) -> Mapping[Key, Remembered]:
        return {key: self._remembered[key] for key in keys if key in self._remembered}

    def has_event_after(self, number: int, device: str, kinds: Collection[str]) -> bool:
        return any(later > number and kind in kinds and at == device for later, kind, at in self._events)

    def tables(self, _sequence: int) -> SlotTables:
        return self._tables

    def _live(self, handles: Iterable[str]) -> Iterator[Entry]:
        return (one for one in map(self._entries.__getitem__, handles) if one.state in OCCUPYING)


def _is_due(entry: Entry, now: datetime, ended: bool) -> bool:
    is_over = entry.reservation.end <= now
    if entry.state is State.COMMITTED:
        return ended and is_over
    return entry.state in OCCUPYING and (is_over or (entry.hold_until is not None and entry.hold_until <= now))


def _may_share_packets(one: ReservedFlow, other: ReservedFlow) -> bool:
    """Whether some packet may be of both at some instant."""
    ports = ((one.source_port, other.source_port), (one.destination_port, other.destination_port))
    return (
        one.pair == other.pair
        and one.start_us < other.end_us
        and other.start_us < one.end_us
        and all(mine == theirs or 0 in (mine, theirs) for mine, theirs in ports)
    )


def _is_at(flow: ReservedFlow, question: FlowsAt) -> bool:
    in_time = flow.start_us < question.end_us and question.start_us < flow.end_us
    return in_time and flow.device in question.devices
