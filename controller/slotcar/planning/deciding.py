"""The decisions of a plan, one after another, as the ledger will make them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import groupby

from slotcar.admission import SlotTables
from slotcar.admission.choosing import place_on_first
from slotcar.admission.model import Demand, Refused, highest_bps
from slotcar.admission.placing import Placement, Rules
from slotcar.base.timebase import Window
from slotcar.book.groups import groups_that_wait
from slotcar.book.model import Entry, Proposal, State
from slotcar.book.rules.amounts import amount_of
from slotcar.book.rules.gate import needs_approval
from slotcar.book.rules.policy import Policy
from slotcar.book.transfers import done_by, made_room, movable
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.planning.matching import live
from slotcar.planning.routing import RoutedReservation, hops_of, route, routed_ways
from slotcar.planning.step import Action, PlanStep
from slotcar.views.explain import clock_note

#: The note of a step that comes into force only once an operator has approved it.
WAITS = "waits for approval"


def decided_steps(
    matched: Sequence[PlanStep],
    current: Sequence[Entry],
    deciding: Deciding,
    network: Network,
    paths: Mapping[tuple[str, str], Sequence[Path]],
) -> tuple[PlanStep, ...]:
    """The steps, each with its refusal or with its place taken in the tables."""
    routed = [
        replace(step, routed=route(step.reservation, network, paths.get(step.key)))
        if step.reservation and step.action is not Action.NO_OP
        else step
        for step in matched
    ]
    staying = {step.key for step in routed if deciding.stays(step)}
    leaving = [step for step in routed if step.entry and step.action in (Action.CANCEL, Action.CHANGE)]
    changed = {step.handle for step in leaving}
    deciding.movable = {one.handle: one for one in live(current, deciding.rules.now) if one.handle not in changed}
    for step in leaving:
        if step.entry and step.key not in staying:
            deciding.tables.remove(step.entry.occupied.demands, step.entry.occupied.windows)
    new = (one.routed for one in routed if one.action is Action.CREATE and one.routed)
    deciding.waiting_groups = groups_that_wait(
        deciding.policy.gate, ((one.reservation, one.paths, one.demands) for one in new)
    )
    steps: list[PlanStep] = []
    for _, together in groupby(routed, key=_decided_with):
        steps += deciding.decide_together(list(together), staying)
    return tuple(deciding.as_moved(step) for step in steps)


def _decided_with(step: PlanStep) -> object:
    """Equal for the members of a group, which are all admitted or none: they follow one another in the files' order."""
    group = step.routed.reservation.group_key if step.routed else None
    return step.key if group is None else ("group", *group)


@dataclass
class Deciding:
    """The decisions of one plan, one after another, as the ledger will make them.

    Attributes:
        movable: by handle, the entries that may make room, those that the plan creates among them; as they are by now.
        moved: those of them that were there before, and have moved.
        waiting_groups: owner and name of those with a new member above the gate.
        done: how to take back what the decisions so far have taken, in their order.
    """

    tables: SlotTables
    policy: Policy
    rules: Rules
    network: Network
    most_paths: int = 1
    movable: dict[str, Entry] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    waiting_groups: frozenset[tuple[str, str]] = frozenset()
    done: list[Callable[[], object]] = field(default_factory=list)

    def stays(self, step: PlanStep) -> bool:
        """Whether the step is a change that may wait for approval: until then the entry keeps what it has."""
        if step.entry is None or step.routed is None or step.entry.state is not State.COMMITTED:
            return False
        if step.routed.reservation.need is not None:  # its rates are not known yet
            return self.policy.gate.limits_something
        return self._waits(step.entry, step.routed)

    def _waits(self, entry: Entry | None, routed: RoutedReservation) -> bool:
        """Whether a new entry, or a change of one, waits for approval once it is applied."""
        if entry is None:
            if routed.reservation.group_key in self.waiting_groups:
                return True
            amount = amount_of(routed.reservation, routed.paths, highest_bps(routed.demands))
            return needs_approval(self.policy.gate, amount, None)
        if entry.state is not State.COMMITTED:
            return entry.state is State.AWAITING_APPROVAL
        new_amount = entry.amount_of_change(routed.reservation, routed.paths, routed.demands, self.rules.now)
        return needs_approval(self.policy.gate, new_amount, entry.amount)

    def decide_together(self, steps: Sequence[PlanStep], staying: Collection[tuple[str, str]]) -> list[PlanStep]:
        """One step, or the members of a group: where one of these is refused all are, and nothing of them is taken."""
        mark = len(self.done)
        decided = [self.decide(step, step.key in staying) for step in steps]
        refused = ["/".join(step.key) for step in decided if step.refusal]
        if not refused or len(steps) == 1:
            return decided
        while len(self.done) > mark:
            self.done.pop()()
        for step in steps:
            if step.entry and step.key not in staying:  # the old one stays, and with it its room
                self._occupy(step.entry, 1)
        with_it = Refused(reason=f"it goes with its group, of which there is no room for {', '.join(refused)}")
        return [
            after if after.refusal else replace(before, refusal=with_it)
            for before, after in zip(steps, decided, strict=True)
        ]

    def decide(self, step: PlanStep, stays: bool) -> PlanStep:
        entry, routed = step.entry, step.routed
        if routed is None:
            return step
        placed, paths = self._placed(routed, entry, stays)
        if isinstance(placed, Refused):
            if entry and not stays:  # the old one stays, and with it its room
                self._occupy(entry, 1)
            return replace(step, refusal=placed)
        shortest, routed = routed.paths, RoutedReservation(placed.reservation, paths, placed.demands)
        if entry and stays:
            self._occupy(entry, -1)
        waits = self._waits(entry, routed)
        if entry and entry.state is State.COMMITTED and waits:
            self._occupy(proposed(entry, routed, self.rules.now), 1)
        else:
            self._change(routed.demands, routed.reservation.slots, 1)
        self._move(placed)
        if entry is None and not waits:
            self._set_movable(routed.entry("/".join(step.key), 0, self.rules.now))
        notes = ([WAITS] if waits else [step.note] if step.note else []) + _moves_note(placed)
        if hops_of(routed.paths) != hops_of(shortest):
            notes.append(f"takes the path {' > '.join(hop.device for hop in routed.paths[0].hops)}")
        notes += [note] if (note := clock_note(routed.reservation)) else []
        return replace(step, reservation=routed.reservation, routed=routed, waits=waits, note=", ".join(notes))

    def _placed(
        self, routed: RoutedReservation, entry: Entry | None, stays: bool
    ) -> tuple[Placement | Refused, tuple[Path, ...]]:
        """The decision, and the paths that it is about. A change tries first of all the path that there is."""

        def place_on(choices: Sequence[RoutedReservation], *, moves: bool = True) -> Placement | Refused:
            return place_on_first(
                self.tables,
                routed.reservation,
                [(one.paths, one.demands) for one in choices],
                self.rules,
                without=(entry.occupied,) if entry and stays else (),
                movable=lambda: movable(self.movable.values(), self.policy) if moves else (),
                done=done_by(entry, self.rules.now),
                changes=entry is not None,
            )

        several = self.most_paths > 1
        if not (several and entry):
            placed = place_on([routed], moves=not several)
            if isinstance(placed, Placement) or not several:
                return placed, routed.paths
        choices = routed_ways(routed, self.network, self.most_paths, entry.paths if entry else ())
        placed = place_on(choices)
        return placed, choices[placed.path_number].paths if isinstance(placed, Placement) else routed.paths

    def _move(self, placed: Placement) -> None:
        for handle, profile in placed.moved.items():
            before = self.movable[handle]
            after = replace(before, **made_room(before, profile, self.rules.now))
            self._occupy(before, -1)
            self._occupy(after, 1)
            self._set_movable(after)
            if handle not in self.moved:
                self.moved.add(handle)
                self.done.append(partial(self.moved.discard, handle))

    def _set_movable(self, entry: Entry) -> None:
        before = self.movable.get(entry.handle)
        undo = (
            partial(self.movable.pop, entry.handle)
            if before is None
            else partial(self.movable.update, {entry.handle: before})
        )
        self.movable[entry.handle] = entry
        self.done.append(undo)

    def _occupy(self, entry: Entry, sign: int) -> None:
        self._change(entry.occupied.demands, entry.occupied.windows, sign)

    def _change(self, demands: Sequence[Demand], windows: Sequence[Window], sign: int) -> None:
        """Takes the place in the tables, or gives it back with -1."""
        do, undo = (self.tables.add, self.tables.remove)[::sign]
        do(demands, windows)
        self.done.append(partial(undo, demands, windows))

    def as_moved(self, step: PlanStep) -> PlanStep:
        """A step whose reservation a later one of the plan has moved, with the profile that it ends with."""
        entry = self.movable.get("/".join(step.key))
        if entry is None or step.routed is None or step.refusal or entry.demands == step.routed.demands:
            return step
        routed = RoutedReservation(entry.reservation, entry.paths, entry.demands)
        return replace(step, reservation=entry.reservation, routed=routed)


def _moves_note(placed: Placement) -> list[str]:
    count = len(placed.moved)
    return [f"moves {count} deadline transfer{'s' if count > 1 else ''} to make room"] if count else []


def proposed(entry: Entry, routed: RoutedReservation, now: datetime) -> Entry:
    return replace(entry, proposed=Proposal(routed.reservation, routed.paths, routed.demands, "", now))
