"""GARA's verbs over the rooms: enquire, create, hold, commit, modify, bind, cancel, status, approve; plan and apply.

Each verb takes the caller and `now`, checks the right, composes the rooms, and leaves deciding to admission and keeping
to the ledger. It holds no state of its own, so any number of brokers may share one ledger.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from controller.admission import capacities
from controller.admission.model import Refused
from controller.ledger import Filter, Ledger
from controller.ledger.errors import UnknownHandle
from controller.ledger.model import AdmissionRequest, Entry, PlanStep, State, Terms
from controller.ledger.queries import EventFilter
from controller.network.model import Network
from controller.render.model import Configuration
from controller.reservation.model import Endpoint, Reservation, is_storable
from controller.settings import Settings
from controller.timebase import MICROSECOND, iso
from controller.verbs import access
from controller.verbs.asking import Ask, ask_for
from controller.verbs.changes import Modification, modified
from controller.verbs.configurations import configurations_at
from controller.verbs.enquiring import EnquiryAnswer, ask_tables
from controller.verbs.errors import NotPossible, PlanRefused, RefusedByAdmission, StalePlan
from controller.verbs.expressing import Expressions
from controller.verbs.matching import Act, match
from controller.verbs.named import named_devices
from controller.verbs.phases import KINDS
from controller.verbs.plan import Plan, make_plan, network_digest
from controller.verbs.plan_file import PlanToDo, StepToDo
from controller.verbs.source import Source
from controller.verbs.tokens import Caller
from controller.verbs.viewing import TimelineItem, TimelineQuery, timeline

#: A boundary is prepared at most so long before it, and its failures are told again no longer after it.
TOLD_WITHIN = timedelta(hours=1)
#: Of what the audit log says about boundaries; with more, the earliest are left out.
MOST_EVENTS = 20_000


@dataclass(frozen=True, slots=True)
class Options:
    """How a create is meant: `hold` keeps it for that long instead of committing it."""

    hold: timedelta | None = None
    idempotency_key: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """What an apply did."""

    entries: tuple[Entry, ...]
    created: int
    changed: int
    cancelled: int


@dataclass(frozen=True, slots=True)
class Broker:
    """The verbs. Errors are `SlotcarError`s; `RefusedByAdmission` carries the numbers."""

    ledger: Ledger
    network: Network
    settings: Settings
    _expressions: Expressions = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_expressions", Expressions(self.network))
        self.ledger.set_terms(Terms(capacities(self.network), self.network.sls, self.settings.horizon))

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
        told = EventFilter(KINDS, since=query.since - TOLD_WITHIN, until=query.until + TOLD_WITHIN)
        events = self.ledger.events_of(told, after=None, limit=MOST_EVENTS)
        return timeline(self.ledger.between(query.since, query.until), events, query, now)

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

    # -- asking ----------------------------------------------------------------------------------------------------

    def needs_approval(self, reservation: Reservation) -> bool:
        """Whether the operator's gate is above this rate or length (issue section 4)."""
        rate, duration = self.settings.approval_rate_bps, self.settings.approval_duration
        too_fast = rate is not None and reservation.rate_bps > rate
        too_long = duration is not None and any(window.duration > duration for window in reservation.windows)
        return too_fast or too_long

    def create(self, reservation: Reservation, caller: Caller, now: datetime, options: Options = Options()) -> Entry:
        """Admits and commits, or holds, or leaves it to approval.

        Raises:
            RefusedByAdmission: no room; nothing is held. CannotExpress: a platform on the path has no words for it.
            NameTaken, IdempotencyConflict, NoPath.
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

        Raises:
            RefusedByAdmission: no room. CannotExpress: see `create`. StaleVersion: it is not at `expected_version`.
            NotPossible: see `modified`.
        """
        entry = self._changeable(which, caller)
        reservation = modified(entry.reservation, change, now)
        if self.needs_approval(reservation) and not self.needs_approval(entry.reservation):
            access.require_operator(caller, "raise a reservation above the approval gate")
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
        """
        if source_port is None and destination_port is None:
            raise NotPossible("bind needs a source port, a destination port, or both")
        entry = self._changeable(which, caller)
        old = entry.reservation
        reservation = Reservation.model_validate(
            {
                **old.model_dump(),
                "source": Endpoint(host=old.source.host, port=source_port or old.source.port),
                "destination": Endpoint(host=old.destination.host, port=destination_port or old.destination.port),
            }
        )
        return self.ledger.rebind(
            entry.handle,
            reservation,
            now,
            actor=caller.name,
            expected_version=expected_version if expected_version is not None else entry.version,
            condition=self._expressions.condition(Ask(reservation, entry.paths, entry.demands)),
        )

    def _admit(self, reservation: Reservation, caller: Caller, now: datetime, **how: object) -> Entry:
        ask = ask_for(reservation, self.network)
        answer = self.ledger.admit(
            AdmissionRequest(
                reservation=reservation,
                paths=ask.paths,
                demands=ask.demands,
                needs_approval=self.needs_approval(reservation),
                actor=caller.name,
                condition=self._expressions.condition(ask),
                **how,  # type: ignore[arg-type]
            ),
            now,
        )
        if isinstance(answer, Refused):
            raise RefusedByAdmission(reservation, answer)
        return answer

    def enquire(self, asked: Reservation, caller: Caller, now: datetime) -> EnquiryAnswer:
        """The highest rate each way over the windows (GARA's enquire).

        Raises:
            NoPath: the endpoints are not connected, or not known.
        """
        answer, _ = self.ledger.ask(lambda tables: ask_tables(asked, self.network, tables), now)
        return answer

    # -- files -----------------------------------------------------------------------------------------------------

    def plan(self, source: Source, caller: Caller, now: datetime) -> Plan:
        """What applying the files would do, against the ledger as it is; writes nothing."""
        for reservation in source.reservations:
            access.owner_for(caller, reservation.owner)
        tables, sequence = self.ledger.ask(lambda tables: tables.copy(), now)
        current = self.ledger.live_between(now)
        return make_plan(
            match(source.reservations, current, source.scope, now, source.relative),
            current,
            tables,
            self.network,
            now=now,
            sequence=sequence,
            set_name=source.scope.set_name,
            horizon=now + self.settings.horizon,
        )

    def apply(self, work: PlanToDo, caller: Caller, now: datetime) -> Applied:
        """Exactly the plan, whole or not at all.

        Raises:
            PlanRefused: it holds a refusal. StalePlan, StaleLedger: something changed since it was made.
            PlanNotAdmitted: it does not fit any more. CannotExpress: a platform has no words for what it would leave.
        """
        if work.refused:
            raise PlanRefused(f"the plan holds refusals, so none of it is applied: {', '.join(work.refused)}")
        if work.network_digest != network_digest(self.network):
            raise StalePlan("the inventory has changed since the plan was made: make the plan again")
        if work.sequence is None:
            raise StalePlan("the plan was made without a ledger (--offline): make it again with one")
        doing = [step for step in work.steps if step.act is not Act.NO_OP]
        steps = [self._plan_step(step, caller, now) for step in doing]
        if not steps:
            return Applied((), 0, 0, 0)
        entries = self.ledger.apply(steps, now, actor=caller.name, sequence=work.sequence)
        acts = [step.act for step in doing]
        return Applied(entries, *(acts.count(act) for act in (Act.CREATE, Act.CHANGE, Act.CANCEL)))

    def _plan_step(self, step: StepToDo, caller: Caller, now: datetime) -> PlanStep:
        access.owner_for(caller, step.key[0])
        if step.handle is not None and self._changeable(step.handle, caller).reservation.key != step.key:
            raise StalePlan(f"{step.handle} is not {'/'.join(step.key)}: make the plan again")
        if step.act is Act.CANCEL:
            return PlanStep(step.key, cancel=step.handle, expected_version=step.expected_version)
        assert step.reservation is not None
        if step.act is Act.CREATE and step.reservation.end <= now:
            raise StalePlan(f"{'/'.join(step.key)} ended at {iso(step.reservation.end)}: make the plan again")
        ask = ask_for(step.reservation, self.network)
        request = AdmissionRequest(
            reservation=step.reservation,
            paths=ask.paths,
            demands=ask.demands,
            actor=caller.name,
            needs_approval=self.needs_approval(step.reservation),
            replaces=step.handle,
            expected_version=step.expected_version,
            condition=self._expressions.condition(ask),
        )
        return PlanStep(step.key, request=request)

    # -- states ----------------------------------------------------------------------------------------------------

    def commit(self, which: str, caller: Caller, now: datetime, expected_version: int | None = None) -> Entry:
        """Makes a hold firm; above the operator's gate it waits for approval instead.

        Raises:
            ForbiddenTransition: it is not held.
        """
        entry = self._changeable(which, caller)
        to = State.AWAITING_APPROVAL if self.needs_approval(entry.reservation) else State.COMMITTED
        return self._move(entry, to, caller, now, expected_version)

    def cancel(
        self, which: str, caller: Caller, now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        """Gives it back, at once; routers follow at the reconcile loop's next turn."""
        return self._move(self._changeable(which, caller), State.CANCELLED, caller, now, expected_version, reason)

    def approve(self, which: str, caller: Caller, now: datetime, expected_version: int | None = None) -> Entry:
        access.require_operator(caller, "approve a reservation")
        return self._move(self.status(which, caller), State.COMMITTED, caller, now, expected_version)

    def reject(
        self, which: str, caller: Caller, now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        access.require_operator(caller, "reject a reservation")
        return self._move(self.status(which, caller), State.REJECTED, caller, now, expected_version, reason)

    def extend(
        self, which: str, by: timedelta, caller: Caller, now: datetime, expected_version: int | None = None
    ) -> Entry:
        """Keeps a hold until `by` from now.

        Raises:
            NotPossible: it is not held.
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

    def _move(
        self, entry: Entry, to: State, caller: Caller, now: datetime, expected_version: int | None, reason: str = ""
    ) -> Entry:
        return self.ledger.transition(
            entry.handle,
            to,
            now,
            actor=caller.name,
            expected_version=expected_version,
            reason=reason,
        )
