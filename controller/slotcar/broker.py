"""GARA's verbs over the rooms: create, hold, commit, modify, bind, cancel, approve; plan and apply.

Each verb takes the caller and `now`, checks the right, composes the rooms, and leaves deciding to admission and keeping
to the ledger. It holds no state of its own, so any number of brokers may share one ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from slotcar.admission import capacities
from slotcar.admission.highs import HighsSolver
from slotcar.admission.model import Refused
from slotcar.auth import access
from slotcar.auth.tokens import Caller
from slotcar.ledger.groups import ApproveGroup, OnGroup
from slotcar.ledger.model import AdmissionRequest, Alternative, Cancellation, Condition, Entry, State, Terms
from slotcar.looking import Looking
from slotcar.path.model import Path
from slotcar.planning.errors import (
    CannotExpress,
    NotPossible,
    RefusedByAdmission,
    StalePlan,
    require_no_refusal,
)
from slotcar.planning.matching import match
from slotcar.planning.modification import Modification, modified, with_ports
from slotcar.planning.never_fits import never_fits, require_it_may_fit
from slotcar.planning.plan import Applied, Plan, make_plan, network_digest
from slotcar.planning.platform_limits import PlatformLimits
from slotcar.planning.promises import Promises
from slotcar.planning.request_limits import require_few_windows
from slotcar.planning.routing import RoutedReservation, hops_of, route, routed_ways
from slotcar.planning.source import Source, group_members
from slotcar.planning.step import Action, PlanStep
from slotcar.problems import InvalidInput, Problem, is_line
from slotcar.reservation import require_valid
from slotcar.reservation.model import Reservation
from slotcar.timebase import iso
from slotcar.wiring import policy_of

LONGEST_REASON = 500
#: Of joint moves.
SOLVER = HighsSolver()


@dataclass(frozen=True, slots=True)
class Options:
    """How a create is meant: `hold` keeps it for that long instead of committing it."""

    hold: timedelta | None = None
    idempotency_key: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Broker(Looking):
    """The verbs. Errors are `SlotcarError`s; `RefusedByAdmission` carries the numbers."""

    _platform_limits: PlatformLimits = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_platform_limits", PlatformLimits(self.network))
        policy = policy_of(self.settings, self.network)
        terms = Terms(capacities(self.network), self.network.sls, policy, SOLVER, self._condition_of)
        self.ledger.set_terms(terms)

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
        entry = self._changeable(which, caller, alone=True)
        reservation = modified(entry.reservation, change, now)
        return self._admit(
            reservation,
            caller,
            now,
            present=entry.paths,
            hold_until=entry.hold_until,
            replaces=entry.handle,
            expected_version=expected_version if expected_version is not None else entry.version,
        )

    def report(
        self,
        which: str,
        remaining_bytes: int,
        caller: Caller,
        now: datetime,
        expected_version: int | None = None,
    ) -> Entry:
        """What remains of a volume by a deadline; its rates are found again, and 0 ends it.

        Raises:
            ProgressRefused: more remains than before, or it is no such reservation, or not in force. StaleVersion.
        """
        entry = self._changeable(which, caller)
        return self.ledger.report(
            entry.handle, remaining_bytes, now, actor=caller.name, expected_version=expected_version
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
            NotPossible: no port was given, or it is no flow. CannotExpress: flows that shared a policer would need one
            each, too many.
            RefusedByPolicy: see `create`.
        """
        if source_port is None and destination_port is None:
            raise NotPossible("bind needs a source port, a destination port, or both")
        entry = self._changeable(which, caller)
        if entry.reservation.claim is not None:
            raise NotPossible(f"{entry.handle} reserves {entry.reservation.claim.kind}, which has no ports to bind")
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

    def _admit(
        self, reservation: Reservation, caller: Caller, now: datetime, present: Sequence[Path] = (), **how: Any
    ) -> Entry:
        """`present`: the paths of the reservation that this is another form of."""
        require_few_windows([("", reservation)], self.settings.max_windows)
        routed = route(require_valid(reservation), self.network)
        if self.settings.paths == 1:
            require_it_may_fit([routed], self.ledger.terms.capacities, now)
            answer = self.ledger.admit(self._request(routed, caller, **how), now)
        else:
            answer = self._admit_on_one(routed, caller, now, present, **how)
        if isinstance(answer, Refused):
            raise RefusedByAdmission(reservation, answer)
        return answer

    def _admit_on_one(
        self, routed: RoutedReservation, caller: Caller, now: datetime, present: Sequence[Path], **how: Any
    ) -> Entry | Refused:
        """On the shortest path, which most requests find free; other ways are only looked for where it is not."""
        asked, capacities = routed.reservation, self.ledger.terms.capacities
        if not present and never_fits(routed, capacities, now) is None:
            answer = self.ledger.admit(self._request(routed, caller, moves=False, **how), now)
            if isinstance(answer, Entry):
                return answer
        choices = routed_ways(asked, self.network, self.settings.paths, present)
        require_it_may_fit(choices, capacities, now)
        first, *others = [one for one in choices if never_fits(one, capacities, now) is None]
        alternatives = tuple(self._alternatives(others))
        return self.ledger.admit(self._request(first, caller, alternatives=alternatives, **how), now)

    def _alternatives(self, choices: Sequence[RoutedReservation]) -> Iterator[Alternative]:
        """Without those on which a platform cannot express the reservation."""
        for one in choices:
            with suppress(CannotExpress):
                yield Alternative(one.paths, one.demands, self._platform_limits.condition(one))

    def _condition_of(self, entry: Entry) -> Condition | None:
        """What must hold of a reservation that is moved, beside room in the tables."""
        return self._platform_limits.condition(RoutedReservation(entry.reservation, entry.paths, entry.demands))

    def _request(self, routed: RoutedReservation, caller: Caller, **how: Any) -> AdmissionRequest:
        return AdmissionRequest(
            reservation=self._granted(routed.reservation, caller),
            paths=routed.paths,
            demands=routed.demands,
            actor=caller.name,
            condition=self._platform_limits.condition(routed),
            names_others=access.may_see_all(caller),
            **how,
        )

    def _granted(self, reservation: Reservation, caller: Caller) -> Reservation:
        """With whose processes it may bind: every request passes here, whatever document it came in (ADR 48)."""
        return self.ledger.terms.policy.endpoints.granted(reservation, operator=access.is_operator(caller))

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
        for owner in source.scope.owners:
            access.require_plan(caller, owner)
        wanted = [self._granted(one, caller) for one in source.reservations]
        tables, sequence = self.ledger.ask(lambda tables: tables.copy(), now)
        current = self.ledger.live_between(now)
        made = make_plan(
            match(wanted, current, source.scope, now, source.relative),
            current,
            tables,
            self.network,
            now=now,
            sequence=sequence,
            scope=source.scope,
            policy=self.ledger.terms.policy,
            names_others=access.may_see_all(caller),
            paths=source.paths,
            show_from=show_from,
            solver=SOLVER,
            most_paths=self.settings.paths,
        )
        return made if access.may_overview(caller) else made.without_devices()

    def apply(self, plan: Plan, caller: Caller, now: datetime) -> Applied:
        """Exactly the plan, whole or not at all.

        Raises:
            InvalidInput: it has more windows than `Settings.max_windows`.
            PlanRefused: it holds a refusal. StalePlan, StaleLedger: what it rests on has changed since it was made, or
            another thing would come of it than it says (ADR 33). NotAllowed: it speaks for other owners.
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
        for owner in {*plan.owners, *(step.key[0] for step in plan.steps)}:
            access.owner_for(caller, owner)
        if not plan.steps:
            return Applied((), 0, 0, 0)
        doing = [step for step in plan.steps if step.action is not Action.NO_OP]
        changes = [self._change_of(step, caller, now) for step in doing]
        entries = self.ledger.apply(changes, now, actor=caller.name, basis=Promises(plan, now))
        actions = [step.action for step in doing]
        return Applied(entries, *(actions.count(one) for one in (Action.CREATE, Action.CHANGE, Action.CANCEL)))

    def _change_of(self, step: PlanStep, caller: Caller, now: datetime) -> AdmissionRequest | Cancellation:
        """What the ledger is asked for a step of a plan, which may have been written by anybody."""
        entry = None if step.handle is None else self._changeable(step.handle, caller)
        if entry is not None and entry.reservation.key != step.key:
            raise StalePlan(f"{step.handle} is not {'/'.join(step.key)}: make the plan again")
        if step.reservation is None or step.action is Action.CANCEL:
            assert step.handle is not None
            return Cancellation(step.handle)
        if step.reservation.end <= now:
            raise StalePlan(f"{'/'.join(step.key)} ended at {iso(step.reservation.end)}: make the plan again")
        routed = step.routed or self._as_planned(step, self._granted(step.reservation, caller))
        require_valid(step.reservation, "plan")
        return self._request(routed, caller, replaces=step.handle)

    def _as_planned(self, step: PlanStep, reservation: Reservation) -> RoutedReservation:
        """On the very path of the plan, which may have been written by anybody.

        Raises:
            StalePlan: it is none of those that a reservation may take here. EndpointNotAllowed.
        """
        shortest = route(reservation, self.network)
        self.ledger.terms.policy.endpoints.check(reservation, shortest.paths)
        if step.paths is None or hops_of(shortest.paths) == step.paths:
            return shortest
        for one in routed_ways(reservation, self.network, self.settings.paths):
            if hops_of(one.paths) == step.paths:
                return one
        path = " > ".join(hop.device for hop in step.paths[0])
        raise StalePlan(
            f"the plan takes {'/'.join(step.key)} along {path}, which is none of the paths that are tried here"
            f" (SLOTCAR_PATHS is {self.settings.paths}): make the plan again"
        )

    # -- states ----------------------------------------------------------------------------------------------------

    def commit(self, which: str, caller: Caller, now: datetime, expected_version: int | None = None) -> Entry:
        """Makes a hold firm; above the operator's gate it waits for approval instead.

        Raises:
            ForbiddenTransition: it is not held.
        """
        entry = self._changeable(which, caller, alone=True)
        return self.ledger.commit(entry.handle, now, actor=caller.name, expected_version=expected_version)

    def cancel(
        self, which: str, caller: Caller, now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        """Gives it back, at once; routers follow at the reconcile loop's next turn.

        Raises:
            InvalidInput: the reason is not one line.
        """
        entry = self._changeable(which, caller, alone=True)
        _require_reason(reason)
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
        entry = self._changeable(which, caller, alone=True)
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
        handle = self._changeable(which, caller, alone=True).handle
        return self.ledger.reject(handle, now, actor=caller.name, expected_version=expected_version, reason=reason)

    def extend(
        self, which: str, by: timedelta, caller: Caller, now: datetime, expected_version: int | None = None
    ) -> Entry:
        """Keeps a hold until `by` from now.

        Raises:
            NotPossible: it is not held. HoldTooLong: the operator lets no hold last so long.
        """
        entry = self._changeable(which, caller, alone=True)
        if entry.state is not State.HELD:
            raise NotPossible(f"reservation {entry.handle} is {entry.state.value}: only a hold can be extended")
        return self.ledger.extend_hold(
            entry.handle, now + by, now, actor=caller.name, expected_version=expected_version
        )

    # -- groups ----------------------------------------------------------------------------------------------------

    def create_group(
        self, members: Sequence[Reservation], caller: Caller, now: datetime, hold: timedelta | None = None
    ) -> tuple[Entry, ...]:
        """Admits and commits all members of a group, or holds them, or leaves them to approval; or none of them.

        Raises:
            PlanNotAdmitted: no room for some member; its refusal names it. CannotExpress, NameTaken, NoPath,
            NoSuchResource, RefusedByPolicy: see `create`.
        """
        require_few_windows((("", one) for one in members), self.settings.max_windows)
        for one in members:
            access.owner_for(caller, one.owner)
        routed = [route(require_valid(one), self.network) for one in members]
        how = {"hold_until": now + hold} if hold else {}
        return self.ledger.apply([self._request(one, caller, **how) for one in routed], now, actor=caller.name)

    def create_group_as_said(
        self, said: Mapping[str, Any], now: datetime, hold: timedelta | None, caller: Caller
    ) -> tuple[Entry, ...]:
        """As `create_group`, of a group as a reservation file says it."""
        return self.create_group(group_members(said, now, self.settings.max_windows, self.network), caller, now, hold)

    def on_group(
        self, change: type[OnGroup], which: str, caller: Caller, now: datetime, reason: str = "",
        expected_version: int | None = None,
    ) -> tuple[Entry, ...]:  # fmt: skip
        """Cancels, commits, approves or rejects all members of a group at once.

        Raises:
            UnknownHandle, StaleVersion, NotAllowed. ForbiddenTransition: its state does not allow it. InvalidInput: the
            reason is not one line.
        """
        if issubclass(change, ApproveGroup):
            access.require_operator(caller, "approve or reject a group")
        members = self.group(which, caller)
        for one in members:
            access.require_change(caller, one)
        _require_reason(reason)
        group = members[0].group or ""
        return self.ledger.on_group(change(now, group, caller.name, reason, expected_version))

    def _changeable(self, which: str, caller: Caller, *, alone: bool = False) -> Entry:
        """`alone`: it is to become something that the other members of its group would not be."""
        entry = self.status(which, caller)
        access.require_change(caller, entry)
        if alone and entry.group is not None:
            raise NotPossible(f"{entry.handle} is a member of the group {entry.group}: what is done, is done to that")
        return entry


def _require_reason(reason: str) -> None:
    if not is_line(reason, LONGEST_REASON):
        hint = f"say one line of at most {LONGEST_REASON} characters"
        raise InvalidInput([Problem("request", 0, "reason", "is no reason", reason[:60], hint)])
