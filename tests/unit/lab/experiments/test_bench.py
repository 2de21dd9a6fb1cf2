"""What a bench does with reservations that are over, with routers and senders that were late, and with who follows
its reservation: with a lab that is made up."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slotcar_lab import traffic
from slotcar_lab.clocks import MachineClock
from slotcar_lab.control import Lab
from slotcar_lab.controller import Controller
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.bench import Bench, Slot, Udp
from slotcar_lab.virtual.guest_time import GuestTime


def bench_of(lab: object = None, controller: object = None) -> Bench:
    return Bench(cast(Lab, lab), Path("i"), Path("s"), lambda text: None, False, cast(Controller, controller))


def test_what_is_over_is_not_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MachineClock, "wait_until", lambda clock, at: None)
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
    ("lag", "late"),
    [
        ("r1 12\n", ""),
        ("r1 350\n", ""),
        ("r1 930\n", "r1 began slot 9.3 s late"),
        ("r1\n", "r1 began slot not at all"),
    ],
)
def test_a_router_that_began_late_ends_a_run(lag: str, late: str) -> None:
    ready = bench_of(lab=SimpleNamespace(check=lambda name, argv: lag))
    ready._concerned = ["r1"]
    slot = Slot("slot", time.time() - 20, time.time() - 1, 0)
    with pytest.raises(LabError, match=late) if late else contextlib.nullcontext():
        ready.watch([slot])


def test_a_sender_that_did_not_send_what_it_was_to_ends_a_run() -> None:
    samples = [traffic.Sample(float(n), 1.0, 900_000.0, 0, 0) for n in range(1, 6)]
    flow = cast(traffic.Flow, SimpleNamespace(source="a", port=5001, offered_bps=1_000_000, sent=lambda: samples))
    bench_of().demand_sent([flow], 0.0, 5.0, part=0.9)
    with pytest.raises(LabError, match=r"a sent 0\.90 of 1\.00 Mb/s to port 5001"):
        bench_of().demand_sent([flow], 0.0, 5.0)


def test_followers_are_asked_at_half_seconds_of_the_labs() -> None:
    ready, clock = bench_of(), Running(100.2)
    ready.clock = clock
    instants_s: list[float] = []
    with ready.following(lambda: instants_s.append(clock.now_s)):
        ready.wait_until(101.7)
    ready.wait_until(103.0)
    assert instants_s == [100.5, 101.0, 101.5, 101.7]
    assert clock.now_s == 103.0


class Running:
    """A clock of a guest's, which runs as it is let."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def now(self) -> float:
        return self.now_s

    def wait_until(self, at: float) -> None:
        self.now_s = max(self.now_s, at)


class Held:
    """A clock of a guest's, which stands still."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def now(self) -> float:
        return self.now_s

    def wait_until(self, at: float) -> None:
        raise AssertionError("nobody waits here")


def test_in_virtual_time_flows_that_are_asked_for_within_a_second_begin_at_one_instant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[dict[str, Any]] = []
    monkeypatch.setattr(traffic, "start_udp", lambda *_, **flow: started.append(flow))
    ready, clock = bench_of(), Held(100.0)
    ready.clock, ready.by = clock, cast(GuestTime, object())
    flow = Udp("a", "b", 5001, 1_000_000)
    for now_s in (100.0, 100.3, 100.9, 101.1):
        clock.now_s = now_s
        ready.udp(flow, 120.0)
    assert [one["begin"] for one in started] == [103, 103, 103, 104]
    assert [one["duration_s"] for one in started] == [17, 17, 17, 16]
    assert all(one["clock"] is clock for one in started)


def test_in_real_time_a_flow_begins_as_soon_as_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, Any]] = []
    monkeypatch.setattr(traffic, "start_udp", lambda *_, **flow: started.append(flow))
    ready = bench_of()
    ready.udp(Udp("a", "b", 5001, 1_000_000), time.time() + 20)
    assert started[0]["begin"] is None
    assert started[0]["duration_s"] <= 20
