"""GARA's verbs over the rooms: enquire, create, hold, commit, modify, bind, cancel, status, approve; plan and apply.

Each verb takes the caller and `now`, checks the right, composes the rooms, and leaves deciding to admission and keeping
to the ledger. It holds no state of its own, so any number of brokers may share one ledger.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from controller.admission import capacities
from controller.admission.model import Refused
from controller.auth import access
from controller.auth.tokens import Caller
from controller.ledger import Filter, Ledger
from controller.ledger.errors import UnknownHandle
from controller.ledger.model import AdmissionRequest, Cancellation, Entry, State, Terms
from controller.ledger.queries import EventFilter
from controller.network.model import Network
from controller.planning.enquiry import EnquiryAnswer, ask_tables
from controller.planning.errors import NotPossible, RefusedByAdmission, StalePlan, require_no_refusal
from controller.planning.matching import match
from controller.planning.modification import Modification, modified, with_ports
from controller.planning.plan import Applied, Plan, make_plan, network_digest
from controller.planning.platform_limits import PlatformLimits
from controller.planning.request_limits import require_few_windows
from controller.planning.routing import RoutedReservation, route
from controller.planning.source import Source
from controller.planning.step import Action, PlanStep
from controller.platforms.model import Configuration
from controller.problems import InvalidInput, Problem, is_line
from controller.recovery.comparison import Comparison, compare
from controller.reservation import require_valid
from controller.reservation.model import Reservation, is_storable
from controller.settings import Settings
from controller.timebase import MICROSECOND, Window, iso
from controller.timeline.shares import BackgroundShares
from controller.views.configurations import configurations_at
from controller.views.devices import named_devices
from controller.views.phases import KINDS
from controller.views.timeline import TimelineItem, TimelineQuery, timeline
from controller.wiring import policy_of, pusher_for

#: A boundary is prepared at most so long before it, and its failures are recorded no longer than so after it.
EVENTS_WITHIN = timedelta(hours=1)
LONGEST_REASON = 500
#: Of what the audit log says about boundaries; with more, the earliest are left out.
MOST_EVENTS = 20_000


@dataclass(frozen=True, slots=True)
class Options:
    """How a create is meant: `hold` keeps it for that long instead of committing it."""

    hold: timedelta | None = None
    idempotency_key: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Broker:
    """The verbs. Errors are `SlotcarError`s; `RefusedByAdmission` carries the numbers."""

    ledger: Ledger
    network: Network
    settings: Settings
    _platform_limits: PlatformLimits = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_platform_limits", PlatformLimits(self.network))
        policy = policy_of(self.settings, self.network)
        self.ledger.set_terms(Terms(capacities(self.network), self.network.sls, policy))

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
        access.require_see(caller, entry)
        return entry

    def list(self, wanted: Filter, caller: Caller) -> tuple[Entry, ...]:
        """Entries by number; a requester sees its own."""
        if not access.may_see(caller, wanted.owner or ""):
            if wanted.owner is not None:
                return ()
            wanted = replace(wanted, owner=caller.owner)
        return self.ledger.list(wanted)

    def timeline(self, query: TimelineQuery, caller: Caller, now: datetime) -> tuple[TimelineItem, ...]:
        """Boundaries that were and that come.

        Raises:
            NoSuchDevice: the inventory has no managed device of a name in the query.
        """
        access.require_overview(caller, "see the timeline")
        if query.devices is not None:
            named_devices(self.network, query.devices)
        wanted = EventFilter(KINDS, since=query.since - EVENTS_WITHIN, until=query.until + EVENTS_WITHIN)
        events = self.ledger.events_of(wanted, after=None, limit=MOST_EVENTS)
        entries = BackgroundShares(self.network)(
            self.ledger.between(query.since, query.until), Window(query.since, query.until + MICROSECOND)
        )
        return timeline(entries, events, query, now)

    def configurations(
        self, at: datetime, caller: Caller, devices: Collection[str] | None = None
    ) -> dict[str, Configuration]:
        """What the devices are to have at `at`: the bytes that a push would compare with.

        Raises:
            NoSuchDevice, Unrenderable.
        """
        access.require_overview(caller, "see the devices' configurations")
        entries = self.ledger.live_between(at, at + MICROSECOND)
        return configurations_at(entries, self.network, at, devices)

    def compare(self, devices: Collection[str] | None, caller: Caller, now: datetime) -> Comparison:
        """What these devices have (all where `devices` is None) against what they are to have; reads them, which takes
        seconds, and changes nothing.

        Raises:
            NoSuchDevice, NotPossible: see `controller.recovery.comparison.compare`.
        """
        access.require_overview(caller, "read a device")
        return compare(self.ledger, self.network, pusher_for(self.network, self.settings, None), now, devices)

    # -- requests ----------------------------------------------------------------------------------------------------

    def create(self, reservation: Reservation, caller: Caller, now: datetime, options: Options = Options()) -> Entry:
        """Admits and commits, or holds, or leaves it to approval.

        Raises:
            RefusedByAdmission: no room; nothing is held. CannotExpress: a platform on the path has no words for it.
            InvalidInput: see `require_valid`. NameTaken, IdempotencyConflict, NoPath. RefusedByPolicy: the operator's
            rules forbid it.
        """
        access.owner_for(caller, reservation.owner)
        hold_until = now + options.hold if options.hold else None
        return self._admit(
            reservation,
            caller,
            now,
            hold_until=hold_until,
            idempotency_key=options.idempotency_key,
            fingerprint=options.fingerprint,
        )

    def modify(
        self,
        which: str,
        change: Modification,
        caller: Caller,
        now: datetime,
        expected_version: int | None = None,
    ) -> Entry:
        """Another rate or window, atomically: if the new one is refused, the old one stays as it was.

        A raise of a committed reservation above the operator's gate is `proposed` until an operator approves it, and
        the old one stays in force; it takes the place of an earlier change that waits, and so does any other change.

        Raises:
            RefusedByAdmission: no room. CannotExpress, RefusedByPolicy: see `create`. StaleVersion: it is not at
            `expected_version`. NotPossible: see `modified`.
        """
        entry = self._changeable(which, caller)
        reservation = modified(entry.reservation, change, now)
        return self._admit(
            reservation,
            caller,
            now,
            hold_until=entry.hold_until,
            replaces=entry.handle,
            expected_version=expected_version if expected_version is not None else entry.version,
        )

    def bind(
        self,
        which: str,
        caller: Caller,
        now: datetime,
        source_port: int | None = None,
        destination_port: int | None = None,
        expected_version: int | None = None,
    ) -> Entry:
        """Ports that were not known before (GARA §3.1). What a flow costs the network does not change by it.

        Raises:
            NotPossible: no port was given. CannotExpress: flows that shared a policer would need one each, too many.
            RefusedByPolicy: see `create`.
        """
        if source_port is None and destination_port is None:
            raise NotPossible("bind needs a source port, a destination port, or both")
        entry = self._changeable(which, caller)
        change = entry.proposed
        reservation = with_ports(entry.reservation, source_port, destination_port)
        return self.ledger.rebind(
            entry.handle,
            require_valid(reservation),
            now,
            actor=caller.name,
            expected_version=expected_version if expected_version is not None else entry.version,
            condition=self._platform_limits.condition(RoutedReservation(reservation, entry.paths, entry.demands)),
            proposed=with_ports(change.reservation, source_port, destination_port) if change else None,
            names_others=access.may_see_all(caller),
        )

    def _admit(self, reservation: Reservation, caller: Caller, now: datetime, **how: Any) -> Entry:
        require_few_windows([("", reservation)], self.settings.max_windows)
        routed = route(require_valid(reservation), self.network)
        answer = self.ledger.admit(self._request(routed, caller, **how), now)
        if isinstance(answer, Refused):
            raise RefusedByAdmission(reservation, answer)
        return answer

    def _request(self, routed: RoutedReservation, caller: Caller, **how: Any) -> AdmissionRequest:
        return AdmissionRequest(
            reservation=routed.reservation,
            paths=routed.paths,
            demands=routed.demands,
            actor=caller.name,
            condition=self._platform_limits.condition(routed),
            names_others=access.may_see_all(caller),
            **how,
        )

    def enquire(self, asked: Reservation, caller: Caller, now: datetime) -> EnquiryAnswer:
        """The highest rate each way over the windows (GARA's enquire).

        Raises:
            NoPath: the endpoints are not connected, or not known. BeyondHorizon: reservations end earlier.
        """
        self.ledger.terms.policy.check_horizon(asked, now)
        require_few_windows([("", asked)], self.settings.max_windows)
        answer, _ = self.ledger.ask(lambda tables: ask_tables(asked, self.network, tables), now)
        return answer

    # -- files -----------------------------------------------------------------------------------------------------

    def plan(self, source: Source, caller: Caller, now: datetime, show_from: datetime | None = None) -> Plan:
        """What applying the files would do, against the ledger as it is; writes nothing. `show_from`: see `make_plan`.

        A requester gets the outcome of each of its reservations, and no device's difference.

        Raises:
            CannotExpress, RefusedByPolicy: see `create`. InvalidInput: the files have more windows than
            `Settings.max_windows`.
        """
        placed = ((f"reservations[{index}]", one) for index, one in enumerate(source.reservations))
        require_few_windows(placed, self.settings.max_windows)
        for reservation in source.reservations:
            access.owner_for(caller, reservation.owner)
        tables, sequence = self.ledger.ask(lambda tables: tables.copy(), now)
        current = self.ledger.live_between(now)
        made = make_plan(
            match(source.reservations, current, source.scope, now, source.relative),
            current,
            tables,
            self.network,
            now=now,
            sequence=sequence,
            set_name=source.scope.set_name,
            policy=self.ledger.terms.policy,
            names_others=access.may_see_all(caller),
            paths=source.paths,
            show_from=show_from,
        )
        return made if access.may_overview(caller) else made.without_devices()

    def apply(self, plan: Plan, caller: Caller, now: datetime) -> Applied:
        """Exactly the plan, whole or not at all.

        Raises:
            InvalidInput: it has more windows than `Settings.max_windows`.
            PlanRefused: it holds a refusal. StalePlan, StaleLedger: something changed since it was made.
            PlanNotAdmitted: it does not fit any more. CannotExpress: a platform has no words for what it would leave.
            RefusedByPolicy: see `create`.
        """
        steps = ((f"steps[{i}].reservation", one.reservation) for i, one in enumerate(plan.steps) if one.reservation)
        require_few_windows(steps, self.settings.max_windows)
        require_no_refusal("/".join(step.key) for step in plan.refused)
        if plan.network_digest != network_digest(self.network):
            raise StalePlan("the inventory has changed since the plan was made: make the plan again")
        if plan.sequence is None:
            raise StalePlan("the plan was made without a ledger (--offline): make it again with one")
        doing = [step for step in plan.steps if step.action is not Action.NO_OP]
        if not doing:
            return Applied((), 0, 0, 0)
        changes = [self._change_of(step, caller, now) for step in doing]
        entries = self.ledger.apply(changes, now, actor=caller.name, sequence=plan.sequence)
        actions = [step.action for step in doing]
        return Applied(entries, *(actions.count(one) for one in (Action.CREATE, Action.CHANGE, Action.CANCEL)))

    def _change_of(self, step: PlanStep, caller: Caller, now: datetime) -> AdmissionRequest | Cancellation:
        """What the ledger is asked for a step of a plan, which may have been written by anybody."""
        access.owner_for(caller, step.key[0])
        if step.handle is not None and self._changeable(step.handle, caller).reservation.key != step.key:
            raise StalePlan(f"{step.handle} is not {'/'.join(step.key)}: make the plan again")
        if step.reservation is None or step.action is Action.CANCEL:
            assert step.handle is not None
            return Cancellation(step.handle, step.expected_version)
        if step.reservation.end <= now:
            raise StalePlan(f"{'/'.join(step.key)} ended at {iso(step.reservation.end)}: make the plan again")
        routed = step.routed or route(step.reservation, self.network)
        require_valid(step.reservation, "plan")
        return self._request(routed, caller, replaces=step.handle, expected_version=step.expected_version)

    # -- states ----------------------------------------------------------------------------------------------------

    def commit(self, which: str, caller: Caller, now: datetime, expected_version: int | None = None) -> Entry:
        """Makes a hold firm; above the operator's gate it waits for approval instead.

        Raises:
            ForbiddenTransition: it is not held.
        """
        entry = self._changeable(which, caller)
        return self.ledger.commit(entry.handle, now, actor=caller.name, expected_version=expected_version)

    def cancel(
        self, which: str, caller: Caller, now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        """Gives it back, at once; routers follow at the reconcile loop's next turn.

        Raises:
            InvalidInput: the reason is not one line.
        """
        entry = self._changeable(which, caller)
        if not is_line(reason, LONGEST_REASON):
            hint = f"say one line of at most {LONGEST_REASON} characters"
            raise InvalidInput([Problem("request", 0, "reason", "is no reason", reason[:60], hint)])
        return self.ledger.transition(
            entry.handle, State.CANCELLED, now, actor=caller.name, expected_version=expected_version, reason=reason
        )

    def approve(self, which: str, expected_version: int, caller: Caller, now: datetime) -> Entry:
        """Lets what waits of it into force as it was at `expected_version`: the reservation, or the change of it.

        Raises:
            NotAllowed: no operator. StaleVersion: it has changed since. ForbiddenTransition: nothing of it waits.
            CannotExpress, RefusedByPolicy: see `create`.
        """
        access.require_operator(caller, "approve a reservation")
        entry = self.status(which, caller)
        change = entry.proposed
        routed = RoutedReservation(change.reservation, change.paths, change.demands) if change else None
        return self.ledger.approve(
            entry.handle,
            now,
            actor=caller.name,
            expected_version=expected_version,
            condition=self._platform_limits.condition(routed) if routed else None,
        )

    def reject(
        self, which: str, caller: Caller, now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        """Turns away what waits of it: the reservation; of a committed one the change, and it stays as it is.

        Raises:
            NotAllowed: no operator. ForbiddenTransition: nothing of it waits.
        """
        access.require_operator(caller, "reject a reservation")
        handle = self.status(which, caller).handle
        return self.ledger.reject(handle, now, actor=caller.name, expected_version=expected_version, reason=reason)

    def extend(
        self, which: str, by: timedelta, caller: Caller, now: datetime, expected_version: int | None = None
    ) -> Entry:
        """Keeps a hold until `by` from now.

        Raises:
            NotPossible: it is not held. HoldTooLong: the operator lets no hold last so long.
        """
        entry = self._changeable(which, caller)
        if entry.state is not State.HELD:
            raise NotPossible(f"reservation {entry.handle} is {entry.state.value}: only a hold can be extended")
        return self.ledger.extend_hold(
            entry.handle, now + by, now, actor=caller.name, expected_version=expected_version
        )

    def _changeable(self, which: str, caller: Caller) -> Entry:
        entry = self.status(which, caller)
        access.require_change(caller, entry)
        return entry
