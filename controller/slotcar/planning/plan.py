"""What applying files would do: each reservation's outcome, and each device's change at each boundary. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from slotcar.admission import SlotTables, capacities
from slotcar.admission.placing import Rules
from slotcar.admission.program import LinearSolver
from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.model import Entry, State
from slotcar.book.rules.policy import Policy
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import active_at
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.planning.deciding import Deciding, decided_steps, proposed
from slotcar.planning.errors import CannotExpress
from slotcar.planning.matching import Scope
from slotcar.planning.plan_delays import with_promised_delays
from slotcar.planning.plan_policy import check_plan
from slotcar.planning.platform_limits import require_each_alone
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
    matched: Sequence[PlanStep],
    current: Sequence[Entry],
    tables: SlotTables,
    network: Network,
    *,
    now: datetime,
    sequence: int | None,
    newest_number: int = 0,
    scope: Scope,
    policy: Policy,
    names_others: bool,
    paths: Mapping[tuple[str, str], Sequence[Path]] | None = None,
    show_from: datetime | None = None,
    solver: LinearSolver | None = None,
    most_paths: int = 1,
) -> Plan:
    """Decides every step against `tables`, as if what is cancelled and changed were gone already.

    `tables` is used up: it ends as it would after the apply. `paths` are those that are known already, by key. The
    devices' changes are shown from `show_from` on; without it, those at once come first. A reservation may take one of
    `most_paths` ways (ADR 25). `newest_number`: what the ledger's last new entry got, be it live or not.

    Raises:
        CannotExpress: at some boundary a platform cannot express what would be admitted. RefusedByPolicy: a rule of the
        operator's forbids a step; `names_others` says whether the sentence may name other owners' reservations.
    """
    rules = Rules(now, now + policy.horizon, network.sls, policy.frozen, solver, policy.least_rate_bps)
    deciding = Deciding(tables, policy, rules, network, most_paths)
    steps = tuple(_with_notes(one, network) for one in decided_steps(matched, current, deciding, network, paths or {}))
    moved = [deciding.movable[one.handle] for one in current if one.handle in deciding.moved]
    after = _entries_after((*current, *moved), steps, now, newest_number)
    if any(one.latest.is_bounded for one in after):
        steps = with_promised_delays(steps, after, network)
        after = _entries_after((*current, *moved), steps, now, newest_number)
    check_plan(steps, current, after, policy, now, name_other=names_others)
    touched_ones = [*_touched(steps), *(one.reservation for one in (*current, *moved) if one.handle in deciding.moved)]
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
        require_each_alone(after, {one.key for one in touched_ones}, network)
        raise CannotExpress(str(error)) from error
    return Plan(
        made_at=now,
        sequence=sequence,
        network_digest=network_digest(network),
        set_name=scope.set_name,
        steps=steps,
        boundaries=with_notes_once(one for one in rendered if one.devices),
        boundaries_left_out=len(rest),
        next_at=rest[0] if rest else None,
        owners=tuple(sorted(scope.owners)),
        moves=tuple(sorted(one.handle for one in moved)),
        approximations=first_of_each(one for boundary in rendered for one in boundary.approximations),
    )


def _with_notes(step: PlanStep, network: Network) -> PlanStep:
    """The step of what would be admitted, with what whoever asks for it should know."""
    if step.routed is None or step.refusal:
        return step
    return replace(step, notes=foreseen(step.routed.reservation, step.routed.paths, network))


def decide_steps(
    matched: Sequence[PlanStep],
    network: Network,
    policy: Policy,
    now: datetime,
    paths: Mapping[tuple[str, str], Sequence[Path]],
    most_paths: int,
) -> tuple[PlanStep, ...]:
    """The steps of a plan on an empty ledger, each with its refusal, or with the way and the rates that it gets."""
    rules = Rules(now, now + policy.horizon, network.sls, policy.frozen, None, policy.least_rate_bps)
    deciding = Deciding(SlotTables(capacities(network)), policy, rules, network, most_paths)
    return decided_steps(matched, (), deciding, network, paths)


def _entries_after(
    current: Sequence[Entry], steps: Iterable[PlanStep], now: datetime, newest_number: int
) -> tuple[Entry, ...]:
    """The entries as the ledger would hold them. New ones take the numbers that come next."""
    entries = {entry.handle: entry for entry in current}
    number = max([newest_number, *(entry.number for entry in current)])
    for step in steps:
        entry, routed = step.entry, step.routed
        if step.refusal:
            continue
        if step.action is Action.CANCEL and entry:
            entries[entry.handle] = replace(entry, state=State.CANCELLED)
        elif step.action is Action.CHANGE and entry and routed:
            changed = replace(
                entry, reservation=routed.reservation, paths=routed.paths, demands=routed.demands, proposed=None,
                change=entry.changed_at_once(now) if entry.state is State.COMMITTED else None,
            )  # fmt: skip
            stays = step.waits and entry.state is State.COMMITTED
            entries[entry.handle] = proposed(entry, routed, now) if stays else changed
        elif step.action is Action.CREATE and routed:
            number += 1
            state = State.AWAITING_APPROVAL if step.waits else State.COMMITTED
            planned = routed.entry(f"planned-{number}", number, now, state)
            entries[planned.handle] = planned
    return tuple(entries.values())


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
