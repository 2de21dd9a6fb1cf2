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


#: When the slot of the case below starts, seconds since the epoch by this machine's clock; the lab's is 2 s ahead.
START, AHEAD_US = 1_800_000_000, 2_000_000


@pytest.mark.parametrize(
    ("answer", "doubts"),
    [
        ("r1 12 1800000002.120000\n", []),
        ("r1 350 1800000005.500000\n", []),
        ("r1 930 1800000011.300000\n", ["r1 began slot 9.3 s late: the machine was too busy"]),
        ("r1\n", ["r1 began slot not at all: the machine was too busy"]),
        ("r1 12 1800000002.620000\n", []),  # half a second of arming it by a slow answer
        ("r1 12 1800000007.120000\n", ["r1 began slot when its clock and this machine's were 5.0 s apart"]),
        ("r1 12 1799999995.120000\n", ["r1 began slot when its clock and this machine's were 7.0 s apart"]),
        ("r1 12 1800000012.120000\n", []),  # it is another reservation's boundary
    ],
)
def test_a_router_that_did_not_begin_in_time_makes_a_run_doubtful(answer: str, doubts: list[str]) -> None:
    lab = SimpleNamespace(check=lambda name, argv: answer, clock_offset=lambda: SimpleNamespace(offset_us=AHEAD_US))
    ready = bench_of(lab=lab)
    ready._concerned, ready._boundaries = ["r1"], [START, START + 10.0]
    ready.watch([Slot("slot", START, time.time() - 1, 0)])
    assert ready.doubts == doubts
