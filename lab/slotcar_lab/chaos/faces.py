"""What the faces said of slots while a round was played, against what the routers had: never in place where it was not."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slotcar_lab.chaos.audit import CLOCKS_S, WrongClock, seconds
from slotcar_lab.chaos.judge import Sample
from slotcar_lab.errors import LabError

#: So often the API is asked for all reservations; in virtual time at each instant at which time is held.
EVERY_S = 1.0
IN_PLACE = "in-place"


@dataclass(frozen=True, slots=True)
class Answer:
    """At `at_s` (s since the epoch) a face said that a slot was in place on a router, read back at `verified_s`."""

    at_s: float
    name: str
    port: int
    router: str
    verified_s: float


def answers_of(entries: Iterable[Mapping[str, Any]], at_s: float) -> list[Answer]:
    """What a page of reservations says is in place, by router."""
    answers = []
    for entry in entries:
        reservation = entry["reservation"]
        for one in (entry["slot"] or {}).get("devices", ()):
            if one["state"] == IN_PLACE:
                port = int(reservation["destination"]["port"])
                answers.append(Answer(at_s, reservation["name"], port, one["device"], seconds(one["since"])))
    return answers


def judge_faces(
    answers: Sequence[Answer], samples: Sequence[Sample], routers: Sequence[str], wrong: Sequence[WrongClock] = ()
) -> list[str]:
    """The answers that were not true of a router that was watched, each slot and router once; in words.

    An answer is of the instant at which the router was read back: the router must have had the slot then. What it lost
    since, nobody has read.
    """
    by_router = {router: [one for one in samples if one.router == router] for router in routers}
    findings: dict[tuple[str, str], str] = {}
    for answer in answers:
        changes = by_router.get(answer.router)
        if not changes or (answer.name, answer.router) in findings:
            continue
        instants = [answer.verified_s, *(answer.verified_s - clock.ahead_s for clock in wrong)]
        if not any(_carried(changes, answer.port, instant) for instant in instants):
            late_s = answer.at_s - answer.verified_s
            findings[answer.name, answer.router] = (
                f"{answer.name} was said to be in place on {answer.router}, read back {late_s:.1f} s before, and was not"
            )
    return list(findings.values())


def _carried(changes: Sequence[Sample], port: int, at_s: float) -> bool:
    """Whether a router had the port at that instant, as near as two clocks agree."""
    times = [one.at_s for one in changes]
    first, last = bisect_right(times, at_s - CLOCKS_S) - 1, bisect_right(times, at_s + CLOCKS_S)
    return any(port in one.ports for one in changes[max(0, first) : last])


@dataclass(slots=True)
class FaceWatch:
    """What the faces said so far; a controller that does not answer says nothing."""

    ask: Callable[[], Iterable[Mapping[str, Any]]]
    answers: list[Answer] = field(default_factory=list)

    def look(self, at_s: float) -> None:
        """Asks for all reservations."""
        with contextlib.suppress(LabError):
            self.answers += answers_of(self.ask(), at_s)
