"""What applying files would do: each reservation's fate, and each device's change at each boundary. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from controller.admission import SlotTables
from controller.admission.model import Demand, Refused, highest_bps
from controller.ledger.model import Entry, Proposal, State
from controller.network.model import Network
from controller.path.model import Path
from controller.planning.errors import CannotExpress
from controller.planning.plan_policy import check_plan
from controller.planning.routing import RoutedReservation, route
from controller.planning.step import Action, PlanStep
from controller.platforms.model import Unrenderable
from controller.policy.amounts import amount_of
from controller.policy.gate import needs_approval
from controller.policy.policy import Policy
from controller.reservation.model import Reservation
from controller.timebase import MICROSECOND, Window
from controller.timeline import active_at
from controller.timeline.shares import BackgroundShares
from controller.views.configurations import Boundary, Differences, said_once, transitions

#: More boundaries than these are counted, not shown: a daily slot for a year has 730.
MAX_BOUNDARIES = 24
#: The note of a step that comes into force only once an operator has approved it.
WAITS = "waits for approval"


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it.

    Attributes:
        sequence: the ledger's when the plan was made; None for a plan made without a ledger.
        boundaries_left_out: how many of those that the plan touches come after the ones that are shown.
        next_at: the first of them.
    """

    made_at: datetime
    sequence: int | None
    network_digest: str
    set_name: str
    steps: tuple[PlanStep, ...]
    boundaries: tuple[Boundary, ...] = ()
    boundaries_left_out: int = 0
    next_at: datetime | None = None

    @property
    def refused(self) -> tuple[PlanStep, ...]:
        return tuple(step for step in self.steps if step.refusal)

    @property
    def changes_nothing(self) -> bool:
        return all(step.action is Action.NO_OP for step in self.steps)

    def count(self, action: Action) -> int:
        return sum(1 for step in self.steps if step.action is action and not step.refusal)

    def without_devices(self) -> Plan:
        """The plan for who may not see devices: their configurations hold other owners' flows, too."""
        return replace(self, boundaries=(), boundaries_left_out=len(self.boundaries) + self.boundaries_left_out)

    @property
    def summary(self) -> str:
        """Terraform's last line: what a person looks for first."""
        line = (
            f"Plan: {self.count(Action.CREATE)} to create, {self.count(Action.CHANGE)} to change,"
            f" {self.count(Action.CANCEL)} to cancel"
        )
        return f"{line}; {len(self.refused)} refused." if self.refused else f"{line}."


@dataclass(frozen=True, slots=True)
class Applied:
    """What an apply did."""

    entries: tuple[Entry, ...]
    created: int
    changed: int
    cancelled: int


def network_digest(network: Network) -> str:
    """Stands for the whole network: a plan is void when anything in the inventory changed."""
    text = network.model_dump_json(exclude={"loaded_at", "source"})
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def make_plan(
    matched: Sequence[PlanStep],
    current: Sequence[Entry],
    tables: SlotTables,
    network: Network,
    *,
    now: datetime,
    sequence: int | None,
    set_name: str,
    policy: Policy,
    names_others: bool,
    paths: Mapping[tuple[str, str], Sequence[Path]] | None = None,
    show_from: datetime | None = None,
) -> Plan:
    """Decides every step against `tables`, as if what is cancelled and changed were gone already.

    `tables` is used up: it ends as it would after the apply. `paths` are those that are known already, by key. The
    devices' changes are shown from `show_from` on; without it, those at once come first.

    Raises:
        CannotExpress: at some boundary a platform cannot express what would be admitted. RefusedByPolicy: a rule of the
        operator's forbids a step; `names_others` says whether the sentence may name other owners' reservations.
    """
    steps = _decided(matched, tables, network, policy, now, paths or {})
    after = _entries_after(current, steps, now)
    check_plan(steps, current, after, policy, now, name_other=names_others)
    touched = _touched_times(steps, now)
    if touched:
        window = Window(now, max(touched) + MICROSECOND)
        shares = BackgroundShares(network)
        current, after = shares(current, window), shares(after, window)
        touched |= _times_of_shares(current, after, window)
    times = sorted(at for at in touched if show_from is None or at >= show_from)
    shown_times, rest = times[:MAX_BOUNDARIES], times[MAX_BOUNDARIES:]
    differences = Differences(network)
    try:
        at_once = _at_once(current, after, now, differences) if show_from is None else ()
        shown = said_once((*at_once, *transitions(after, shown_times, differences)))
    except Unrenderable as error:
        raise CannotExpress(str(error)) from error
    return Plan(
        made_at=now,
        sequence=sequence,
        network_digest=network_digest(network),
        set_name=set_name,
        steps=steps,
        boundaries=shown,
        boundaries_left_out=len(rest),
        next_at=rest[0] if rest else None,
    )


def _decided(
    matched: Sequence[PlanStep],
    tables: SlotTables,
    network: Network,
    policy: Policy,
    now: datetime,
    paths: Mapping[tuple[str, str], Sequence[Path]],
) -> tuple[PlanStep, ...]:
    """The steps, each with its refusal or with its place taken in the tables."""
    routed = [
        replace(step, routed=route(step.reservation, network, paths.get(step.key)))
        if step.reservation and step.action is not Action.NO_OP
        else step
        for step in matched
    ]
    staying = {step.key for step in routed if _stays(step, policy, now)}
    for step in routed:
        if step.entry and step.action in (Action.CANCEL, Action.CHANGE) and step.key not in staying:
            _occupy(tables.remove, step.entry)
    return tuple(_decide(step, step.key in staying, tables, network, policy, now) for step in routed)


def _stays(step: PlanStep, policy: Policy, now: datetime) -> bool:
    """Whether the step is a change that waits for approval: until then the entry keeps what it has."""
    entry, routed = step.entry, step.routed
    if entry is None or routed is None or entry.state is not State.COMMITTED:
        return False
    asked = entry.amount_of_change(routed.reservation, routed.paths, routed.demands, now)
    return needs_approval(policy.gate, asked, entry.amount)


def _occupy(change: Callable[[Sequence[Demand], Sequence[Window]], None], entry: Entry) -> None:
    change(entry.occupied.demands, entry.occupied.windows)


def _decide(
    step: PlanStep, stays: bool, tables: SlotTables, network: Network, policy: Policy, now: datetime
) -> PlanStep:
    entry, routed = step.entry, step.routed
    if routed is None:
        return step
    kept = (entry.occupied,) if entry and stays else ()
    decision = routed.decide(tables, network, now + policy.horizon, without=kept)
    if isinstance(decision, Refused):
        if entry and not stays:  # the old one stays, and with it its room
            _occupy(tables.add, entry)
        return replace(step, refusal=decision)
    if entry and stays:
        _occupy(tables.remove, entry)
        _occupy(tables.add, _proposed(entry, routed, now))
    else:
        tables.add(decision.demands, decision.windows)
    waits = stays or _waits(entry, routed, policy)
    return replace(step, waits=waits, note=WAITS if waits else step.note)


def _waits(entry: Entry | None, routed: RoutedReservation, policy: Policy) -> bool:
    """Whether a new entry, or one that is not committed yet, waits for approval once it is applied."""
    if entry is not None:
        return entry.state is State.AWAITING_APPROVAL
    amount = amount_of(routed.reservation, routed.paths, highest_bps(routed.demands))
    return needs_approval(policy.gate, amount, None)


def _proposed(entry: Entry, routed: RoutedReservation, now: datetime) -> Entry:
    return replace(entry, proposed=Proposal(routed.reservation, routed.paths, routed.demands, "", now))


def _entries_after(current: Sequence[Entry], steps: Iterable[PlanStep], now: datetime) -> tuple[Entry, ...]:
    """The entries as the ledger would hold them. New ones take the numbers that come next."""
    entries = {entry.handle: entry for entry in current}
    number = max((entry.number for entry in current), default=0)
    for step in steps:
        entry, routed = step.entry, step.routed
        if step.refusal:
            continue
        if step.action is Action.CANCEL and entry:
            entries[entry.handle] = replace(entry, state=State.CANCELLED)
        elif step.action is Action.CHANGE and entry and routed:
            changed = replace(
                entry, reservation=routed.reservation, paths=routed.paths, demands=routed.demands, proposed=None
            )
            stays = step.waits and entry.state is State.COMMITTED
            entries[entry.handle] = _proposed(entry, routed, now) if stays else changed
        elif step.action is Action.CREATE and routed:
            number += 1
            state = State.AWAITING_APPROVAL if step.waits else State.COMMITTED
            planned = routed.entry(f"planned-{number}", number, now, state)
            entries[planned.handle] = planned
    return tuple(entries.values())


def _touched_times(steps: Iterable[PlanStep], now: datetime) -> set[datetime]:
    """When something that the plan touches starts, ends or changes its rate, from now on."""
    return {moment for reservation in _touched(steps) for slot in reservation.slots for moment in slot if moment > now}


def _times_of_shares(before: Iterable[Entry], after: Iterable[Entry], window: Window) -> set[datetime]:
    """When background reservations get another rate than they had before at that instant."""
    was = {entry.number: _starts_of_rates(entry) for entry in before}
    changes = [
        _starts_of_rates(entry) ^ was.get(entry.number, set())
        for entry in after
        if entry.reservation.share is not None
    ]
    return {moment for one in changes for moment, _ in one if window.contains(moment)}


def _starts_of_rates(entry: Entry) -> set[tuple[datetime, tuple[int, int]]]:
    return {(slot.start, slot.rates) for slot in entry.reservation.slots}


def _touched(steps: Iterable[PlanStep]) -> Iterator[Reservation]:
    for step in steps:
        if step.action is Action.NO_OP or step.refusal or step.waits:
            continue
        if step.entry:
            yield step.entry.reservation
        if step.reservation:
            yield step.reservation


def _at_once(
    before: Sequence[Entry], after: Sequence[Entry], now: datetime, differences: Differences
) -> tuple[Boundary, ...]:
    """What would be pushed at once; nothing where the plan changes no slot that is open now."""
    changes = differences.between(active_at(before, now), now, active_at(after, now), now)
    return (Boundary(now, changes),) if changes else ()
