"""One round: its script is played, the routers are watched, and in the end everything must be as if nothing had been."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.chaos.audit import Span, accounted, seconds, unaccounted
from lab.chaos.judge import Slot, judge, was_active
from lab.chaos.script import Action
from lab.chaos.stage import EDGES, Stage
from lab.chaos.watch import Watch
from lab.errors import LabError
from lab.snapshot import snapshot

#: After the last slot's end, so long until all devices must be equal to the ledger's function again.
QUIET_S = 240.0
Say = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    """`history` is what was done and what came of it; `findings` what was wrong, `events` the audit log of it.

    Of the round's `slots` so many were `active`: seen on every edge in their time. `restarts` are the routers that the
    round itself changed.
    """

    history: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    restarts: list[Span] = field(default_factory=list)
    changes: int = 0
    slots: int = 0
    active: int = 0

    def __str__(self) -> str:
        return f"{self.changes} changes were seen, {self.active} of {self.slots} slots were active"


def play(stage: Stage, actions: Sequence[Action], baseline: dict[str, str], say: Say) -> Outcome:
    """Plays a round to its end, whatever dies in it."""
    names = {action.words["name"] for action in actions if action.kind == "create"}
    outcome = Outcome()
    first = _last_event(stage)
    with Watch(stage.lab, EDGES) as watch:
        began = time.monotonic()
        for action in actions:
            time.sleep(max(0.0, began + action.at_s - time.monotonic()))
            _act(stage, action, outcome, say)
        for name in ("a", "b"):
            stage.start(name)
        left = _wait_quiet(stage)
        samples = watch.samples(time.time())
    outcome.changes = watch.changes
    if left:
        outcome.findings.append(left)
    slots = [slot for slot in _slots(stage) if slot.name in names]
    outcome.slots, outcome.active = len(slots), sum(was_active(slot, samples, EDGES) for slot in slots)
    outcome.findings += judge(samples, slots, EDGES)
    outcome.findings += unaccounted(samples, [*accounted(_events(stage, first)), *outcome.restarts])
    for router, text in baseline.items():
        if unnumbered(snapshot(stage.lab, router)) != text:
            outcome.findings.append(f"{router} is not what it was before the round")
    if outcome.findings:
        outcome.events = [_told(event) for event in _events(stage, first)]
    return outcome


def _last_event(stage: Stage) -> int:
    with contextlib.suppress(LabError):
        return max((event["sequence"] for event in _events(stage, 0)), default=0)
    return 0


def _events(stage: Stage, after: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while events := stage.any().get(f"/v1/events?limit=1000&after={after}")["items"]:
        found += events
        after = events[-1]["sequence"]
    return found


def _told(event: dict[str, Any]) -> str:
    return f"{event['at']}  {event['kind']}  {event.get('device') or ''}  {event['details']}"


def _act(stage: Stage, action: Action, outcome: Outcome, say: Say) -> None:
    began = time.time()
    try:
        came = stage.do(action.kind, action.words)
    except LabError as error:
        came = str(error)
    if action.kind == "restart-router":
        outcome.restarts.append(Span(action.words["router"], began, time.time(), str(action)))
    outcome.history.append(f"{action}  -> {came}")
    say(f"  {outcome.history[-1]}")


def _wait_quiet(stage: Stage) -> str:
    """Waits until nothing of the round is to come and the leader says that all devices have what is wanted."""
    deadline = time.monotonic() + QUIET_S
    last = ""
    while time.monotonic() < deadline:
        time.sleep(1.0)
        try:
            now = time.time()
            if any(slot.end_s > now and slot.cancelled_s is None for slot in _slots(stage)):
                continue
            leader = stage.leader()
            last = str(stage.controllers[leader].get("/readyz")["checks"]) if leader else "nobody leads"
            if leader and stage.controllers[leader].settled():
                return ""
        except LabError as error:
            last = str(error)
    return f"it did not come to rest in {QUIET_S:g} s: {last}"


def _slots(stage: Stage) -> list[Slot]:
    found = []
    for entry in stage.ledger():
        reservation = entry["reservation"]
        window = reservation["windows"][0]
        gone = entry["state"] in ("cancelled", "refused", "expired")
        found.append(
            Slot(
                reservation["name"],
                int(reservation["destination"]["port"]),
                seconds(window["start"]),
                seconds(window["end"]),
                seconds(entry["changed_at"]) if gone else None,
            )
        )
    return found


def unnumbered(text: str) -> str:
    """Without the numbers that the kernel gives actions by itself: these may be made anew in a round."""
    return re.sub(r"\bindex \d+", "index", text)
