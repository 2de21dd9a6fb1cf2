"""Reservations and groups that a caller may see, and those of them that it may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from slotcar.auth import access
from slotcar.base.timebase import MICROSECOND
from slotcar.book.batch import may_be_open
from slotcar.book.delegating import may_see_entry, shown_delegations
from slotcar.book.errors import UnknownHandle
from slotcar.book.model import OCCUPYING, Entry
from slotcar.book.rules import roles
from slotcar.book.rules.roles import Caller
from slotcar.book.slot_states import TELLING, slot_now
from slotcar.desk.desk import Desk
from slotcar.planning.errors import NotPossible
from slotcar.reservation.model import is_storable
from slotcar.store import EntryFilter
from slotcar.store.group_queries import GroupFilter
from slotcar.store.pages import Page
from slotcar.views.foreseen import foreseen

#: Of a device's last events, among which its state is looked for.
LAST_EVENTS = 20

AnyFilter = TypeVar("AnyFilter", EntryFilter, GroupFilter)


@dataclass(frozen=True, slots=True)
class Entries:
    """Errors are `SlotcarError`s."""

    desk: Desk

    def status(self, which: str, caller: Caller) -> Entry:
        """The entry of a handle, or of `OWNER/NAME` (the live one, else the latest).

        Raises:
            UnknownHandle: there is none that the caller may see.
        """
        if not is_storable(which):
            raise UnknownHandle(which)
        owner, slash, name = which.partition("/")
        entry = self.desk.ledger.find(owner, name) if slash else self.desk.ledger.get(which)
        if entry is None:
            raise UnknownHandle(which)
        if not may_see_entry(caller, entry, self.desk.site, self.desk.clocks.now()):
            raise UnknownHandle(which)
        return entry

    def group(self, which: str, caller: Caller) -> tuple[Entry, ...]:
        """The members of a group by number, of its handle or of `OWNER/NAME` (the latest of that name).

        Raises:
            UnknownHandle: there is none that the caller may see.
        """
        if not is_storable(which):
            raise UnknownHandle(which)
        owner, slash, name = which.partition("/")
        handle = self.desk.ledger.find_group(owner, name) if slash else which
        members = self.desk.ledger.members(handle) if handle else ()
        if not members:
            raise UnknownHandle(which)
        access.require_see(caller, members[0])
        return members

    def groups(self, wanted: GroupFilter, caller: Caller) -> tuple[tuple[Entry, ...], ...]:
        """The members of each group; a requester sees its own."""
        visible = visible_to(wanted, caller)
        return self.desk.ledger.groups(visible) if visible else ()

    def list(self, wanted: EntryFilter, caller: Caller) -> tuple[Entry, ...]:
        """Entries by number; a requester sees its own."""
        visible = visible_to(wanted, caller)
        return self.desk.ledger.list(visible) if visible else ()

    def page(self, wanted: EntryFilter, caller: Caller) -> Page:
        """As `list`, and how many there are on all pages, as far as they are counted."""
        visible = visible_to(wanted, caller)
        return self.desk.ledger.page(visible) if visible else Page((), 0)

    def with_slots(self, entries: Sequence[Entry], caller: Caller, now: datetime) -> tuple[Entry, ...]:
        """The entries, each with what is on the devices of its slot, as it is recorded, and with what whoever asked for it
        should know; no device is read."""
        if not entries:
            return ()
        devices = {name for entry in entries for name in entry.devices}
        handles = [entry.handle for entry in entries]
        recorded = replace(
            self.desk.ledger.summaries.recorded(handles, sorted(devices), TELLING, LAST_EVENTS),
            whole=roles.may_overview(caller),
        )
        delays = self._promised_delays(entries)
        return tuple(
            replace(
                entry,
                slot=slot_now(entry, recorded, now),
                delegations=shown_delegations(entry, caller, now),
                notes=(*foreseen(entry.reservation, entry.paths, self.desk.network), *delays.get(entry.handle, ())),
            )
            for entry in entries
        )

    def _promised_delays(self, entries: Sequence[Entry]) -> Mapping[str, tuple[str, ...]]:
        """By handle, what the worst delays of those are that are promised any, beside what is reserved by now.

        As admission counts it, also beside what ends or begins at the instant at which they begin or end.
        """
        bounded = [one for one in entries if one.reservation.is_bounded and one.state in OCCUPYING]
        if not bounded:
            return {}
        first = min(one.reservation.start for one in bounded) - MICROSECOND
        last = max(one.reservation.end for one in bounded) + MICROSECOND
        live = self.desk.ledger.live_between(first, last)
        notes = {}
        for entry in bounded:
            span = entry.reservation.start, entry.reservation.end
            others = [one for one in live if one.handle != entry.handle and may_be_open(one, *span)]
            notes[entry.handle] = self.desk.delay_bounds.notes(entry, others)
        return notes

    def changeable(
        self, which: str, caller: Caller, verb: str, now: datetime, *, alone: bool = False
    ) -> tuple[Entry, Caller]:
        """The entry, where the caller may change it, and with whose rights: its own, or those of whoever delegated it.
        `alone`: a member of a group is refused, because the others would not change with it."""
        entry = self.status(which, caller)
        acts = access.acting(caller, entry, verb, self.desk.site, now)
        return (require_alone(entry) if alone else entry), acts


def visible_to(wanted: AnyFilter, caller: Caller) -> AnyFilter | None:
    """The filter, narrowed to what the caller may see: a requester sees its own; None where that is nothing."""
    if roles.may_see(caller, wanted.owner or ""):
        return wanted
    return replace(wanted, owner=roles.only_owner(caller)) if wanted.owner is None else None


def require_alone(entry: Entry) -> Entry:
    """
    Raises:
        NotPossible: it is a member of a group, which is decided whole.
    """
    if entry.group is not None:
        raise NotPossible(f"{entry.handle} is a member of the group {entry.group}: change the whole group instead")
    return entry
