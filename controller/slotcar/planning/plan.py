"""What applying files would do: each reservation's outcome, and each device's change at each boundary. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.memory_shelf import MemoryShelf
from slotcar.book.model import Entry
from slotcar.book.operation import run_out
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import active_at
from slotcar.network.model import Network
from slotcar.planning.errors import CannotExpress
from slotcar.planning.matching import match
from slotcar.planning.plan_delays import with_promised_delays
from slotcar.planning.rehearsing import RequestForms, rehearsed
from slotcar.planning.source import ReservationSource
from slotcar.planning.step import Action, PlanStep
from slotcar.platforms.model import Approximation, Unrenderable
from slotcar.reservation.model import Reservation
from slotcar.views.approximations import first_of_each
from slotcar.views.configurations import Boundary, Differences, transitions, with_notes_once
from slotcar.views.foreseen import foreseen

#: More boundaries than these are counted, not shown: a daily slot for a year has 730.
MAX_BOUNDARIES = 24


@dataclass(frozen=True, slots=True)
class InTheWay:
    """What of others' on a router would keep a plan's lines from their place or their effect.

    Attributes:
        at: from which boundary of the plan on.
        certain: a push would be refused by it; where false, it may take packets, and a push goes ahead.
        read_at: when the router was read.
    """

    device: str
    at: datetime
    words: str
    certain: bool
    read_at: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it.

    Attributes:
        sequence: the ledger's when the plan was made; None for a plan made without a ledger.
        boundaries_left_out: how many of those that the plan touches come after the ones that are shown.
        next_at: the first of them.
        owners: of whom the plan speaks: what they have in the set and not in the files is cancelled.
        moves: handles of deadline transfers, not among the steps, that move to make room.
        approximations: what devices on the paths do otherwise than wanted, each aspect once, at the boundaries shown.
        in_the_way: what was seen on routers that would be refused or without effect there, the certain first.
        not_looked_at: routers on the paths of which no reading is known.
        looked_at: when the others were read, the earliest; None where there are none.
    """

    made_at: datetime
    sequence: int | None
    network_digest: str
    set_name: str
    steps: tuple[PlanStep, ...]
    boundaries: tuple[Boundary, ...] = ()
    boundaries_left_out: int = 0
    next_at: datetime | None = None
    owners: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    approximations: tuple[Approximation, ...] = ()
    in_the_way: tuple[InTheWay, ...] = ()
    not_looked_at: tuple[str, ...] = ()
    looked_at: datetime | None = None

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
        left_out = len(self.boundaries) + self.boundaries_left_out
        return replace(self, boundaries=(), boundaries_left_out=left_out, approximations=())

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


#: What a page shows of the network, and nothing else goes by.
_SHOWN_ONLY: dict[str, Any] = {
    "loaded_at": True,
    "source": True,
    "domains": {"__all__": {"description"}},
    "devices": {"__all__": {"position": True, "interfaces": {"__all__": {"description"}}}},
    "sls": {"__all__": {"description"}},
}


def network_digest(network: Network) -> str:
    """Stands for the whole network: a plan is void when anything in the inventory changed but where a map draws it, and
    what describes it."""
    text = network.model_dump_json(exclude=_SHOWN_ONLY)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def make_plan(
    source: ReservationSource,
    shelf: MemoryShelf,
    forms: RequestForms,
    *,
    now: datetime,
    sequence: int | None,
    show_from: datetime | None = None,
) -> Plan:
    """Rehearses every step on the shelf, as if what is cancelled and changed were gone already.

    The shelf is used up: it ends as the ledger would after the apply. The devices' changes are shown from `show_from` on;
    without it, those at once come first.

    Raises:
        CannotExpress: a platform cannot express what would be admitted. RefusedByPolicy: a rule of the operator's forbids
        a step.
    """
    # A promised delay that would not hold is told with its step, below.
    network, transaction = (
        forms.network,
        shelf.transaction(replace(shelf.terms, check_delays=lambda _one, _others: None)),
    )
    current = tuple(one for one in shelf if one.is_live_at(now))
    run_out(transaction, now)
    matched = match(source.reservations, current, source.scope, now, source.relative)
    answer = rehearsed(matched, transaction, forms, now, source.paths)
    steps, newest = tuple(_with_notes(one, network) for one in answer.steps), transaction.entries.newest(current)
    after: Sequence[Entry] = sorted(newest.values(), key=lambda one: one.number)
    if any(one.latest.is_bounded for one in after):
        steps = with_promised_delays(steps, after, network)
        after = _after_refusals(after, steps)
    moved = [one for handle in sorted(answer.moved) for one in (shelf[handle], newest[handle])]
    touched_ones = [*_touched(steps), *(one.reservation for one in moved)]
    touched = _touched_times(touched_ones, now)
    if touched:
        window = Window(now, max(touched) + MICROSECOND)
        shares = BackgroundShares(network)
        current, after = shares(current, window), shares(after, window)
        touched |= _times_of_shares(current, after, window)
    times = sorted(at for at in touched if show_from is None or at >= show_from)
    shown_times, rest = times[:MAX_BOUNDARIES], times[MAX_BOUNDARIES:]
    differences = Differences(network)
    try:
        at_once = [_at_once(current, after, now, differences)] if show_from is None else []
        rendered = (*at_once, *transitions(after, shown_times, differences))
    except Unrenderable as error:
        raise CannotExpress(str(error)) from error
    return Plan(
        made_at=now,
        sequence=sequence,
        network_digest=network_digest(network),
        set_name=source.scope.set_name,
        steps=steps,
        boundaries=with_notes_once(one for one in rendered if one.devices),
        boundaries_left_out=len(rest),
        next_at=rest[0] if rest else None,
        owners=tuple(sorted(source.scope.owners)),
        moves=tuple(sorted(answer.moved)),
        approximations=first_of_each(one for boundary in rendered for one in boundary.approximations),
    )


def _after_refusals(after: Iterable[Entry], steps: Iterable[PlanStep]) -> list[Entry]:
    """The entries, those that a refused step is about as they were before."""
    before = {step.key: step.entry for step in steps if step.refusal}
    kept = (before.get(one.reservation.key, one) for one in after)
    return [one for one in kept if one is not None]


def _with_notes(step: PlanStep, network: Network) -> PlanStep:
    """The step of what would be admitted, with what whoever asks for it should know."""
    if step.routed is None or step.refusal:
        return step
    return replace(step, notes=foreseen(step.routed.reservation, step.routed.paths, network))


def _touched_times(touched: Iterable[Reservation], now: datetime) -> set[datetime]:
    """When something that the plan touches starts, ends or changes its rate, from now on."""
    return {moment for reservation in touched for slot in reservation.slots for moment in slot if moment > now}


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
        yield from (one for one in (step.entry and step.entry.reservation, step.reservation) if one)


def _at_once(before: Sequence[Entry], after: Sequence[Entry], now: datetime, differences: Differences) -> Boundary:
    """What would be pushed at once; nothing where the plan changes no slot that is open now."""
    return differences.between(active_at(before, now), now, active_at(after, now), now)
