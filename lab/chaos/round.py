"""One round: its script is played, the routers are watched, and in the end everything must be as if nothing had been."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lab.chaos.judge import Sample, Slot, judge
from lab.chaos.script import FIRST_PORT, Action
from lab.chaos.stage import EDGES, Stage
from lab.errors import LabError
from lab.snapshot import snapshot

SAMPLE_S = 0.5
#: After the last slot's end, so long until all devices must be equal to the ledger's function again.
QUIET_S = 240.0
Say = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    """`history` is what was done and what came of it; `findings` what was wrong, `events` the audit log of it."""

    history: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    samples: int = 0


def play(stage: Stage, actions: Sequence[Action], baseline: dict[str, str], say: Say) -> Outcome:
    """Plays a round to its end, whatever dies in it."""
    names = {action.words["name"] for action in actions if action.kind == "create"}
    outcome, samples, over = Outcome(), list[Sample](), threading.Event()
    first = _last_event(stage)
    watcher = threading.Thread(target=_watch, args=(stage, samples, over), daemon=True)
    watcher.start()
    began = time.monotonic()
    for action in actions:
        time.sleep(max(0.0, began + action.at_s - time.monotonic()))
        _act(stage, action, outcome, say)
    for name in ("a", "b"):
        stage.start(name)
    left = _wait_quiet(stage)
    over.set()
    watcher.join()
    outcome.samples = len(samples)
    if left:
        outcome.findings.append(left)
    slots = [slot for slot in _slots(stage) if slot.name in names]
    outcome.findings += judge(samples, slots, EDGES)
    outcome.findings += _unexplained(stage, samples)
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
    try:
        came = stage.do(action.kind, action.words)
    except LabError as error:
        came = str(error)
    outcome.history.append(f"{action}  -> {came}")
    say(f"  {outcome.history[-1]}")


def _watch(stage: Stage, samples: list[Sample], over: threading.Event) -> None:
    while not over.wait(SAMPLE_S):
        for router in EDGES:
            with contextlib.suppress(LabError):
                samples.append(stage.sample(router))


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
                _seconds(window["start"]),
                _seconds(window["end"]),
                _seconds(entry["changed_at"]) if gone else None,
            )
        )
    return found


def _unexplained(stage: Stage, samples: list[Sample]) -> list[str]:
    """Every router that was seen to carry something must be in the audit log with a push or a boundary."""
    told: set[str] = set()
    for event in _events(stage, 0):
        if event["kind"].startswith(("push.verified", "boundary.active", "push.started")):
            told |= {str(event.get("device"))} | set(event["details"].get("devices", ()))
    seen = {sample.router for sample in samples if any(port >= FIRST_PORT for port in sample.ports)}
    return [f"nothing in the audit log says why {router} changed" for router in sorted(seen - told)]


def unnumbered(text: str) -> str:
    """Without the numbers that the kernel gives actions by itself: these may be made anew in a round."""
    return re.sub(r"\bindex \d+", "index", text)


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()
