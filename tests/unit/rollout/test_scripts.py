"""The scripts that a Linux router runs, run by a real shell, with a `tc` that writes down what it is given."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from controller.rollout import staging
from controller.rollout.guard import GRACE
from controller.rollout.model import NO_GUARD, DeviceRevision
from controller.timeline import Active
from tests.support.controllers import wait_for
from tests.support.requests import T0, at
from tests.unit.rollout.support import NETWORK, active, revision

Run = Callable[[str], str]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(staging, "REMOTE", str(tmp_path / "slotcar"))
    return Path(staging.remote_dir(NETWORK.devices["r1"]))


@pytest.fixture
def sh(tmp_path: Path, place: Path) -> Iterator[Run]:
    """Runs a script as a router would; what armed it is gone when it ends."""
    fake = tmp_path / "bin" / "tc"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nfor last; do :; done\nbasename "$last" >> {tmp_path}/ran\n')
    fake.chmod(0o755)
    environment = os.environ | {"PATH": f"{fake.parent}:{os.environ['PATH']}"}

    def run(script: str) -> str:
        done = subprocess.run(
            ["sh"], input=script, env=environment, capture_output=True, text=True, timeout=30, check=True
        )
        return done.stdout.strip()

    yield run
    if (place / "disarm.sh").exists():
        run(f"sh {place}/disarm.sh")


def part(*some: Active) -> DeviceRevision:
    return revision(T0, *some).devices["r1"]


def stage(sh: Run, one: DeviceRevision, ends_in_s: int = 3600) -> None:
    """Stages it so that its first slot ends in so many seconds."""
    first = one.guard.ends[0] if one.guard.ends else T0
    sh(staging.scripts(one, first + GRACE - timedelta(seconds=ends_in_s))["stage.sh"])


def armed(sh: Run) -> str:
    return sh(staging.guard_command(NETWORK.devices["r1"]))


def ran(place: Path) -> list[str]:
    file = place.parents[1] / "ran"
    return file.read_text().split() if file.exists() else []


def test_staging_changes_nothing_and_arms_nothing(sh: Run, place: Path) -> None:
    one = part(active(1, 10))
    stage(sh, one)
    assert ran(place) == []
    assert armed(sh) == NO_GUARD
    assert (place / "apply.txt").read_text().splitlines() == list(one.change.apply)
    assert (place / "undo.txt").read_text().splitlines() == list(one.change.undo)
    assert (place.stat().st_mode & 0o777) == 0o700


def test_activation_arms_the_guard_and_then_changes(sh: Run, place: Path) -> None:
    one = part(active(1, 10))
    stage(sh, one)
    sh(f"sh {place}/activate.sh")
    assert armed(sh) == one.guard.id
    assert ran(place) == ["apply.txt"]


def test_a_guard_whose_controller_is_gone_ends_the_slots_in_their_order(sh: Run, place: Path) -> None:
    one = part(active(1, 10), active(2, 20))
    short = replace(one, guard=replace(one.guard, ends=(at(10), at(10) + timedelta(seconds=1))))
    stage(sh, short, ends_in_s=1)
    sh(f"sh {place}/activate.sh")
    guard = f"guard-{short.guard.id}"
    wait_for(lambda: len(ran(place)) == 3, "both ends")
    assert ran(place) == ["apply.txt", f"{guard}-end-1.txt", f"{guard}-end-2.txt"]
    wait_for(lambda: armed(sh) == NO_GUARD, "the guard's own end")


def test_arming_the_same_guard_again_lets_its_time_run_on(sh: Run, place: Path) -> None:
    stage(sh, part(active(1, 10)))
    sh(f"sh {place}/arm.sh")
    first = (place / "guard.pid").read_text()
    stage(sh, part(active(1, 10)))
    sh(f"sh {place}/arm.sh")
    assert (place / "guard.pid").read_text() == first


def test_another_guard_takes_the_place_of_the_first(sh: Run, place: Path) -> None:
    old, new = part(active(1, 10)), part(active(1, 10), active(2, 20))
    stage(sh, old)
    sh(f"sh {place}/arm.sh")
    first = (place / "guard.pid").read_text().strip()
    stage(sh, new)
    assert armed(sh) == old.guard.id, "staging leaves the armed one alone"
    sh(f"sh {place}/arm.sh")
    assert armed(sh) == new.guard.id
    wait_for(lambda: sh(f"kill -0 {first} 2>/dev/null && echo alive || true") == "", "the first one's end")
    assert {file.name.split("-")[1].split(".")[0] for file in place.glob("guard-*")} == {new.guard.id}


def test_disarming_ends_the_guard_and_what_it_started(sh: Run, place: Path) -> None:
    stage(sh, part(active(1, 10)))
    sh(f"sh {place}/arm.sh")
    pid = (place / "guard.pid").read_text().strip()
    sh(f"sh {place}/disarm.sh")
    assert armed(sh) == NO_GUARD
    wait_for(lambda: sh(f"pgrep -g {pid} || true") == "", "the guard's processes to be gone")


def test_where_nothing_is_open_any_more_arming_disarms(sh: Run, place: Path) -> None:
    stage(sh, part(active(1, 10)))
    sh(f"sh {place}/arm.sh")
    stage(sh, part())
    sh(f"sh {place}/arm.sh")
    assert armed(sh) == NO_GUARD
