"""The clock of a guest in virtual time, as programs of this machine read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slotcar_lab.agent.hold import TIME
from slotcar_lab.chaos.faults import Clock
from slotcar_lab.wall_clock import compile_clock, of_a_guest

AT_S = 4_102_444_800
READ = """
import json, multiprocessing, threading, time, datetime
lock = multiprocessing.Lock()
lock.acquire()
began = time.monotonic()
for wait in (time.sleep, threading.Event().wait, lambda s: lock.acquire(timeout=s)):
    wait(0.01)
waited = time.monotonic() - began >= 0.02
wall = [time.time(), time.time_ns() / 1e9, datetime.datetime.now(datetime.UTC).timestamp(), int(time.strftime("%s"))]
print(json.dumps({"waited": waited, "wall": wall}))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_clock(tmp_path_factory.mktemp("clock"))


def read(environment: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", READ], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_every_process_reads_what_the_guest_tells_and_waits_as_long_as_ever(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "time"
    file.write_bytes(TIME.pack(AT_S * 10**9 + 500_000_000))
    answer = read(of_a_guest(library, file))
    assert answer["waited"]
    assert answer["wall"] == pytest.approx([AT_S + 0.5] * 3 + [AT_S], abs=1e-3)


@pytest.mark.parametrize("ahead_s", [-3600, 3600])
def test_a_clock_that_is_set_is_the_guests_and_so_many_seconds(library: Path, tmp_path: Path, ahead_s: int) -> None:
    file = tmp_path / "time"
    file.write_bytes(TIME.pack(AT_S * 10**9))
    clock = Clock(library, tmp_path / "clock")
    clock.set(ahead_s)
    answer = read(of_a_guest(library, file) | clock.environment())
    assert answer["wall"] == pytest.approx([AT_S + ahead_s] * 4, abs=1e-3)


def test_before_a_guest_tells_its_time_it_is_this_machines(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "time"
    file.write_bytes(bytes(TIME.size))
    wall = read(of_a_guest(library, file))["wall"]
    assert isinstance(wall, list)
    assert all(0 < one < AT_S for one in wall)
