"""A plan's steps in lines for people: the same on a terminal and in a merge request. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from slotcar.base.problems import printable
from slotcar.base.timebase import iso
from slotcar.planning.step import Action, PlanStep
from slotcar.reservation.model import Reservation
from slotcar.views.explain import difference_sentence, need_words, profile_lines, rate_words, refusal_sentences

SIGNS = {Action.CREATE: "+", Action.CHANGE: "~", Action.CANCEL: "-", Action.NO_OP: " "}


class What(StrEnum):
    STEP = "step"
    DETAIL = "detail"
    NOTE = "note"
    REFUSED = "refused"
    WOULD_FIT = "would fit"


class Line(NamedTuple):
    """A line without its indentation, in printable characters; what has not the whole meaning without the lines before
    is no `STEP` and no `REFUSED`.
    """

    what: What
    text: str


def changes_first(steps: Iterable[PlanStep]) -> tuple[list[PlanStep], list[PlanStep]]:
    """What a plan refuses and what it changes, in this order, and what stays as it is."""
    refused: list[PlanStep] = []
    changes: list[PlanStep] = []
    same: list[PlanStep] = []
    for step in steps:
        (refused if step.refusal else same if step.action is Action.NO_OP else changes).append(step)
    return [*refused, *changes], same


def unchanged_words(count: int) -> str:
    return f"  {count:,} unchanged, not listed: `slotcar plan --all` lists {'them' if count > 1 else 'it'}"


def step_lines(step: PlanStep, others: str | None = None) -> Iterator[Line]:
    """A reservation's outcome with its reasons; of a refusal, each shortage and what would fit. `others`: see
    `Refused.explain`.
    """
    owner, name = step.key
    reservation = step.reservation or step.before
    assert reservation is not None
    if step.refusal:
        for line in refusal_sentences(reservation, step.refusal, others):
            inner = line.startswith(" ")
            yield Line(What.WOULD_FIT if inner else What.REFUSED, printable(line.strip() if inner else f"! {line}"))
        return
    note = f"  ({step.note})" if step.note else ""
    yield Line(What.STEP, printable(f"{SIGNS[step.action]} {owner}/{name}  {summary(reservation)}{note}"))
    asks = step.action in (Action.CREATE, Action.CHANGE)
    for line in profile_lines(reservation) if asks else ():
        yield Line(What.DETAIL, line)
    for one in step.differences:
        yield Line(What.DETAIL, printable(difference_sentence(one.key, one.before, one.after)))
    for words in step.notes:
        yield Line(What.NOTE, printable(words))


def summary(reservation: Reservation) -> str:
    """One line that a person recognises a reservation by."""
    flow = (
        f"{reservation.service_class} {reservation.protocol.value}"
        f" {reservation.source} to {reservation.destination} ({reservation.direction.value})"
    )
    if reservation.receivers:
        flow += f" for {', '.join(reservation.receivers)}"
    if reservation.claim is not None:
        flow = ""
    if reservation.need is not None:
        return f"{need_words(reservation.need)}: {flow}"
    times = len(reservation.windows)
    first = reservation.windows[0]
    repeated = f", {times} times until {iso(reservation.end)}" if times > 1 else ""
    return f"{f'{rate_words(reservation)} {flow}'.strip()}, {iso(first.start)} to {iso(first.end)}{repeated}"
