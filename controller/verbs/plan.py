"""What applying files would do: each reservation's fate, and each device's change at each boundary. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from controller.admission import SlotTables
from controller.admission.model import Admitted, Refused
from controller.ledger.model import Entry, State
from controller.network.model import Network
from controller.render.model import Unrenderable
from controller.reservation.model import Reservation
from controller.verbs.asking import Ask, ask_for
from controller.verbs.configurations import Boundary, changes_between, configurations_at, transitions
from controller.verbs.errors import CannotExpress
from controller.verbs.matching import Act, Match

#: More boundaries than these are counted, not shown: a daily slot for a year has 730.
MAX_BOUNDARIES = 24


@dataclass(frozen=True, slots=True)
class Step:
    """One reservation's fate, and the numbers if there is no room for it."""

    match: Match
    ask: Ask | None = None
    refused: Refused | None = None

    @property
    def act(self) -> Act:
        return self.match.act


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it. `sequence` is the ledger's when the plan was made; None for a plan made without a ledger."""

    made_at: datetime
    sequence: int | None
    network_digest: str
    set_name: str
    steps: tuple[Step, ...]
    boundaries: tuple[Boundary, ...] = ()
    boundaries_left_out: int = 0
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
    horizon: datetime,
) -> Plan:
    """Decides every match against `tables`, as if what is cancelled and changed were gone already.

    `tables` is used up: it ends as it would after the apply.

    Raises:
        CannotExpress: at some boundary a platform cannot express what would be admitted.
    """
    for match in matches:
        if match.entry and match.act in (Act.CANCEL, Act.CHANGE):
            tables.remove(match.entry.demands, match.entry.reservation.windows)
    steps = tuple(_step(match, tables, network, horizon) for match in matches)
    after = _entries_after(current, steps, now)
    times = sorted(_touched_times(steps, now))
    try:
        shown = _boundaries(current, after, steps, network, now, times[:MAX_BOUNDARIES])
    except Unrenderable as error:
        raise CannotExpress(str(error)) from error
    return Plan(
        made_at=now,
        sequence=sequence,
        network_digest=network_digest(network),
        set_name=set_name,
        steps=steps,
        boundaries=shown,
        boundaries_left_out=max(0, len(times) - MAX_BOUNDARIES),
    )


def _step(match: Match, tables: SlotTables, network: Network, horizon: datetime) -> Step:
    if match.wanted is None or match.act is Act.NO_OP:
        return Step(match)
    ask = ask_for(match.wanted, network)
    decision = ask.decide(tables, network, horizon)
    if isinstance(decision, Admitted):
        tables.add(decision.demands, decision.windows)
        return Step(match, ask)
    if match.entry:  # the old one stays, and with it its room
        tables.add(match.entry.demands, match.entry.reservation.windows)
    return Step(match, ask, decision)


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
            entries[entry.handle] = replace(entry, reservation=ask.reservation, paths=ask.paths, demands=ask.demands)
        elif step.act is Act.CREATE and step.ask:
            number += 1
            planned = _planned(step.ask, number, now)
            entries[planned.handle] = planned
    return tuple(entries.values())


def _planned(ask: Ask, number: int, now: datetime) -> Entry:
    return Entry(
        handle=f"planned-{number}",
        number=number,
        state=State.COMMITTED,
        version=1,
        reservation=ask.reservation,
        paths=ask.paths,
        demands=ask.demands,
        created_at=now,
        changed_at=now,
    )


def _touched_times(steps: Iterable[Step], now: datetime) -> set[datetime]:
    """When something that the plan touches starts or ends, from now on."""
    return {
        moment
        for reservation in _touched(steps)
        for window in reservation.windows
        for moment in window
        if moment > now
    }


def _touched(steps: Iterable[Step]) -> Iterator[Reservation]:
    for step in steps:
        if step.act is Act.NO_OP or step.refused:
            continue
        if step.match.entry:
            yield step.match.entry.reservation
        if step.match.wanted:
            yield step.match.wanted


def _boundaries(
    before: Sequence[Entry],
    after: Sequence[Entry],
    steps: Sequence[Step],
    network: Network,
    now: datetime,
    times: Sequence[datetime],
) -> tuple[Boundary, ...]:
    """What would be pushed at once, then what at each boundary that the plan touches."""
    if not any(True for _ in _touched(steps)):
        return ()
    at_once = changes_between(configurations_at(before, network, now), configurations_at(after, network, now))
    first = (Boundary(now, at_once),) if at_once else ()
    return (*first, *transitions(after, network, times))
