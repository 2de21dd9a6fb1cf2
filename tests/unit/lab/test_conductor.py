"""Who lets a guest's time run for controllers, and until when: not while one is at work, nor past its own next instant."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import psutil
import pytest

from slotcar_lab import controller as controllers
from slotcar_lab.agent.hold import TIME
from slotcar_lab.errors import LabError
from slotcar_lab.virtual import conductor, idle, serve
from slotcar_lab.virtual.conductor import Conductor, GuestHangs, NotAtRest
from slotcar_lab.virtual.guest_time import GuestTime
from slotcar_lab.virtual.idle import Idle, Turn, give_turn, idle_noted, read_idle, read_turn
from tests.support.patience import PATIENCE_S, wait_for

FIRST, SECOND = 4711, 4712


class Guest:
    """A clock that runs as it is let, and what happens when it has."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.grants: list[float] = []

    def now(self) -> float:
        return self.now_s

    def wait_until(self, at: float) -> None:
        self.grants.append(at)
        self.now_s = max(self.now_s, at)


class World:
    """Controllers whose loops have gone on at each look as `turns` say; the last goes on for ever. `worked_s`: how far what
    a controller does moves the guest's clock. An Idle's `looked` is how often it was looked before."""

    def __init__(self, folder: Path, turns: dict[int, list[Idle | None]], tick_s: float = 0.0) -> None:
        self.guest, self.turns = (
            Guest(),
            {pid: itertools.chain(some[:-1], itertools.repeat(some[-1])) for pid, some in turns.items()},
        )
        self.worked_s = 0.0
        self._folder = folder
        self.given: list[int] = []
        self.conductor = Conductor(self.guest, lambda: list(self.turns), folder, tick_s, self.look)

    def look(self) -> None:
        turn = read_turn(self._folder)
        for pid, some in self.turns.items():
            now = json.loads((self._folder / str(pid)).read_text()) if (self._folder / str(pid)).exists() else None
            if now and Idle(*now).wants and turn and turn.pid != pid:
                continue
            if now and Idle(*now).wants:
                self.given.append(pid)
                self.guest.now_s += self.worked_s
            self._write(pid, next(some))

    def _write(self, pid: int, now: Idle | None) -> None:
        file = self._folder / str(pid)
        file.unlink(missing_ok=True)
        if now is not None:
            file.write_text(json.dumps(now))


LOOKED = float("inf")


def until(at: float) -> Idle:
    return Idle(at, LOOKED)


WANTS = Idle(0.0, 0.0, wants=True)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor, "LOOK_S", 0.0)


def test_time_runs_to_the_next_instant_of_any_controller_and_no_further_than_is_asked(tmp_path: Path) -> None:
    world = World(tmp_path, {FIRST: [until(130.0), until(160.0)], SECOND: [until(145.0), until(145.0), until(170.0)]})
    world.conductor.wait_until(150.0)
    assert world.guest.grants == [130.0, 145.0, 150.0]


def test_time_is_held_while_one_is_at_work(tmp_path: Path) -> None:
    world = World(tmp_path, {FIRST: [until(130.0)], SECOND: [None, None, until(500.0)]})
    world.conductor.wait_until(110.0)
    assert next(world.turns[SECOND]) == until(500.0)
    assert world.guest.grants == [110.0]


def test_time_is_held_until_each_has_looked_whether_something_happened(tmp_path: Path) -> None:
    world = World(
        tmp_path, {FIRST: [until(130.0)], SECOND: [Idle(500.0), Idle(500.0, 1.0), until(120.0), until(500.0)]}
    )
    world.conductor.wait_until(125.0)
    assert world.guest.grants[0] == 120.0


def test_what_it_noted_before_time_ran_to_its_instant_counts_no_more(tmp_path: Path) -> None:
    world = World(tmp_path, {FIRST: [until(130.0), until(130.0), until(170.0)]})
    world.conductor.wait_until(140.0)
    assert world.guest.grants == [130.0, 140.0]


def test_those_that_have_ended_hold_no_time(tmp_path: Path) -> None:
    world = World(tmp_path, {})
    world.conductor.wait_until(140.0)
    assert world.guest.grants == [140.0]


def test_one_that_never_comes_to_rest_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor, "HANG_S", 0.0)
    with pytest.raises(NotAtRest, match=str(SECOND)):
        World(tmp_path, {FIRST: [until(130.0)], SECOND: [None]}).conductor.wait_until(110.0)


def test_a_guest_whose_clock_stands_still_is_at_fault_and_no_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conductor, "STILL_S", 0.0)
    with pytest.raises(GuestHangs):
        World(tmp_path, {FIRST: [None]}).conductor.wait_until(110.0)


def test_those_that_want_to_work_at_one_tick_do_so_one_after_the_other_in_their_order(tmp_path: Path) -> None:
    turns = {FIRST: [until(500.0), WANTS, None, until(500.0)], SECOND: [WANTS, WANTS, until(500.0)]}
    world = World(tmp_path, turns, tick_s=5.0)
    world.conductor.by_turns()
    world.conductor.wait_until(111.0)
    assert world.given == [SECOND, FIRST, SECOND]
    assert world.guest.grants == [115.0]
    assert read_turn(tmp_path) == Turn(idle.NOBODY, 115.0)


@pytest.mark.parametrize(("worked_s", "tick"), [(0.3, 105.0), (4.9, 105.0), (6.0, 110.0)])
def test_by_turns_time_runs_to_ticks_however_far_work_has_moved_it(
    tmp_path: Path, worked_s: float, tick: float
) -> None:
    world = World(tmp_path, {FIRST: [WANTS, until(102.5)]}, tick_s=5.0)
    world.worked_s = worked_s
    world.conductor.by_turns()
    world.conductor.wait_until(102.0)
    assert world.guest.grants == [tick]
    assert world.conductor.come == tick


def test_a_controller_notes_when_it_looked_for_as_long_as_it_has_nothing_to_do(tmp_path: Path) -> None:
    pid = os.getpid()
    assert read_idle(tmp_path, pid) is None
    with idle_noted(tmp_path, lambda: 100.0, 107.5) as naps:
        assert read_idle(tmp_path, pid) == Idle(107.5)
        assert next(naps) == idle.NAP_S
        assert read_idle(tmp_path, pid) == Idle(107.5), "this look is not over"
        next(naps)
        noted = read_idle(tmp_path, pid)
        assert noted is not None
        assert noted.looked > 0
    assert read_idle(tmp_path, pid) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("turn", [None, Turn(idle.NOBODY, 107.5)])
def test_its_instant_has_come_by_the_clock_or_when_the_turn_says_so(tmp_path: Path, turn: Turn | None) -> None:
    give_turn(tmp_path, turn)
    now = 107.5

    def last(naps: Iterator[float]) -> list[float]:
        return list(naps)

    naps = idle._naps(tmp_path, lambda: now, 107.5)
    assert last(naps) == [0.0], "it looks once more"
    give_turn(tmp_path, Turn(idle.NOBODY, 104.0))
    assert next(idle._naps(tmp_path, lambda: 110.0, 107.5)) == idle.NAP_S


def test_a_controller_waits_for_its_turn(tmp_path: Path) -> None:
    give_turn(tmp_path, Turn(FIRST, 100.0))
    done = threading.Event()

    def work() -> None:
        with idle_noted(tmp_path, lambda: 100.0, 107.5):
            pass
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    wait_for(lambda: (read_idle(tmp_path, os.getpid()) or Idle(0)).wants, "it to want its turn")
    assert not done.is_set()
    give_turn(tmp_path, Turn(os.getpid(), 100.0))
    thread.join(PATIENCE_S)
    assert done.is_set()
    assert read_idle(tmp_path, os.getpid()) is None


def test_a_controller_of_a_guest_counts_the_guests_seconds_and_tells_its_plays_nothing(tmp_path: Path) -> None:
    file = tmp_path / "time"
    file.write_bytes(TIME.pack(1_500_000_000))
    clocks = serve.clocks(file, tmp_path)
    assert clocks.monotonic() == 1.5
    assert clocks.offset() is None


def test_a_controller_that_does_not_start_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controllers, "HANG_S", 0.0)
    hanging = SimpleNamespace(environment=dict, serve=lambda port: ["sleep", "1000"])
    with pytest.raises(LabError, match="did not start"):
        controllers.start(tmp_path, tmp_path, by=cast(GuestTime, hanging))
    noted = json.loads((tmp_path / "demo" / "controller.json").read_text())
    assert not psutil.pid_exists(noted["pid"])


def test_what_is_due_hardly_after_a_tick_is_due_with_it(tmp_path: Path) -> None:
    world = World(tmp_path, {FIRST: [until(105.05), WANTS, until(500.0)]}, tick_s=5.0)
    world.conductor.by_turns()
    world.conductor.wait_until(110.0)
    assert world.given == [FIRST]
    assert world.guest.grants == [105.0, 110.0]
