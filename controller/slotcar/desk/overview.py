"""What a page of a person's shows and one entry does not say: resources over time, boundaries, last states, use.

Each verb takes the caller and `now`, and asks the ledger a fixed number of questions, however much it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.crowds import Crowd
from slotcar.book.model import Entry, State
from slotcar.book.rules import roles
from slotcar.book.rules.request_limits import require_few_months
from slotcar.book.rules.roles import NOBODY, Caller
from slotcar.book.shares import BackgroundShares
from slotcar.desk.desk import Desk
from slotcar.desk.entries import LAST_EVENTS, Entries
from slotcar.desk.logs import EVENTS_WITHIN, MOST_EVENTS
from slotcar.measuring.counters.usage import UNUSED_PERCENT, CountedUse
from slotcar.rollout.archive import Archive
from slotcar.rollout.status import LoopStatus
from slotcar.store.queries import EventFilter
from slotcar.store.summaries import BoundaryCounts
from slotcar.views.boundary import DiffGroup, devices_changing, differences_at, entering, groups_of
from slotcar.views.capacity import Course, courses, named_resource, resource_names, tightest_course
from slotcar.views.configurations import Differences
from slotcar.views.device_states import TELLING, KnownState, known_states
from slotcar.views.devices import named_devices
from slotcar.views.numbers import Explanation, explain
from slotcar.views.phases import KINDS
from slotcar.views.revisions import revisions_page
from slotcar.views.timeline import TimelineItem, TimelineQuery, timeline
from slotcar.views.topology import network_document
from slotcar.views.usage import UsageTable, months_of, usage_table
from slotcar_client.wire import documents

#: How far ahead one looks for boundaries who does not say.
LOOK_AHEAD = timedelta(days=31)


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Which resources to show: those that are named, or a page of all, by name.

    Attributes:
        after: the last name of the page before.
    """

    names: Sequence[str] = ()
    device: str | None = None
    domain: str | None = None
    after: str = ""
    limit: int = 50


@dataclass(frozen=True, slots=True)
class BoundaryView:
    """One boundary.

    Attributes:
        item: what starts, ends and changes there, and each device's phase; None where nothing does.
        groups: what changes on the devices; None for who may not see configurations.
    """

    at: datetime
    item: TimelineItem | None
    groups: tuple[DiffGroup, ...] | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a decision would bring into force.

    Attributes:
        wanted: the entry as it would be. courses: its resources over its time, with its own place in them, which is kept.
        explanation: its numbers, and what it changes on each device in its first slot.
    """

    entry: Entry
    wanted: Entry
    courses: tuple[Course, ...]
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Overview:
    """The verbs. Errors are `SlotcarError`s."""

    desk: Desk

    def resources(
        self, page: ResourcePage, window: Window, caller: Caller, now: datetime
    ) -> tuple[tuple[Course, ...], str | None]:
        """Resources over what the tables keep of the window, and the `after` of the next page; None on the last.

        Raises:
            NotAllowed: a requester, who is told by an enquiry what fits. NoSuchResource, NoSuchDevice.
        """
        roles.require_overview(caller, "see what is reserved of all resources", "resources")
        ledger, network = self.desk.ledger, self.desk.network
        if page.device is not None:
            named_devices(network, [page.device])
        capacities = ledger.terms.capacities
        if page.names:
            chosen = [named_resource(name, capacities) for name in page.names]
            following = None
        else:
            listed = [one for one in resource_names(capacities, network, page.device, page.domain) if one > page.after]
            chosen = [named_resource(name, capacities) for name in listed[: page.limit]]
            following = listed[page.limit - 1] if len(listed) > page.limit else None
        page_courses, _ = ledger.ask(lambda tables: courses(tables, chosen, window, network.sls), now)
        return page_courses, following

    def tightest(
        self, device: str | None, domain: str | None, window: Window, caller: Caller, now: datetime
    ) -> tuple[Course | None, int]:
        """Of all resources, or those of a device or a domain, the one of which the greatest part is taken at some moment;
        None where all is free or past. And how many resources those are.

        Raises:
            NotAllowed, NoSuchDevice.
        """
        roles.require_overview(caller, "see what is reserved of all resources", "resources")
        ledger, network = self.desk.ledger, self.desk.network
        if device is not None:
            named_devices(network, [device])
        capacities = ledger.terms.capacities
        names = [named_resource(name, capacities) for name in resource_names(capacities, network, device, domain)]
        course, _ = ledger.ask(lambda tables: tightest_course(tables, names, window, network.sls), now)
        return course, len(names)

    def network(self, caller: Caller) -> documents.Topology:
        """
        Raises:
            NotAllowed: a requester; its endpoints are what `verbs.Endpoints` answers.
        """
        roles.require_overview(caller, "see the network's devices", "network")
        return network_document(self.desk.network)

    def soonest(self, caller: Caller, now: datetime, most: int) -> tuple[Entry, ...]:
        """The caller's own committed reservations, what runs first and then what starts next."""
        return self.desk.ledger.summaries.soonest(caller.owner or NOBODY, now, most)

    def crossing(self, resource: str, window: Window, most: int, caller: Caller) -> tuple[Entry, ...]:
        """The first `most` live reservations that take a part of a resource in the window, by start.

        Raises:
            NotAllowed.
        """
        roles.require_overview(caller, "see whose reservations cross a resource", "resources")
        return self.desk.ledger.summaries.crossing(resource, window, most)

    def boundaries(self, after: datetime, until: datetime, most: int, caller: Caller) -> tuple[BoundaryCounts, ...]:
        """The first `most` boundaries of slots in `(after, until]`; a requester's own."""
        return self.desk.ledger.summaries.boundaries(after, until, most, roles.only_owner(caller))

    def boundary(self, at: datetime, caller: Caller, now: datetime) -> BoundaryView:
        """What happens at an instant, and what it changes on which device.

        A requester sees its own reservations, the devices of their paths, and no configuration.

        Raises:
            Unrenderable: a platform cannot express it.
        """
        ledger, network = self.desk.ledger, self.desk.network
        whole = roles.may_overview(caller)
        wanted = EventFilter(KINDS, since=at - EVENTS_WITHIN, until=at + EVENTS_WITHIN)
        events = ledger.events_of(wanted, after=None, limit=MOST_EVENTS)
        owner = roles.only_owner(caller)
        entries, crowds = self._around(at, owner)
        own = [one for one in entries if owner in (None, one.reservation.owner)]
        beside = sum(len(crowd.numbers) for crowd in crowds)
        visible = Entries(self.desk).with_slots(own, caller, now)
        items = timeline(visible, events, TimelineQuery(at, at, own_only=not whole), now, beside)
        if not whole:
            return BoundaryView(at, items[0] if items else None, None)
        numbers, others = entering(crowds, network, devices_changing(entries, network, at))
        entries = [*entries, *(ledger.instants.numbered(numbers) if numbers else ())]
        groups = groups_of(differences_at(entries, Differences(network), at, others))
        return BoundaryView(at, items[0] if items else None, groups)

    def _around(self, at: datetime, owner: str | None) -> tuple[Sequence[Entry], Sequence[Crowd]]:
        """What is in force around a boundary. Where there is a background reservation everything is read whole: its rate is
        what all others leave, and begins with their notice."""
        around = self.desk.ledger.instants.around(at, owner)
        if not any(one.reservation.share for one in around.entries):
            return around.entries, around.crowds
        everybody = self.desk.ledger.between(at, at)
        return BackgroundShares(self.desk.network)(everybody, Window(at - MICROSECOND, at + MICROSECOND)), ()

    def effect(self, which: str, caller: Caller, now: datetime) -> Effect:
        """What coming into force does: of a reservation that waits, or of the change of it that does.

        Raises:
            NotAllowed. UnknownHandle. Unrenderable: a platform cannot express it.
        """
        roles.require_overview(caller, "see what a reservation changes on devices", "configurations")
        ledger, network = self.desk.ledger, self.desk.network
        entry = Entries(self.desk).status(which, caller)
        wanted, change = entry, entry.proposed
        if change is not None:
            wanted = replace(entry, reservation=change.reservation, paths=change.paths, demands=change.demands)
        slots = wanted.reservation.slots
        window = Window(max(slots[0].start, now), slots[-1].end) if slots[-1].end > now else Window(*slots[-1])
        names = [demand.resource for demand in wanted.demands if demand.resource in ledger.terms.capacities]
        crossed, _ = ledger.ask(lambda tables: courses(tables, names, window, network.sls), now)
        others = BackgroundShares(network)(
            ledger.between(window.start, window.start), Window(window.start, window.end)
        )
        own = replace(wanted, state=State.COMMITTED)
        beside = [one for one in others if one.number != entry.number or change is not None]
        return Effect(entry, wanted, crossed, explain(own, beside, network, now))

    def device_states(self, caller: Caller, loop: LoopStatus | None, now: datetime) -> tuple[KnownState, ...]:
        """The last known state of every device; none is read.

        Raises:
            NotAllowed.
        """
        roles.require_overview(caller, "see devices", "device_states")
        network = self.desk.network
        latest = self.desk.ledger.summaries.latest_of_devices(TELLING, sorted(network.devices), LAST_EVENTS)
        return known_states(network, latest, loop, now)

    def revisions(self, before: str | None, limit: int, caller: Caller) -> tuple[list[documents.Revision], str | None]:
        """What was pushed, the latest first, and the `before` of the next page.

        Raises:
            NotAllowed. InvalidInput: a file of the archive is broken.
        """
        roles.require_overview(caller, "see what was pushed", "revisions")
        return revisions_page(Archive(self.desk.settings.state_dir), before, limit)

    # -- what was counted --------------------------------------------------------------------------------------------

    @property
    def _counted(self) -> CountedUse:
        return CountedUse(self.desk.ledger, self.desk.network)

    def reservation_usage(
        self, which: str, window: Window, caller: Caller, now: datetime
    ) -> documents.ReservationUsage:
        """What a reservation carried in each direction.

        Raises:
            UnknownHandle.
        """
        return self._counted.of_reservation(Entries(self.desk).status(which, caller), window, now)

    def link_usage(self, device: str, interface: str, window: Window, caller: Caller) -> documents.LinkUsage:
        """What an interface's way out carried.

        Raises:
            NotAllowed. NoSuchDevice. InvalidInput: the device has no such interface.
        """
        roles.require_overview(caller, "see what links carry", "link_usage")
        network = self.desk.network
        named_devices(network, [device])
        known = network.devices[device].interfaces
        if interface not in known:
            raise InvalidInput(
                [
                    Problem(
                        "query",
                        0,
                        "interface",
                        f"is none of {device}",
                        interface,
                        f"it has {', '.join(sorted(known))}",
                    )
                ]
            )
        return self._counted.of_link(device, interface, window)

    def counted_usage(
        self, by: documents.CountedBy, window: Window, caller: Caller, owner: str | None = None
    ) -> documents.CountedUsages:
        """What devices counted of reserved flows in each month (UTC) of the window.

        Raises:
            InvalidInput: the window has more months than one may ask for. NotAllowed: a requester asks for another's.
        """
        require_few_months(len(months_of(window)), window)
        return self._counted.sums(by, window, self._whose(owner, caller))

    def unused(
        self, caller: Caller, now: datetime, owner: str | None = None, below_percent: int = UNUSED_PERCENT
    ) -> documents.UnusedReservations:
        """Reservations whose slot is open and of which hardly anything is used.

        Raises:
            NotAllowed: a requester asks for another's.
        """
        return self._counted.unused(self._whose(owner, caller), below_percent, now)

    def _whose(self, owner: str | None, caller: Caller) -> str | None:
        if owner is not None:
            roles.require_own(caller, owner, "the use")
        return owner if roles.may_overview(caller) else roles.only_owner(caller)

    def usage(self, by: documents.SummedBy, window: Window, caller: Caller, owner: str | None = None) -> UsageTable:
        """What was and is reserved in each month (UTC) of the window, by `owner`, `sls` or `domain`.

        Raises:
            InvalidInput: the window has more months than one may ask for. NotAllowed: a requester asks for another's.
        """
        if owner is not None:
            roles.require_own(caller, owner, "the use", "usage")
        if not roles.may_overview(caller):
            owner = roles.only_owner(caller)
        months = months_of(window)
        require_few_months(len(months), window)
        domains: Mapping[str, str] = {name: one.domain for name, one in self.desk.network.devices.items()}
        return usage_table(by, months, self.desk.ledger.summaries.usage(by, months, domains, owner))
