"""What chaos breaks on the controllers' machine is broken indeed, and put right again. Needs no router."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from slotcar.store import embedded
from slotcar_lab import requirements
from slotcar_lab.chaos.controllers import OF_A_RUN, processes_of
from slotcar_lab.chaos.faults import Clock, set_read_only, small_disk, wait_disconnected
from slotcar_lab.wall_clock import compile_clock
from tests.support.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module", autouse=True)
def _packages() -> None:
    requirements.ensure_for("chaos", lambda _: None)


#: Answers each line with how many seconds further the wall clock went than the monotonic clock since the one before, and
#: whether a process of its own and its own calendar have that wall clock too.
WATCHED = """
import datetime, subprocess, sys, time
def ahead():
    while True:  # until nothing came between the readings of both clocks
        before_s, now_s, after_s = time.monotonic(), time.time(), time.monotonic()
        if after_s - before_s < 0.1:
            return now_s - after_s
last_s = ahead()
for line in sys.stdin:
    before_s = time.time()
    child_s = float(subprocess.run(["date", "+%s.%N"], capture_output=True, text=True).stdout)
    by_datetime_s = datetime.datetime.now(datetime.UTC).timestamp()
    ahead_s = ahead()
    print(round(ahead_s - last_s), before_s <= child_s <= by_datetime_s, flush=True)
    last_s = ahead_s
"""


def test_a_clock_that_is_set_jumps_for_its_processes_and_for_nobody_else(tmp_path: Path) -> None:
    clock = Clock(compile_clock(tmp_path), tmp_path / "clock")
    with subprocess.Popen(
        [sys.executable, "-c", WATCHED], env=os.environ | clock.environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as watched:  # fmt: skip
        assert watched.stdin is not None
        assert watched.stdout is not None

        def look() -> str:
            watched.stdin.write("\n")
            watched.stdin.flush()
            return watched.stdout.readline().strip()

        before = time.time()
        look()
        clock.set(3600)
        assert look() == "3600 True"
        clock.set(-3600)
        assert look() == "-7200 True"
        clock.set(0)
        assert look() == "3600 True"
        assert abs(time.time() - before) < 3600
        watched.stdin.close()


def test_a_sleep_is_as_long_as_it_was_where_the_clock_is_wrong(tmp_path: Path) -> None:
    clock = Clock(compile_clock(tmp_path), tmp_path / "clock")
    code = """
import multiprocessing, threading, time
lock = multiprocessing.Lock()
lock.acquire()
waits = [lambda: time.sleep(0.2), lambda: threading.Event().wait(0.2), lambda: lock.acquire(timeout=0.2)]
began = time.monotonic()
for wait in waits:
    wait()
print(round(time.monotonic() - began, 1) >= 0.6)
"""
    for ahead_s in (3600, -3600):
        clock.set(ahead_s)
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | clock.environment(),
            capture_output=True, text=True, timeout=PATIENCE_S, check=True,
        )  # fmt: skip
        assert done.stdout == "True\n"


def test_a_full_disk_takes_nothing_more_until_it_is_freed(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_mib=8) as disk:
        (disk.folder / "before").write_text("kept")
        assert disk.fill() > 7 * 2**20
        assert disk.free_bytes == 0
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            (disk.folder / "more").write_bytes(bytes(10_000))
        assert (disk.folder / "before").read_text() == "kept"
        disk.free()
        (disk.folder / "more").write_bytes(bytes(10_000))
    assert not (tmp_path / "disk" / "before").exists()


WRITER = """
import contextlib, pathlib, sys
while True:
    with contextlib.suppress(OSError):
        pathlib.Path(sys.argv[1]).write_bytes(bytes(40_000))
"""


def test_a_disk_that_others_write_to_is_filled_all_the_same(tmp_path: Path) -> None:
    other = tmp_path / "disk" / "other"
    with (
        small_disk(tmp_path / "disk", size_mib=64) as disk,
        # Takes and gives back some blocks all the time, as a database does.
        subprocess.Popen([sys.executable, "-c", WRITER, str(other)]) as writer,
    ):
        wait_for(other.exists, "the file of the other process")
        taken_bytes = [(disk.fill(), disk.free())[0] for _ in range(12)]
        writer.kill()
    assert min(taken_bytes) > 62 * 2**20


def test_a_read_only_database_refuses_changes_in_sessions_that_are_open_until_it_is_told_to_take_them(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "postgres"
    with _stopped(data_dir), psycopg.connect(embedded.start(data_dir), autocommit=True) as open_before:
        open_before.execute("CREATE TABLE one (number int)")
        set_read_only(data_dir, read_only=True)
        wait_for(lambda: _setting(open_before) == "on", "the database to be read-only")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            open_before.execute("INSERT INTO one VALUES (1)")
        set_read_only(data_dir, read_only=False)
        wait_for(lambda: _setting(open_before) == "off", "the database to take writes again")
        open_before.execute("INSERT INTO one VALUES (1)")


def test_a_program_that_died_is_waited_for_until_the_database_has_noticed(tmp_path: Path) -> None:
    data_dir = tmp_path / "postgres"
    with _stopped(data_dir):
        address = embedded.start(data_dir)
        code = f"import psycopg, time; psycopg.connect({address!r}); print(flush=True); time.sleep(1000)"
        with subprocess.Popen(
            [sys.executable, "-c", code], env=os.environ | {"PGAPPNAME": "dies"}, stdout=subprocess.PIPE
        ) as program:
            assert program.stdout is not None
            program.stdout.readline()
            program.kill()
        wait_disconnected(data_dir, "dies")
        with psycopg.connect(address) as connection:
            assert connection.execute("SELECT FROM pg_stat_activity WHERE application_name = 'dies'").fetchall() == []


def test_what_a_run_of_a_controller_started_is_found_after_its_end() -> None:
    mark = f"test-{os.getpid()}"
    starts = """
import subprocess
print(subprocess.Popen(["sleep", "30"], start_new_session=True, stdout=subprocess.DEVNULL).pid)
"""
    done = subprocess.run(
        [sys.executable, "-c", starts], env=os.environ | {OF_A_RUN: mark}, stdout=subprocess.PIPE, check=True
    )
    (left,) = processes_of(mark)
    assert left.pid == int(done.stdout)
    left.kill()
    wait_for(lambda: processes_of(mark) == [], "the processes to end")


@contextlib.contextmanager
def _stopped(data_dir: Path) -> Iterator[None]:
    """Inside, a server may run in that folder; it is stopped in the end."""
    try:
        yield
    finally:
        embedded.stop(data_dir)


def _setting(connection: psycopg.Connection) -> str:
    row = connection.execute("SHOW default_transaction_read_only").fetchone()
    assert row is not None
    return str(row[0])
