"""What callers may ask: reservations, free rates, the timeline, events, endpoints, limits, configurations. Only reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from slotcar.auth import access
from slotcar.base.settings import Settings
from slotcar.base.timebase import MICROSECOND, SYSTEM, Clocks, Window
from slotcar.book.batch import may_be_open
from slotcar.book.delegating import may_see_entry, shown_delegations
from slotcar.book.errors import UnknownHandle
from slotcar.book.model import OCCUPYING, Entry, Event
from slotcar.book.rules import request_limits, roles
from slotcar.book.rules.roles import NOBODY, Caller
from slotcar.book.shares import BackgroundShares
from slotcar.book.slot_states import TELLING, slot_now
from slotcar.network.model import Network
from slotcar.planning.delay_bounds import DelayBounds
from slotcar.planning.enquiry import EnquiryAnswer, ask_tables, ask_to_add
from slotcar.planning.routing import ways
from slotcar.platforms.model import Configuration
from slotcar.policy.site import Site
from slotcar.recovery.comparison import FleetComparison, compare, comparison_document
from slotcar.reservation.model import Reservation, is_storable
from slotcar.store import EntryFilter, Ledger
from slotcar.store.group_queries import GroupFilter
from slotcar.store.pages import Page
from slotcar.store.queries import EventFilter
from slotcar.views.configurations import configurations_at
from slotcar.views.devices import named_devices
from slotcar.views.documents import configurations_document
from slotcar.views.events import shown_to
from slotcar.views.foreseen import foreseen
from slotcar.views.offers import endpoints_document, limits_document
from slotcar.views.phases import KINDS
from slotcar.views.timeline import TimelineItem, TimelineQuery, timeline
from slotcar.wiring import pusher_for
from slotcar_client.wire import documents

#: A boundary is prepared at most so long before it, and its failures are recorded no longer than so after it.
EVENTS_WITHIN = timedelta(hours=1)
#: Of what the audit log says about boundaries; with more, the earliest are left out.
MOST_EVENTS = 20_000
#: Of so many reservations a timeline says what is on their devices.
MOST_STATES = 10_000
#: Of a device's last events, among which its state is looked for.
LAST_EVENTS = 20

AnyFilter = TypeVar("AnyFilter", EntryFilter, GroupFilter)


@dataclass(frozen=True, slots=True)
class Queries:
    """The part of `Broker` that only reads. Errors are `SlotcarError`s."""

    ledger: Ledger
    network: Network
    settings: Settings
    clocks: Clocks = SYSTEM
    delay_bounds: DelayBounds = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "delay_bounds", DelayBounds(self.network))

    # -- reading ---------------------------------------------------------------------------------------------------

    def status(self, which: str, caller: Caller) -> Entry:
        """The entry of a handle, or of `OWNER/NAME` (the live one, else the latest).

        Raises:
            UnknownHandle: there is none that the caller may see.
        """
        if not is_storable(which):
            raise UnknownHandle(which)
        owner, slash, name = which.partition("/")
        entry = self.ledger.find(owner, name) if slash else self.ledger.get(which)
        if entry is None:
            raise UnknownHandle(which)
        if not may_see_entry(caller, entry, self.site, self.clocks.now()):
            raise UnknownHandle(which)
        return entry

    @property
    def site(self) -> Site:
        """What the inventory says of rights."""
        return self.ledger.terms.policy.reserving.site

    def group(self, which: str, caller: Caller) -> tuple[Entry, ...]:
        """The members of a group by number, of its handle or of `OWNER/NAME` (the latest of that name).

        Raises:
            UnknownHandle: there is none that the caller may see.
        """
        if not is_storable(which):
            raise UnknownHandle(which)
        owner, slash, name = which.partition("/")
        handle = self.ledger.find_group(owner, name) if slash else which
        members = self.ledger.members(handle) if handle else ()
        if not members:
            raise UnknownHandle(which)
        access.require_see(caller, members[0])
        return members

    def groups(self, wanted: GroupFilter, caller: Caller) -> tuple[tuple[Entry, ...], ...]:
        """The members of each group; a requester sees its own."""
        visible = visible_to(wanted, caller)
        return self.ledger.groups(visible) if visible else ()

    def list(self, wanted: EntryFilter, caller: Caller) -> tuple[Entry, ...]:
        """Entries by number; a requester sees its own."""
        visible = visible_to(wanted, caller)
        return self.ledger.list(visible) if visible else ()

    def page(self, wanted: EntryFilter, caller: Caller) -> Page:
        """As `list`, and how many there are on all pages, as far as they are counted."""
        visible = visible_to(wanted, caller)
        return self.ledger.page(visible) if visible else Page((), 0)

    def with_slots(self, entries: Sequence[Entry], caller: Caller, now: datetime) -> tuple[Entry, ...]:
        """The entries, each with what is on the devices of its slot, as it is recorded, and with what whoever asked for it
        should know; no device is read."""
        if not entries:
            return ()
        devices = {name for entry in entries for name in entry.devices}
        handles = [entry.handle for entry in entries]
        recorded = replace(
            self.ledger.summaries.recorded(handles, sorted(devices), TELLING, LAST_EVENTS),
            whole=roles.may_overview(caller),
        )
        delays = self._promised_delays(entries)
        return tuple(
            replace(
                entry,
                slot=slot_now(entry, recorded, now),
                delegations=shown_delegations(entry, caller, now),
                notes=(*foreseen(entry.reservation, entry.paths, self.network), *delays.get(entry.handle, ())),
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
        live = self.ledger.live_between(first, last)
        notes = {}
        for entry in bounded:
            span = entry.reservation.start, entry.reservation.end
            others = [one for one in live if one.handle != entry.handle and may_be_open(one, *span)]
            notes[entry.handle] = self.delay_bounds.notes(entry, others)
        return notes

    def timeline(self, query: TimelineQuery, caller: Caller, now: datetime) -> tuple[TimelineItem, ...]:
        """Boundaries that were and that come; a requester sees those of its own reservations.

        Raises:
            NoSuchDevice: the inventory has no managed device of a name in the query. InvalidInput: a requester asks for a
            time with more reservations than are read for one.
        """
        owner = roles.only_owner(caller)
        if owner is not None:
            query = replace(query, own_only=True)
        elif query.devices is not None:
            named_devices(self.network, query.devices)
        if query.until < query.since:
            return ()
        wanted = EventFilter(KINDS, since=query.since - EVENTS_WITHIN, until=query.until + EVENTS_WITHIN)
        events = self.ledger.events_of(wanted, after=None, limit=MOST_EVENTS)
        entries = self._entries_between(query, owner)
        own = [one for one in entries if owner in (None, one.reservation.owner) and query.concerns(one)]
        slotted = {one.handle: one for one in self.with_slots(own[:MOST_STATES], caller, now)}
        visible = (slotted.get(one.handle, one) for one in entries if owner in (None, one.reservation.owner))
        return timeline(visible, events, query, now)

    def _entries_between(self, query: TimelineQuery, owner: str | None) -> tuple[Entry, ...]:
        """The entries of a timeline, with the rates of background reservations, for which alone all others are read."""
        window = Window(query.since, query.until + MICROSECOND)
        if owner is None:
            return BackgroundShares(self.network)(self.ledger.between(query.since, query.until), window)
        own = self.ledger.between(query.since, query.until, owner, request_limits.MOST_ENTRIES + 1)
        if not any(entry.reservation.share for entry in own):
            request_limits.require_few_entries(len(own))
            return own
        everybody = self.ledger.between(query.since, query.until, limit=request_limits.MOST_ENTRIES + 1)
        request_limits.require_few_entries(len(everybody))
        return BackgroundShares(self.network)(everybody, window)

    def compare(self, devices: Collection[str] | None, caller: Caller, now: datetime) -> FleetComparison:
        """What these devices have (all where `devices` is None) against what they are to have; reads them, which takes
        seconds, and changes nothing.

        Raises:
            NoSuchDevice, NotPossible: see `slotcar.recovery.comparison.compare`.
        """
        roles.require_overview(caller, "read a device", "difference")
        return compare(
            self.ledger, self.network, pusher_for(self.network, self.settings, None, self.clocks), now, devices
        )

    # -- free rates ------------------------------------------------------------------------------------------------

    def comparison_document(self, devices: Collection[str] | None, caller: Caller, now: datetime) -> dict[str, Any]:
        """As `compare`, for people and programs to read."""
        return comparison_document(self.compare(devices, caller, now))

    def enquire(self, reservation: Reservation, caller: Caller, now: datetime) -> EnquiryAnswer:
        """The highest rate each way over the windows (GARA's enquire), and what is free over time.

        Raises:
            NoPath: the endpoints are not connected, or not known. BeyondHorizon: reservations end earlier.
        """
        self.ledger.terms.policy.check_horizon(reservation, now)
        request_limits.require_few_windows([("", reservation)], self.settings.max_windows)
        choices = ways(reservation, self.network, self.settings.paths)
        answer, _ = self.ledger.ask(lambda tables: ask_tables(reservation, choices, self.network, tables), now)
        return answer

    def addable(self, which: str, caller: Caller, now: datetime) -> EnquiryAnswer:
        """What could be added to a reservation of the caller's own, from now to its end.

        Raises:
            UnknownHandle: see `status`. NotPossible: see `ask_to_add`.
        """
        entry = self.status(which, caller)
        answer, _ = self.ledger.ask(lambda tables: ask_to_add(entry, self.network, tables, now), now)
        return answer

    # -- events, and what is offered -----------------------------------------------------------------------------

    def events(
        self, wanted: EventFilter, caller: Caller, after: int | None, limit: int, *, newest: bool = False
    ) -> tuple[Event, ...]:
        """The events that the caller may see, in order: those after the number `after`, or the last ones where it is None;
        the latest first, and before it, with `newest`.

        Raises:
            NotAllowed, NoSuchDevice: see `events_filter`.
        """
        visible = self.events_filter(wanted, caller)
        if newest:
            listed = self.ledger.newest_events(visible, after or 0, limit)
        else:
            listed = self.ledger.events_of(visible, after, limit)
        return tuple(shown_to(event, caller) for event in listed)

    def events_filter(self, wanted: EventFilter, caller: Caller) -> EventFilter:
        """The filter, narrowed to the events that the caller may see: a requester sees those of its own reservations.

        Raises:
            NotAllowed: a requester asks for the events of a device. NoSuchDevice.
        """
        if wanted.device is not None:
            roles.require_overview(caller, "see the events of a device", "device_events")
            named_devices(self.network, [wanted.device])
        if roles.may_overview(caller):
            return wanted
        asks_others = wanted.owner is not None and not roles.may_see(caller, wanted.owner)
        return replace(wanted, owner=NOBODY if asks_others else roles.only_owner(caller))

    def endpoints(self, caller: Caller) -> documents.Endpoints:
        """The ends that a reservation may have; a requester sees those that it may use."""
        return endpoints_document(self.network, self.ledger.terms.policy.endpoints, roles.only_owner(caller))

    def limits(self, owner: str | None, caller: Caller, now: datetime) -> documents.Limits:
        """The operator's limits, and what the owner (the caller's own where none is named) has of its quotas.

        Raises:
            NotAllowed: a requester asks for another owner's.
        """
        whose = owner if owner is not None else caller.owner or caller.name
        roles.require_own(caller, whose, "the limits", "limits")
        return limits_document(self.settings, self.ledger.terms.policy, whose, self.ledger.usage(whose, now))

    def configurations(
        self, at: datetime, caller: Caller, devices: Collection[str] | None = None
    ) -> dict[str, Configuration]:
        """What the devices are to have at `at`: the bytes that a push would compare with.

        Raises:
            NoSuchDevice, Unrenderable.
        """
        roles.require_overview(caller, "see the devices' configurations", "configurations")
        entries = self.ledger.live_between(at, at + MICROSECOND)
        return configurations_at(entries, self.network, at, devices)

    def configuration_documents(
        self, at: datetime, devices: Collection[str] | None, caller: Caller
    ) -> Sequence[Mapping[str, Any]]:
        """As `configurations`, for people and programs to read."""
        return configurations_document(self.configurations(at, caller, devices), at)


def visible_to(wanted: AnyFilter, caller: Caller) -> AnyFilter | None:
    """The filter, narrowed to what the caller may see: a requester sees its own; None where that is nothing."""
    if roles.may_see(caller, wanted.owner or ""):
        return wanted
    return replace(wanted, owner=roles.only_owner(caller)) if wanted.owner is None else None
