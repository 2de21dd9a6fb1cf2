"""What is done with reservation files: plan them, and apply exactly the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from slotcar.auth import access
from slotcar.base.timebase import iso
from slotcar.book.applying import ApplyPlan
from slotcar.book.errors import UnknownHandle
from slotcar.book.model import AdmissionRequest, Cancellation, Entry
from slotcar.book.rules import roles
from slotcar.book.rules.request_limits import require_few_windows
from slotcar.book.rules.roles import Caller
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Requests
from slotcar.planning.errors import StalePlan, require_no_refusal
from slotcar.planning.in_the_way import looked_at
from slotcar.planning.plan import Applied, Plan, make_plan, network_digest
from slotcar.planning.promises import Promises, is_over, marks_of
from slotcar.planning.rehearsing import RequestForms
from slotcar.planning.routing import RoutedReservation, hops_of, route, routed_ways
from slotcar.planning.source import ReservationSource
from slotcar.planning.step import Action, PlanStep
from slotcar.reservation import require_valid
from slotcar.reservation.model import Reservation, is_storable
from slotcar.rollout.looks import Looks


@dataclass(frozen=True, slots=True)
class ReservationFiles:
    """Errors are `SlotcarError`s."""

    desk: Desk

    def plan(
        self, source: ReservationSource, caller: Caller, now: datetime, show_from: datetime | None = None
    ) -> Plan:
        """What applying the files would do, against the ledger as it is; writes nothing. `show_from`: see `make_plan`.

        A requester gets the outcome of each of its reservations, and neither a device's difference nor others' handles.

        Raises:
            CannotExpress, RefusedByPolicy: see `create`. InvalidInput: the files have more windows than
            `Settings.max_windows`.
        """
        placed = ((f"reservations[{index}]", one) for index, one in enumerate(source.reservations))
        require_few_windows(placed, self.desk.settings.max_windows)
        for owner in source.scope.owners:
            roles.require_plan(caller, owner)
        requests = Requests(self.desk)
        approval_of = requests.approvals(caller)
        wanted = tuple(requests.granted(one, caller) for one in source.reservations)

        def request(routed: RoutedReservation, **how: Any) -> AdmissionRequest:
            return requests.request(routed, caller, **how, **approval_of(routed.reservation))

        shelf = self.desk.ledger.live_copy(now)
        plan = make_plan(
            replace(source, reservations=wanted),
            shelf,
            RequestForms(self.desk.network, request, self.desk.settings.paths),
            now=now,
            sequence=shelf.head.sequence,
            show_from=show_from,
        )
        if roles.may_overview(caller):
            return looked_at(plan, self.desk.network, Looks(self.desk.settings.state_dir).of)
        return replace(plan.without_devices(), moves=marks_of(plan.moves))

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
        require_few_windows(steps, self.desk.settings.max_windows)
        require_no_refusal("/".join(step.key) for step in plan.refused)
        if plan.network_digest != network_digest(self.desk.network):
            raise StalePlan("the inventory has changed since the plan was made: make the plan again")
        if plan.sequence is None:
            raise StalePlan("the plan was made without a ledger (--offline): make it again with one")
        for owner in {*plan.owners, *(step.key[0] for step in plan.steps)}:
            roles.owner_for(caller, owner)
        if not plan.steps:
            return Applied((), 0, 0, 0)
        entries_by_handle = self._entries_of(plan.steps, caller)
        remaining_steps = [
            step for step in plan.steps if not is_over(step, entries_by_handle.get(step.handle or ""), now)
        ]
        doing = [step for step in remaining_steps if step.action is not Action.NO_OP]
        approval_of = Requests(self.desk).approvals(caller)
        changes = [self._change_of(step, caller, now, approval_of) for step in doing]
        basis = Promises(replace(plan, steps=tuple(remaining_steps)), now)
        entries = self.desk.ledger.run(ApplyPlan.of(changes, now, actor=caller.actor, basis=basis))
        actions = [step.action for step in doing]
        return Applied(entries, *(actions.count(one) for one in (Action.CREATE, Action.CHANGE, Action.CANCEL)))

    def _entries_of(self, steps: Sequence[PlanStep], caller: Caller) -> Mapping[str, Entry]:
        """The entries that the steps change or cancel, by handle.

        Raises:
            UnknownHandle: the caller may not see one. NotAllowed: it may not change it. StalePlan: it is another by now.
        """
        concerned = {
            step.handle: step for step in steps if step.handle is not None and step.action is not Action.NO_OP
        }
        entries = self.desk.ledger.get_all([handle for handle in concerned if is_storable(handle)])
        for handle, step in concerned.items():
            entry = entries.get(handle)
            if entry is None:
                raise UnknownHandle(handle)
            access.require_see(caller, entry)
            access.require_change(caller, entry, "apply")
            if entry.reservation.key != step.key:
                raise StalePlan(f"{handle} is not {'/'.join(step.key)}: make the plan again")
        return entries

    def _change_of(
        self, step: PlanStep, caller: Caller, now: datetime, approval_of: Callable[[Reservation], Mapping[str, Any]]
    ) -> AdmissionRequest | Cancellation:
        """What the ledger is asked for a step of a plan, which may have been written by anybody."""
        if step.reservation is None or step.action is Action.CANCEL:
            assert step.handle is not None
            return Cancellation(step.handle)
        if step.reservation.end <= now:
            raise StalePlan(f"{'/'.join(step.key)} ended at {iso(step.reservation.end)}: make the plan again")
        routed = step.routed or self._as_planned(step, Requests(self.desk).granted(step.reservation, caller))
        require_valid(step.reservation, "plan")
        approval = approval_of(routed.reservation)
        return Requests(self.desk).request(routed, caller, replaces=step.handle, **approval)

    def _as_planned(self, step: PlanStep, reservation: Reservation) -> RoutedReservation:
        """The reservation on the very path of the plan, which may have been written by anybody.

        Raises:
            StalePlan: it is none of those that a reservation may take here. EndpointNotAllowed.
        """
        shortest = route(reservation, self.desk.network)
        self.desk.ledger.terms.policy.endpoints.check(reservation, shortest.paths)
        if step.paths is None or hops_of(shortest.paths) == step.paths:
            return shortest
        for one in routed_ways(shortest, self.desk.network, self.desk.settings.paths):
            if hops_of(one.paths) == step.paths:
                return one
        path = " > ".join(hop.device for hop in step.paths[0])
        raise StalePlan(
            f"the plan takes {'/'.join(step.key)} along {path}, which is none of the paths that are tried here"
            f" (SLOTCAR_PATHS is {self.desk.settings.paths}): make the plan again"
        )
