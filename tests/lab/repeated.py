"""Figures of an experiment that must hold: measured again where a run shows nothing, and explained where one differs."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar.rollout.linux.scripts import REMOTE
from slotcar_lab.experiments.bench import Bench
from slotcar_lab.experiments.experiment import Experiment
from slotcar_lab.experiments.model import Result, Verdict
from slotcar_lab.lateness import MACHINE

ATTEMPTS = 3
#: Of these events there are many, and they say nothing of the routers.
OF_RESERVATIONS = "reservation."
#: The newest of the others, which are a run's.
MOST_EVENTS = 60
#: When the routers started by the controller's account, when their steps were due, how late the last one was (all 1/100 s),
#: and when it was taken, by the lab's clock.
PROGRAMS = f"cd {REMOTE} && grep -s '' */rev-*/boot */rev-*/agenda */lag; stat -c '%n %.6Y' */lag 2>/dev/null; true"


def shown(ready: Bench, experiment: Experiment, *figures: str) -> Result:
    """A run in which these figures hold: where the machine was too busy to show them, another one is made.

    A machine that is too busy each time has shown nothing, neither that they hold nor that they don't: the case is skipped
    with what it lacked.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            ready.clear()
        began = time.time()
        result = experiment.run(ready)
        verdicts = {row.figure: row.verdict for row in result.rows if row.figure in figures}
        assert verdicts.keys() == set(figures)
        if Verdict.NOT_SHOWN not in verdicts.values():
            break
    else:
        pytest.skip(f"too busy to show it {ATTEMPTS} times: {result.explanation}")
    assert set(verdicts.values()) <= {Verdict.AS_THE_PAPER, Verdict.AS_PROMISED}, "\n".join(
        [*map(str, result.rows), result.explanation, _account(ready, began)]
    )
    return result


def _account(ready: Bench, since: float) -> str:
    """What the controller and its routers did in a run that began at `since`, seconds since the epoch; times are UTC."""
    events = [
        f"{event['at'][11:23]} {event['kind']} {event['device'] or ''} {event['details']}"[:240]
        for event in ready.controller.get("/v1/events?limit=1000&newest=true")["items"]
        if not event["kind"].startswith(OF_RESERVATIONS)
    ]
    pressure = Path("/proc/pressure/cpu")
    return "\n".join(
        [
            f"the run began at {_clock(since)}; the lab's clock: {ready.lab.clock_offset()}",
            *(pressure.read_text().splitlines()[:1] if pressure.exists() else []),
            ready.lab.check(MACHINE, ["sh", "-c", PROGRAMS]),
            *reversed(events[:MOST_EVENTS]),
        ]
    )


def _clock(at: float) -> str:
    """The time of day of an instant, seconds since the epoch, as events have it."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S.%f")[:-3]
