"""What was and what comes: slot boundaries, and the audit log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.model import Entry, Event
from slotcar.book.rules import request_limits, roles
from slotcar.book.rules.roles import NOBODY, Caller
from slotcar.book.shares import BackgroundShares
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.store.queries import EventFilter
from slotcar.views.devices import named_devices
from slotcar.views.events import shown_to
from slotcar.views.phases import KINDS
from slotcar.views.timeline import TimelineItem, TimelineQuery, timeline

#: A boundary is prepared at most so long before it, and its failures are recorded no longer than so after it.
EVENTS_WITHIN = timedelta(hours=1)
#: Of what the audit log says about boundaries; with more, the earliest are left out.
MOST_EVENTS = 20_000
#: Of so many reservations a timeline says what is on their devices.
MOST_STATES = 10_000


@dataclass(frozen=True, slots=True)
class Logs:
    """Errors are `SlotcarError`s."""

    desk: Desk

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
            named_devices(self.desk.network, query.devices)
        if query.until < query.since:
            return ()
        wanted = EventFilter(KINDS, since=query.since - EVENTS_WITHIN, until=query.until + EVENTS_WITHIN)
        events = self.desk.ledger.events_of(wanted, after=None, limit=MOST_EVENTS)
        entries = self._entries_between(query, owner)
        own = [one for one in entries if owner in (None, one.reservation.owner) and query.concerns(one)]
        slotted = {one.handle: one for one in Entries(self.desk).with_slots(own[:MOST_STATES], caller, now)}
        visible = (slotted.get(one.handle, one) for one in entries if owner in (None, one.reservation.owner))
        return timeline(visible, events, query, now)

    def _entries_between(self, query: TimelineQuery, owner: str | None) -> tuple[Entry, ...]:
        """The entries of a timeline, with the rates of background reservations, for which alone all others are read."""
        window = Window(query.since, query.until + MICROSECOND)
        if owner is None:
            return BackgroundShares(self.desk.network)(self.desk.ledger.between(query.since, query.until), window)
        own = self.desk.ledger.between(query.since, query.until, owner, request_limits.MOST_ENTRIES + 1)
        if not any(entry.reservation.share for entry in own):
            request_limits.require_few_entries(len(own))
            return own
        everybody = self.desk.ledger.between(query.since, query.until, limit=request_limits.MOST_ENTRIES + 1)
        request_limits.require_few_entries(len(everybody))
        return BackgroundShares(self.desk.network)(everybody, window)

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
            listed = self.desk.ledger.newest_events(visible, after or 0, limit)
        else:
            listed = self.desk.ledger.events_of(visible, after, limit)
        return tuple(shown_to(event, caller) for event in listed)

    def events_filter(self, wanted: EventFilter, caller: Caller) -> EventFilter:
        """The filter, narrowed to the events that the caller may see: a requester sees those of its own reservations.

        Raises:
            NotAllowed: a requester asks for the events of a device. NoSuchDevice.
        """
        if wanted.device is not None:
            roles.require_overview(caller, "see the events of a device", "device_events")
            named_devices(self.desk.network, [wanted.device])
        if roles.may_overview(caller):
            return wanted
        asks_others = wanted.owner is not None and not roles.may_see(caller, wanted.owner)
        return replace(wanted, owner=NOBODY if asks_others else roles.only_owner(caller))
