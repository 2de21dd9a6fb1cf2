"""What a bench does with reservations that are over, and with routers that were late: with a lab that is made up."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.controller import Controller
from slotcar_lab.experiments import bench
from slotcar_lab.experiments.bench import Bench, Slot


def bench_of(lab: object = None, controller: object = None) -> Bench:
    return Bench(cast(Lab, lab), Path("i"), Path("s"), lambda text: None, False, cast(Controller, controller))


def test_what_is_over_is_not_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.time, "sleep", lambda seconds: None)
    now, commands = datetime.now(UTC), []

    def entry(handle: str, *ends_in_s: float) -> dict[str, Any]:
        windows = [{"end": (now + timedelta(seconds=one)).isoformat()} for one in ends_in_s]
        return {"handle": handle, "reservation": {"windows": windows}}

    items = [entry("over", -1), entry("nearly", 1), entry("open", 60), entry("again", -1, 60)]
    controller = SimpleNamespace(
        get=lambda path: {"items": items},
        slotcar=lambda *words: commands.append(words),
        wait_settled=lambda seconds: None,
    )
    bench_of(controller=controller).clear()
    assert commands == [("cancel", "open", "--yes"), ("cancel", "again", "--yes")]


@pytest.mark.parametrize(
    ("lag", "doubts"),
    [
        ("r1 12\n", []),
        ("r1 350\n", []),
        ("r1 930\n", ["r1 began slot 9.3 s late: the machine was too busy"]),
        ("r1\n", ["r1 began slot not at all: the machine was too busy"]),
    ],
)
def test_a_router_that_began_late_makes_a_run_doubtful(lag: str, doubts: list[str]) -> None:
    ready = bench_of(lab=SimpleNamespace(check=lambda name, argv: lag))
    ready._concerned = ["r1"]
    ready.watch([Slot("slot", time.time() - 20, time.time() - 1, 0)])
    assert ready.doubts == doubts
