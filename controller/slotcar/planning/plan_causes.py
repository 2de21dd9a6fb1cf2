"""Which reservations a plan's boundary is due to, and what each does there. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from slotcar.base.problems import printable
from slotcar.base.timebase import iso
from slotcar.planning.plan import Plan
from slotcar.planning.step import Action, PlanStep
from slotcar.reservation.model import Reservation
from slotcar.views.explain import rates_words

#: Of the reservations of a boundary, so many are named.
CAUSES_SHOWN = 6
#: Where no step of the plan begins, ends or changes.
OF_OTHERS = "reservations that the plan moves, or background reservations that get another rate"


class Cause(NamedTuple):
    """`sign` is `+` where a slot begins, `-` where it ends, `~` where it goes on otherwise; `what` says so in words."""

    sign: str
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.sign}{self.name} {self.what}"


def causes_of(plan: Plan) -> Mapping[datetime, list[Cause]]:
    """By instant, what of the plan's reservations begins, ends or changes there; `made_at` stands for the apply itself."""
    causes: dict[datetime, list[Cause]] = defaultdict(list)
    for step in plan.steps:
        if step.refusal or step.waits:
            continue
        for at, cause in _with_the_apply(step, plan.made_at):
            causes[at].append(cause)
        if step.reservation is not None and step.action is not Action.CANCEL:
            for at, cause in _of_slots("/".join(step.key), step.reservation):
                if at > plan.made_at:
                    causes[at].append(cause)
    return causes


def boundary_words(at: datetime, plan: Plan, causes: Mapping[datetime, list[Cause]]) -> tuple[str, str]:
    """When a boundary is, and why: `2027-03-01T21:00:00Z`, `+hep/cms begins, 1 of 5; -hep/old ends`."""
    when = "once, with the apply" if at == plan.made_at else iso(at)
    named = causes.get(at, [])
    if not named:
        return when, OF_OTHERS
    more = len(named) - CAUSES_SHOWN
    words = [*map(str, named[:CAUSES_SHOWN]), *([f"and {more} more"] if more > 0 else [])]
    return when, printable("; ".join(words))


def _with_the_apply(step: PlanStep, now: datetime) -> Iterator[tuple[datetime, Cause]]:
    """What the apply itself does to a slot that is open then."""
    name, before = "/".join(step.key), step.before
    was_open, is_open = (one is not None and _is_open(one, now) for one in (before, step.reservation))
    if step.action is Action.CANCEL and was_open:
        yield now, Cause("-", name, "is cancelled")
    elif step.action is Action.CREATE and is_open:
        yield now, Cause("+", name, "begins")
    elif step.action is Action.CHANGE and (was_open or is_open):
        yield now, Cause("~", name, "is changed")


def _is_open(reservation: Reservation, at: datetime) -> bool:
    return any(slot.contains(at) for slot in reservation.slots)


def _of_slots(name: str, reservation: Reservation) -> Iterator[tuple[datetime, Cause]]:
    windows = reservation.windows
    for number, window in enumerate(windows, 1):
        of = f", {number} of {len(windows)}" if len(windows) > 1 else ""
        yield window.start, Cause("+", name, f"begins{of}")
        yield window.end, Cause("-", name, f"ends{of}")
    for before, after in pairwise(reservation.slots):
        if before.end == after.start and before.rates != after.rates:
            yield after.start, Cause("~", name, f"goes from {rates_words(before)} to {rates_words(after)}")
