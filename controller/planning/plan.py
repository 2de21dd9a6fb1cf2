"""What applying files would do: each reservation's fate, and each device's change at each boundary. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from controller.admission import SlotTables
from controller.admission.model import Demand, Refused, highest_bps
from controller.ledger.model import Entry, Proposal, State
from controller.network.model import Network
from controller.planning.errors import CannotExpress
from controller.planning.matching import Act, Match
from controller.planning.plan_policy import check_plan
from controller.planning.routing import RoutedReservation, route
from controller.platforms.model import Unrenderable
from controller.policy.amounts import amount_of
from controller.policy.gate import needs_approval
from controller.policy.policy import Policy
from controller.reservation.model import Reservation
from controller.timebase import Window
from controller.timeline import active_at
from controller.views.configurations import Boundary, Differences, said_once, transitions

#: More boundaries than these are counted, not shown: a daily slot for a year has 730.
MAX_BOUNDARIES = 24
#: The note of a step that comes into force only once an operator has approved it.
WAITS = "waits for approval"


@dataclass(frozen=True, slots=True)
class Step:
    """One reservation's fate, and the numbers if there is no room for it; `waits`: for an operator's approval."""

    match: Match
    ask: RoutedReservation | None = None
    refused: Refused | None = None
    waits: bool = False

    @property
    def act(self) -> Act:
        return self.match.act


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
    steps: tuple[Step, ...]
    boundaries: tuple[Boundary, ...] = ()
    boundaries_left_out: int = 0
    next_at: datetime | None = None
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def refused(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.refused)

    @property
    def changes_nothing(self) -> bool:
        return all(step.act is Act.NO_OP for step in self.steps)

    def count(self, act: Act) -> int:
        return sum(1 for step in self.steps if step.act is act and not step.refused)

    def without_devices(self) -> Plan:
        """The plan for who may not see devices: their configurations hold other owners' flows, too."""
        return replace(self, boundaries=(), boundaries_left_out=len(self.boundaries) + self.boundaries_left_out)

    @property
    def summary(self) -> str:
        """Terraform's last line: what a person looks for first."""
        line = (
            f"Plan: {self.count(Act.CREATE)} to create, {self.count(Act.CHANGE)} to change,"
            f" {self.count(Act.CANCEL)} to cancel"
        )
        return f"{line}; {len(self.refused)} refused." if self.refused else f"{line}."


def network_digest(network: Network) -> str:
    """Stands for the whole network: a plan is void when anything in the inventory changed."""
    text = network.model_dump_json(exclude={"loaded_at", "source"})
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def make_plan(
    matches: Sequence[Match],
    current: Sequence[Entry],
    tables: SlotTables,
    network: Network,
    *,
    now: datetime,
    sequence: int | None,
    set_name: str,
    policy: Policy,
    names_others: bool,
    show_from: datetime | None = None,
) -> Plan:
    """Decides every match against `tables`, as if what is cancelled and changed were gone already.

    `tables` is used up: it ends as it would after the apply. The devices' changes are shown from `show_from` on;
    without it, those at once come first.

    Raises:
        CannotExpress: at some boundary a platform cannot express what would be admitted. RefusedByPolicy: a rule of the
        operator's forbids a step; `names_others` says whether the sentence may name other owners' reservations.
    """
    asks = {
        match.key: route(match.wanted, network) for match in matches if match.wanted and match.act is not Act.NO_OP
    }
    staying = {match.key for match in matches if match.key in asks and _stays(match, asks[match.key], policy, now)}
    for match in matches:
        if match.entry and match.act in (Act.CANCEL, Act.CHANGE) and match.key not in staying:
            _occupy(tables.remove, match.entry)
    steps = tuple(_step(match, asks.get(match.key), tables, network, policy, now) for match in matches)
    after = _entries_after(current, steps, now)
    check_plan(steps, current, after, policy, now, name_other=names_others)
    times = sorted(at for at in _touched_times(steps, now) if show_from is None or at >= show_from)
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


def _stays(match: Match, ask: RoutedReservation, policy: Policy, now: datetime) -> bool:
    """Whether the step is a change that waits for approval: until then the entry keeps what it has."""
    entry = match.entry
    if entry is None or entry.state is not State.COMMITTED:
        return False
    asked = entry.amount_of_change(ask.reservation, ask.paths, ask.demands, now)
    return needs_approval(policy.gate, asked, entry.amount)


def _occupy(change: Callable[[Sequence[Demand], Sequence[Window]], None], entry: Entry) -> None:
    change(entry.occupied.demands, entry.occupied.windows)


def _step(
    match: Match, ask: RoutedReservation | None, tables: SlotTables, network: Network, policy: Policy, now: datetime
) -> Step:
    if ask is None:
        return Step(match)
    entry = match.entry
    stays = entry if entry and _stays(match, ask, policy, now) else None
    decision = ask.decide(tables, network, now + policy.horizon, without=(stays.occupied,) if stays else ())
    if isinstance(decision, Refused):
        if entry and not stays:  # the old one stays, and with it its room
            _occupy(tables.add, entry)
        return Step(match, ask, decision)
    if stays:
        _occupy(tables.remove, stays)
        _occupy(tables.add, _proposed(stays, ask, now))
        return Step(match, ask, waits=True)
    tables.add(decision.demands, decision.windows)
    return Step(match, ask, waits=_waits(entry, ask, policy))


def _waits(entry: Entry | None, ask: RoutedReservation, policy: Policy) -> bool:
    """Whether a new entry, or one that is not committed yet, waits for approval once it is applied."""
    if entry is not None:
        return entry.state is State.AWAITING_APPROVAL
    amount = amount_of(ask.reservation, ask.paths, highest_bps(ask.demands))
    return needs_approval(policy.gate, amount, None)


def _proposed(entry: Entry, ask: RoutedReservation, now: datetime) -> Entry:
    return replace(entry, proposed=Proposal(ask.reservation, ask.paths, ask.demands, "", now))


def _entries_after(current: Sequence[Entry], steps: Iterable[Step], now: datetime) -> tuple[Entry, ...]:
    """The entries as the ledger would hold them. New ones take the numbers that come next."""
    entries = {entry.handle: entry for entry in current}
    number = max((entry.number for entry in current), default=0)
    for step in steps:
        entry = step.match.entry
        if step.refused:
            continue
        if step.act is Act.CANCEL and entry:
            entries[entry.handle] = replace(entry, state=State.CANCELLED)
        elif step.act is Act.CHANGE and entry and step.ask:
            ask = step.ask
            changed = replace(entry, reservation=ask.reservation, paths=ask.paths, demands=ask.demands, proposed=None)
            stays = step.waits and entry.state is State.COMMITTED
            entries[entry.handle] = _proposed(entry, ask, now) if stays else changed
        elif step.act is Act.CREATE and step.ask:
            number += 1
            planned = _planned(step, step.ask, number, now)
            entries[planned.handle] = planned
    return tuple(entries.values())


def _planned(step: Step, ask: RoutedReservation, number: int, now: datetime) -> Entry:
    return Entry(
        handle=f"planned-{number}",
        number=number,
        state=State.AWAITING_APPROVAL if step.waits else State.COMMITTED,
        version=1,
        reservation=ask.reservation,
        paths=ask.paths,
        demands=ask.demands,
        created_at=now,
        changed_at=now,
    )


def _touched_times(steps: Iterable[Step], now: datetime) -> set[datetime]:
    """When something that the plan touches starts, ends or changes its rate, from now on."""
    return {moment for reservation in _touched(steps) for slot in reservation.slots for moment in slot if moment > now}


def _touched(steps: Iterable[Step]) -> Iterator[Reservation]:
    for step in steps:
        if step.act is Act.NO_OP or step.refused or step.waits:
            continue
        if step.match.entry:
            yield step.match.entry.reservation
        if step.match.wanted:
            yield step.match.wanted


def _at_once(
    before: Sequence[Entry], after: Sequence[Entry], now: datetime, differences: Differences
) -> tuple[Boundary, ...]:
    """What would be pushed at once; nothing where the plan changes no slot that is open now."""
    changes = differences.between(active_at(before, now), now, active_at(after, now), now)
    return (Boundary(now, changes),) if changes else ()
