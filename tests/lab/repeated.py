"""Figures of an experiment that must hold: measured again where a run shows nothing, and where a figure differs.

An emulated machine can stand still for longer than a router's queues hold: what is lost then is not its routers' doing, and
no figure of the run says so. What the routers do otherwise than promised, they do in every run. So a figure fails where it
differs twice, and both runs are in the failure's text with what the controller did in them.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from slotcar_lab.experiments.bench import Bench
from slotcar_lab.experiments.experiment import Experiment
from slotcar_lab.experiments.model import Result, Verdict
from slotcar_lab.lateness import last_steps

ATTEMPTS = 3
#: Of these events there are many, and they say nothing of the routers.
OF_RESERVATIONS = "reservation."
#: The newest of the others, which are a run's.
MOST_EVENTS = 60


def shown(ready: Bench, experiment: Experiment, *figures: str) -> Result:
    """A run in which these figures hold. Skipped where the machine was too busy each time: nothing is shown."""
    differing: list[str] = []
    explanation = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            ready.clear()
        began = time.time()
        result = experiment.run(ready)
        rows = [row for row in result.rows if row.figure in figures]
        assert {row.figure for row in rows} == set(figures)
        if any(row.verdict is Verdict.DIFFERS for row in rows):
            differing.append("\n".join([*map(str, rows), result.explanation, _account(ready, began)]))
            assert len(differing) < 2, "\n\n".join(differing)
        elif all(row.verdict is not Verdict.NOT_SHOWN for row in rows):
            return result
        explanation = result.explanation
    assert not differing, "\n\n".join(differing)
    pytest.skip(f"too busy to show it {ATTEMPTS} times: {explanation}")


def _account(ready: Bench, since: float) -> str:
    """What the controller and its routers did in a run that began at `since`, seconds since the epoch."""
    events = [
        f"{event['at'][11:23]} {event['kind']} {event['device'] or ''} {event['details']}"[:240]
        for event in ready.controller.get("/v1/events?limit=1000&newest=true")["items"]
        if not event["kind"].startswith(OF_RESERVATIONS)
    ]
    steps = {name: step.lag_cs for name, step in last_steps(ready.lab, ready.lab.topology.routers).items()}
    began = time.strftime("%H:%M:%S", time.gmtime(since))
    pressure = Path("/proc/pressure/cpu")
    return "\n".join(
        [
            f"the run began at {began}; steps were late by {steps} (1/100 s); clocks: {ready.lab.clock_offset()}",
            *(pressure.read_text().splitlines()[:1] if pressure.exists() else []),
            *reversed(events[:MOST_EVENTS]),
        ]
    )
