"""One round: its script is played, the routers are watched, and in the end everything must be as if nothing had been."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from slotcar.book.model import State
from slotcar_lab.chaos.audit import Span, accounted, by_the_right_clock, seconds, unaccounted
from slotcar_lab.chaos.faces import EVERY_S, FaceWatch, judge_faces
from slotcar_lab.chaos.judge import Slot, judge, quiet_since, was_active
from slotcar_lab.chaos.script import Action
from slotcar_lab.chaos.stage import EDGES, NAMES, PLACED_S, Done, Stage
from slotcar_lab.chaos.watch import Watch
from slotcar_lab.errors import LabError
from slotcar_lab.snapshot import snapshot
from slotcar_lab.virtual.conductor import NotAtRest

#: After the last slot's end, so long until all devices must be equal to the ledger's function again.
QUIET_S = 240.0
#: What is in one of these states is on no router any more.
OVER = (State.CANCELLED, State.REJECTED, State.TIMED_OUT, State.ENDED)
Say = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    """`history` is what was done and what came of it; `findings` what was wrong, `events` the audit log of it.

    Of the round's `slots` so many were `active`: seen on every edge in their time, and so many were `ended_early`: by a
    controller whose clock was ahead. `answers` counts how often a face said of a slot that it was in place on a router.
    `restarts` are the routers that the round itself changed. `happened` counts, by kind, what came to something.
    """

    history: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    restarts: list[Span] = field(default_factory=list)
    changes: int = 0
    slots: int = 0
    active: int = 0
    ended_early: int = 0
    answers: int = 0
    happened: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        text = f"{self.changes} changes were seen, {self.active} of {self.slots} slots were active"
        text += f", {self.answers} answers said that a slot was in place"
        return f"{text}, {self.ended_early} were ended early by a wrong clock" if self.ended_early else text


def play(stage: Stage, actions: Sequence[Action], baseline: dict[str, str], say: Say, pace: float = 1.0) -> Outcome:
    """Plays a round to its end, whatever dies in it. `pace`: that of the actions."""
    names = {action.words["name"] for action in actions if action.kind == "create"}
    outcome = Outcome()
    first = _last_event(stage)
    for noted in (stage.findings, stage.processes.findings, stage.wrong_clocks):
        noted.clear()
    faces = FaceWatch(stage.ledger)
    with Watch(stage.lab, EDGES) as watch:
        try:
            _play(stage, actions, _Teller(outcome, say, stage.timing.begin_round(), pace), faces)
        except NotAtRest as error:
            outcome.findings.append(str(error))
            return outcome
        samples = watch.samples(stage.timing.now())
    outcome.changes = watch.changes
    outcome.findings += [*stage.findings, *stage.processes.findings]
    entries = [entry for entry in stage.ledger() if entry["reservation"]["name"] in names]
    slots = [replace(_slot(entry), pace=pace) for entry in entries]
    outcome.slots, outcome.active = len(slots), sum(was_active(slot, samples, EDGES) for slot in slots)
    outcome.ended_early = sum(_ended_early(entry, stage) for entry in entries)
    outcome.findings += judge(samples, slots, EDGES)
    outcome.answers = len(faces.answers)
    outcome.findings += judge_faces(faces.answers, samples, EDGES, stage.wrong_clocks)
    events = by_the_right_clock(_events(stage, first), stage.wrong_clocks)
    outcome.findings += unaccounted(samples, [*accounted(events), *outcome.restarts])
    for router, text in baseline.items():
        if unnumbered(snapshot(stage.lab, router)) != text:
            outcome.findings.append(f"{router} is not what it was before the round")
    if outcome.findings:
        outcome.events = [_line(event) for event in events]
    return outcome


@dataclass(frozen=True, slots=True)
class _Teller:
    """Writes a round's history: what came of its actions, and at which instants, from its beginning (s since the epoch).

    `pace`: that of its actions.
    """

    outcome: Outcome
    say: Say
    began: float
    pace: float

    def tell(self, action: Action, done: Done, at: float) -> None:
        self.outcome.happened[action.kind] += done.happened
        self.outcome.history.append(f"{at - self.began:5.1f} s  {action.text}  -> {done.text}")
        self.say(f"  {self.outcome.history[-1]}")


def _play(stage: Stage, actions: Sequence[Action], teller: _Teller, faces: FaceWatch) -> None:
    """All that happens in a round, until everything is at rest again."""
    for action in actions:
        stage.agenda.put(teller.began + action.at_s, partial(_begin, stage, action, teller))
    while stage.busy:
        _pass_until(stage, stage.agenda.next_at or stage.timing.instant + EVERY_S, faces)
    for name in NAMES:
        stage.processes.start(name)
    if left := _wait_quiet(stage, faces):
        teller.outcome.findings.append(left)


def _pass_until(stage: Stage, until: float, faces: FaceWatch) -> None:
    """Does what the agenda has until an instant, and asks the faces meanwhile."""
    timing = stage.timing
    while True:
        stage.do_due()
        if timing.instant >= until:
            return
        timing.wait_until(min(until, timing.instant + EVERY_S, stage.agenda.next_at or until))
        faces.look(timing.now())


def _begin(stage: Stage, action: Action, teller: _Teller) -> None:
    """Does an action, or has it wait for the push that it is to strike."""
    if "task" not in action.words:
        _act(stage, action, teller)
        return
    nothing = Done("no push came", happened=False)
    stage.place(
        int(action.words["task"]),
        partial(_act, stage, action, teller),
        lambda: teller.tell(action, nothing, stage.timing.instant),
        PLACED_S * teller.pace,
    )


def _last_event(stage: Stage) -> int:
    with contextlib.suppress(LabError):
        return max((event["sequence"] for event in _events(stage, 0)), default=0)
    return 0


def _events(stage: Stage, after: int) -> list[dict[str, Any]]:
    all_events: list[dict[str, Any]] = []
    while events := stage.any().get(f"/v1/events?limit=1000&after={after}")["items"]:
        all_events += events
        after = events[-1]["sequence"]
    return all_events


def _line(event: Mapping[str, Any]) -> str:
    return f"{event['at']}  {event['kind']}  {event.get('device') or ''}  {event['details']}"


def _act(stage: Stage, action: Action, teller: _Teller) -> None:
    at, began = stage.timing.instant, stage.timing.now()
    try:
        done = stage.do(action.kind, action.words)
    except LabError as error:
        done = Done(str(error), happened=False)
    if action.kind == "restart-router":
        teller.outcome.restarts.append(Span(action.words["router"], began, stage.timing.now(), str(action)))
    teller.tell(action, done, at)


def _wait_quiet(stage: Stage, faces: FaceWatch) -> str:
    """Waits until nothing of the round is to come and all devices have what is wanted; says why where that does not come.

    The leader says so by readings from now on, and since the last slot's end: it does not know at once that a router
    restarted, or that it ended a slot by itself.
    """
    timing = stage.timing
    since_s = timing.now()
    deadline = timing.instant + QUIET_S
    last = ""
    while timing.instant < deadline:
        _pass_until(stage, timing.instant + EVERY_S, faces)
        try:
            quiet_s = quiet_since(list(map(_slot, stage.ledger())), timing.now(), since_s)
            if quiet_s is None:
                continue
            leader = stage.leader()
            last = str(stage.controllers[leader].get("/readyz")["checks"]) if leader else "nobody leads"
            if leader and stage.controllers[leader].settled(quiet_s):
                return ""
        except LabError as error:
            last = str(error)
    return f"it did not come to rest in {QUIET_S:g} s: {last}"


def _slot(entry: Mapping[str, Any]) -> Slot:
    reservation = entry["reservation"]
    window = reservation["windows"][0]
    return Slot(
        reservation["name"],
        int(reservation["destination"]["port"]),
        seconds(window["start"]),
        seconds(window["end"]),
        seconds(entry["changed_at"]) if State(entry["state"]) in OVER else None,
    )


def _ended_early(entry: Mapping[str, Any], stage: Stage) -> bool:
    """Whether a controller whose clock was ahead took it for over before its end."""
    if State(entry["state"]) is not State.ENDED:
        return False
    (changed,) = by_the_right_clock([{"at": entry["changed_at"]}], stage.wrong_clocks)
    return seconds(changed["at"]) < _slot(entry).end_s - 1


def unnumbered(text: str) -> str:
    """Without the numbers that the kernel gives actions by itself: these may be made anew in a round."""
    return re.sub(r"\bindex \d+", "index", text)
