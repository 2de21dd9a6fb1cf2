"""What a plan rests on and what it promised, against the ledger as it is when the plan is applied. Pure (ADR 33).

A plan holds while its own reservations are as it saw them, its set has no others, and the same comes of it: the state, the
path, the slots, who moves. What strangers reserve, change or cancel meanwhile does not concern it otherwise, and neither
does that something ended which it leaves alone or cancels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.book.batch import Labelled
from slotcar.book.model import OCCUPYING, Entry, State
from slotcar.planning.matching import SET_LABEL, compare
from slotcar.planning.plan import Plan
from slotcar.planning.routing import hops_of
from slotcar.planning.step import Action, PlanStep, seen_of
from slotcar.reservation.model import Reservation

Key = tuple[str, str]
#: How what stands for a handle begins; handles begin with `r-`.
MARK = "m-"


def is_over(step: PlanStep, entry: Entry | None, now: datetime) -> bool:
    """Whether nothing is left to be done or promised for a step, because its reservation has ended by itself since.

    Args:
        entry: the one that the step cancels.
    """
    if step.action is Action.NO_OP:
        return step.reservation is not None and step.reservation.end <= now
    if step.action is not Action.CANCEL or entry is None:
        return False
    return entry.state in (State.ENDED, State.TIMED_OUT) or (entry.state in OCCUPYING and not entry.is_live_at(now))


@dataclass(frozen=True, slots=True)
class Promises:
    """The promises of one plan, at `now`; see `slotcar.book.applying.Basis`."""

    plan: Plan
    now: datetime

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(step.key for step in self.plan.steps)

    @property
    def labelled(self) -> Labelled:
        return Labelled(SET_LABEL, self.plan.set_name, frozenset(self.plan.owners))

    def changed(self, live: Mapping[Key, Entry | None], of_set: Collection[Key]) -> Sequence[str]:
        named = {step.key for step in self.plan.steps}
        own = (self._change_of(step, live[step.key]) for step in self.plan.steps)
        new = (f"{'/'.join(key)} is of the set {self.plan.set_name} by now" for key in sorted({*of_set} - named))
        return [*filter(None, own), *new]

    def _change_of(self, step: PlanStep, entry: Entry | None) -> str | None:
        name = "/".join(step.key)
        if entry is not None and not entry.is_live_at(self.now):
            entry = None
        if step.handle is None:
            return None if entry is None else f"{name} is there by now ({entry.handle})"
        if entry is None or entry.handle != step.handle:
            return f"{name} is not {step.handle} any more"
        if step.action is Action.NO_OP:
            keys = [one.key for one in compare(entry.latest, step.reservation)] if step.reservation else []
            return f"{name} has another {', '.join(keys)} by now" if keys else None
        if seen_of(entry) != step.seen:
            return f"{name} has been changed: it is at version {entry.version}, and was at {step.expected_version}"
        return None

    def otherwise(self, entries: Mapping[Key, Entry], moved: Collection[str]) -> Sequence[str]:
        differences = [
            f"{'/'.join(step.key)} {words}"
            for step in self.plan.steps
            if step.reservation is not None and step.action in (Action.CREATE, Action.CHANGE)
            for words in self._otherwise(step, step.reservation, entries[step.key])
        ]
        if marks_of(moved) != marks_of(self.plan.moves):
            differences.append(
                f"to make room {_count(moved)} would move, and the plan moves {_count(self.plan.moves)}"
            )
        return differences

    def _otherwise(self, step: PlanStep, promised: Reservation, entry: Entry) -> Iterator[str]:
        waits = entry.state is State.AWAITING_APPROVAL or entry.proposed is not None
        if waits != step.waits:
            yield f"would {'' if waits else 'not '}wait for approval"
        paths = entry.proposed.paths if entry.proposed else entry.paths
        planned = hops_of(step.routed.paths) if step.routed else step.paths
        if planned is not None and hops_of(paths) != planned:
            yield f"would take the path {' > '.join(hop.device for hop in paths[0].hops)}"
        # A volume that may begin at once is placed by the moment of the apply: what was promised of it is its need.
        need = promised.need
        placed_by_now = need is not None and (need.start or self.now) <= self.now
        if not placed_by_now and entry.latest.slots != promised.slots:
            yield f"would have other rates, from {entry.latest.start:%Y-%m-%dT%H:%M:%SZ} on"


def _count(handles: Collection[str]) -> str:
    return (
        f"{len(handles)} deadline transfer{'' if len(handles) == 1 else 's'} ({', '.join(sorted(handles)) or 'none'})"
    )


def marks_of(moves: Iterable[str]) -> tuple[str, ...]:
    """What stands for the handles of transfers that move, where others' handles are not to be told: the same for the same
    handle, and from which it cannot be found. What is a mark already stays."""
    return tuple(sorted({one if one.startswith(MARK) else f"{MARK}{_digest(one)}" for one in moves}))


def _digest(handle: str) -> str:
    """Of the random part of a handle, 80 bits and more, so that trying all of them finds none."""
    return hashlib.sha256(handle.encode()).hexdigest()[:32]
