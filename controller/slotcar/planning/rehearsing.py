"""The steps of a plan, decided by the ledger's own operations on a copy of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from slotcar.book.applying import Decided, Rehearsal
from slotcar.book.model import AdmissionRequest, Alternative, Cancellation, Entry, State
from slotcar.book.transaction import Transaction
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.planning.routing import RoutedReservation, hops_of, route, routed_ways
from slotcar.planning.step import Action, PlanStep
from slotcar.views.explain import clock_note

#: The note of a step that comes into force only once an operator has approved it.
WAITS = "waits for approval"


@dataclass(frozen=True, slots=True)
class RequestForms:
    """How a plan asks for its reservations, as an apply will.

    Attributes:
        request: the request for a reservation on its way; further fields of it by their names.
        most_paths: of so many ways a reservation may take one (ADR 25).
    """

    network: Network
    request: Callable[..., AdmissionRequest]
    most_paths: int = 1

    def of(self, routed: RoutedReservation, entry: Entry | None) -> AdmissionRequest:
        """The request for a new reservation, or for another form of the entry: that tries first the path that it has.

        Other ways of a new one are looked for only where there is no room on its shortest.
        """
        if entry is not None:
            form = self._on_ways(routed, entry.paths) if self.most_paths > 1 else self.request(routed)
            return replace(form, replaces=entry.handle, expected_version=entry.version)
        if self.most_paths == 1:
            return self.request(routed)
        return self.request(routed, moves=False, wider=partial(self._on_ways, routed))

    def _on_ways(self, routed: RoutedReservation, present: Sequence[Path] = ()) -> AdmissionRequest:
        first, *others = routed_ways(routed, self.network, self.most_paths, present)
        other_forms = map(self.request, others)
        return self.request(
            first, alternatives=tuple(Alternative(one.paths, one.demands, one.condition) for one in other_forms)
        )


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a plan comes to.

    Attributes:
        moved: handles of deadline transfers that make room, but for those that the plan itself changes or creates.
    """

    steps: tuple[PlanStep, ...]
    moved: frozenset[str]


def rehearsed(
    matched: Sequence[PlanStep],
    transaction: Transaction,
    forms: RequestForms,
    now: datetime,
    paths: Mapping[tuple[str, str], Sequence[Path]],
    *,
    checks: bool = True,
) -> Rehearsed:
    """Each step with its refusal, or with its place taken in the transaction's tables.

    Args:
        paths: those that are known already, by owner and name. checks: see `Rehearsal`.

    Raises:
        CannotExpress: a platform cannot express what would be admitted. RefusedByPolicy: a rule forbids a step.
    """
    routed = {
        step.key: route(step.reservation, forms.network, paths.get(step.key))
        for step in matched
        if step.reservation and step.action in (Action.CREATE, Action.CHANGE)
    }
    requests = (forms.of(routed[step.key], step.entry) for step in matched if step.key in routed)
    ends = (
        Cancellation(one.handle, one.expected_version) for one in matched if one.handle and one.action is Action.CANCEL
    )
    rehearsal = Rehearsal(now, tuple(ends), tuple(requests), "", checks)
    transaction.prepare([rehearsal.needs])
    decided = {one.key: one for one in rehearsal.run(transaction)}
    steps = tuple(
        _decided_step(step, routed[step.key], decided[step.key], transaction) if step.key in routed else step
        for step in matched
    )
    own = {one.entry.handle for one in decided.values() if one.entry}
    return Rehearsed(steps, frozenset(handle for one in decided.values() for handle in one.moved) - own)


def _decided_step(step: PlanStep, shortest: RoutedReservation, decided: Decided, transaction: Transaction) -> PlanStep:
    if decided.entry is None:
        return replace(step, routed=shortest, refusal=decided.refusal)
    entry = transaction.entries.get(decided.entry.handle)  # a later step may have moved it
    form = entry.proposed or entry
    waits = entry.state is State.AWAITING_APPROVAL or entry.proposed is not None
    notes = [WAITS] if waits else [step.note] if step.note else []
    if count := len(decided.moved):
        notes.append(f"moves {count} deadline transfer{'s' if count > 1 else ''} to make room")
    if hops_of(form.paths) != hops_of(shortest.paths):
        notes.append(f"takes the path {' > '.join(hop.device for hop in form.paths[0].hops)}")
    notes += [words] if (words := clock_note(form.reservation)) else []
    routed = RoutedReservation(form.reservation, form.paths, form.demands)
    return replace(step, reservation=form.reservation, routed=routed, waits=waits, note=", ".join(notes))
