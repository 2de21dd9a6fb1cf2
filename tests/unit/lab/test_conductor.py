"""Who lets a guest's time run for a controller, and until when: not while it is at work, nor past its own next instant."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import psutil
import pytest

from slotcar_lab import controller as controllers
from slotcar_lab.agent.hold import TIME
from slotcar_lab.errors import LabError
from slotcar_lab.virtual import conductor, idle, serve
from slotcar_lab.virtual.conductor import Conductor
from slotcar_lab.virtual.guest_time import GuestTime

PID = 4711


class Guest:
    """A clock that runs as it is let, and what happens when it has."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.grants: list[float] = []

    def now(self) -> float:
        return self.now_s

    def wait_until(self, at: float) -> None:
        self.grants.append(at)
        self.now_s = at


class World:
    """A controller whose loop has gone on at each look as `turns` say: until when it has nothing to do, None where it is at
    work."""

    def __init__(self, folder: Path, turns: list[idle.Idle | None]) -> None:
        self.guest, self.turns, self.newest = Guest(), turns, 7
        self.asked = 0
        self._folder = folder
        self.conductor = Conductor(self.guest, self.look, folder)  # type: ignore[arg-type]

    pid = PID

    def look(self) -> World:
        turn = self.turns.pop(0) if self.turns else None
        file = self._folder / str(PID)
        file.unlink(missing_ok=True)
        if turn is not None:
            file.write_text(f"[{turn.last_event}, {turn.until}]")
        return self

    def newest_event(self) -> int:
        self.asked += 1
        return self.newest

    def get(self, _: str) -> object:
        return {"leading": True}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor.time, "sleep", lambda _: None)


def test_time_runs_to_the_controllers_next_instant_and_no_further_than_is_asked(tmp_path: Path) -> None:
    world = World(tmp_path, [idle.Idle(7, 130.0), idle.Idle(7, 160.0)])
    world.conductor.wait_until(150.0)
    assert world.guest.grants == [130.0, 150.0]


def test_time_is_held_while_the_controller_is_at_work(tmp_path: Path) -> None:
    world = World(tmp_path, [None, None, idle.Idle(7, 130.0)])
    world.conductor.wait_until(110.0)
    assert world.turns == []
    assert world.asked == 1, "who is at work is not given more of it"
    assert world.guest.grants == [110.0]


def test_time_is_held_until_it_has_seen_the_newest_event(tmp_path: Path) -> None:
    world = World(tmp_path, [idle.Idle(6, 500.0), idle.Idle(7, 130.0)])
    world.conductor.wait_until(120.0)
    assert world.turns == []
    assert world.guest.grants == [120.0]


def test_what_it_said_before_time_ran_to_its_instant_counts_no_more(tmp_path: Path) -> None:
    world = World(tmp_path, [idle.Idle(7, 130.0), idle.Idle(7, 130.0), idle.Idle(7, 170.0)])
    world.conductor.wait_until(140.0)
    assert world.turns == []
    assert world.guest.grants == [130.0, 140.0]


def test_a_controller_that_never_comes_to_rest_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor, "PATIENCE_S", 0.0)
    with pytest.raises(LabError, match="does not come to rest"):
        World(tmp_path, []).conductor.wait_until(110.0)


def test_a_controller_says_so_for_as_long_as_it_has_nothing_to_do(tmp_path: Path) -> None:
    until = datetime(2027, 1, 1, tzinfo=UTC)
    assert idle.read_idle(tmp_path, os.getpid()) is None
    with idle.idle_noted(tmp_path, 5, until):
        assert idle.read_idle(tmp_path, os.getpid()) == (5, until.timestamp())
    assert idle.read_idle(tmp_path, os.getpid()) is None
    assert list(tmp_path.iterdir()) == []


def test_a_controller_of_a_guest_counts_the_guests_seconds_and_tells_its_plays_nothing(tmp_path: Path) -> None:
    file = tmp_path / "time"
    file.write_bytes(TIME.pack(1_500_000_000))
    clocks = serve.clocks(file, tmp_path)
    assert clocks.monotonic() == 1.5
    assert clocks.offset() is None


def test_a_controller_that_does_not_start_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controllers, "START_TIMEOUT_S", 0.0)
    hanging = SimpleNamespace(environment=dict, serve=lambda port: ["sleep", "1000"])
    with pytest.raises(LabError, match="did not start"):
        controllers.start(tmp_path, tmp_path, by=cast(GuestTime, hanging))
    noted = json.loads((tmp_path / "demo" / "controller.json").read_text())
    assert not psutil.pid_exists(noted["pid"])
