"""Faults of the machine and of its clock, under a loop that leads: told, tried again, and over when the fault is."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.api.supervising import keep_running
from slotcar.base.timebase import Clocks
from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import Terms
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Requests
from slotcar.desk.reservations import cancel
from slotcar.reservation import from_mapping
from slotcar.rollout.check_requests import ask_check
from slotcar.rollout.ios.eem import fence_line
from slotcar.rollout.loop import ReconcileLoop
from slotcar.rollout.playbook import CannotRun
from slotcar.rollout.pusher import Pusher, Readings
from slotcar.store import Ledger
from slotcar.store.listening import Lease
from slotcar.wiring import loop_for
from slotcar_client.wire import verbs
from slotcar_lab.ios import Routers
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.patience import PATIENCE_S, wait_for

EDGE = "anl-7507-1"
OPERATOR = Caller("ops", Role.OPERATOR)
SLOT = {
    "name": "slot", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp",
    "service": "ip-premium", "rate": "1 Mbit/s", "duration": "10 min",
}  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CiscoWorld]:
    """GARNET with an event manager on one router, which a leader of a lost ledger has been at."""
    with Routers() as routers:
        folder = tmp_path_factory.mktemp("faults")
        world = CiscoWorld(routers, folder, ROOT / "inventories" / "garnet", platform="cisco-mqc", eem=[EDGE])
        assert world.routers[EDGE].configure(fence_line(2041)) == []
        yield world


@contextmanager
def leading(world: CiscoWorld, ledger: Ledger, **given: object) -> Iterator[tuple[ReconcileLoop, list[str]]]:
    """The loop in a thread, begun again where it fails as `slotcar serve` does; and what it failed with."""
    ledger.set_terms(Terms({}, {}))
    loop = replace(loop_for(world.network, world.settings, ledger), **given)
    failures: list[str] = []
    stopping = threading.Event()
    arguments = ("loop", loop.run, stopping, lambda _part, why: failures.append(why), 0.2)
    thread = threading.Thread(target=keep_running, args=arguments)
    thread.start()
    try:
        yield loop, failures
    finally:
        stopping.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@contextmanager
def led_by_another(ledger: Ledger) -> Iterator[None]:
    """A loop that may not lead has the lock for a moment whenever it asks for it."""
    leases: list[Lease] = []

    def take() -> bool:
        leases.extend(filter(None, [ledger.try_lead()]))
        return bool(leases)

    wait_for(take, "another controller to lead")
    with leases[0]:
        yield


def settled(loop: ReconcileLoop) -> Callable[[], bool]:
    return lambda: loop.status.settled


def events(ledger: Ledger, kind: str) -> list[dict[str, object]]:
    return [dict(event.details) for event in ledger.events(limit=1000) if event.kind == kind]


def test_a_new_ledger_s_leader_goes_above_what_a_router_has_seen(world: CiscoWorld, ledger: Ledger) -> None:
    began = datetime.now(UTC)
    with leading(world, ledger) as (loop, failures):
        wait_for(settled(loop), "the routers to have what is wanted")
        assert loop.status.read_at.keys() == world.network.devices.keys()
        assert loop.status.checked_at is not None
        assert began <= loop.status.checked_at <= datetime.now(UTC)
    (raised,) = events(ledger, "controller.fence-raised")
    assert (raised["fence_of_device"], raised["device"]) == (2041, EDGE)
    assert fence_line(ledger_fence(ledger)) in world.routers[EDGE].running_text()
    assert failures == []
    assert events(ledger, "push.device-failed") == []


def test_a_loop_with_nothing_to_do_says_until_when_and_looks_all_the_time_whether_something_happened(
    world: CiscoWorld, ledger: Ledger
) -> None:
    """Whoever drives a clock that does not run by itself goes by that."""
    announced: list[float] = []
    within: list[int] = []

    @contextmanager
    def idle(until_s: float) -> Iterator[Iterator[float]]:
        announced.append(until_s)
        within.append(0)
        yield naps()
        within.pop()

    def naps() -> Iterator[float]:
        while True:
            within[-1] += 1
            yield 0.01

    with leading(world, ledger, clocks=Clocks(idle=idle)) as (loop, failures):
        wait_for(settled(loop), "the routers to have what is wanted")
        wait_for(lambda: bool(within) and within[-1] > 1, "it to have nothing to do, and to have looked again")
        assert announced[-1] > time.monotonic()
        times = len(announced)
        ledger.append_event("test.wakes", datetime.now(UTC))
        wait_for(lambda: len(announced) > times, "it to have seen the event, and to have nothing to do again")
    assert within == []
    assert failures == []


def ledger_fence(ledger: Ledger) -> int:
    return max(event.sequence for event in ledger.events(limit=1000) if event.kind == "controller.fence-raised")


@pytest.mark.slow
def test_faults_are_told_and_tried_again(
    world: CiscoWorld, ledger: Ledger, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stray file in the archive, a database that is read-only for a while, and a full folder for temporary files."""
    revisions = world.settings.state_dir / "revisions"
    revisions.mkdir(parents=True, exist_ok=True)
    (revisions / "notes.txt").write_text("somebody's own")
    (revisions / "20200101T000000.000000Z-aaaaaaaa").write_text("a file where a folder is to be")
    with leading(world, ledger) as (loop, failures):
        wait_for(settled(loop), "the routers to have what is wanted")

        with read_only(database_url):
            wait_for(lambda: "read-only" in loop.status.error, "it to be told")
            assert not loop.status.leading
        wait_for(settled(loop), "it to lead again")

        with full_folder() as full:
            monkeypatch.setattr(tempfile, "tempdir", str(full))
            loop.read_again()
            ledger.append_event("test.wakes", datetime.now(UTC))
            wait_for(lambda: bool(loop.status.troubles), "it to be told")
            assert any("no space left on device" in why for why in loop.status.troubles.values())
            monkeypatch.undo()
        wait_for(settled(loop), "the routers to have what is wanted")
    assert failures == []
    assert "no space left" in str(events(ledger, "push.device-failed")[0]["message"])


@contextmanager
def read_only(database_url: str) -> Iterator[None]:
    name = make_url(database_url).database
    others = (
        f"SELECT pg_terminate_backend(pid, {int(PATIENCE_S * 1000)}) FROM pg_stat_activity"
        f" WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        admin.execute(others)
        try:
            yield
        finally:
            admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            admin.execute(others)


@contextmanager
def full_folder() -> Iterator[Path]:
    """A small file system of its own, without an inode left."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=8", "slotcar-test", folder]
        if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here")
        try:
            for number in range(8):
                try:
                    Path(folder, str(number)).touch()
                except OSError:
                    break
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


@pytest.mark.slow
def test_a_clock_that_is_set_back_is_told_and_nobody_sleeps_by_it(world: CiscoWorld, ledger: Ledger) -> None:
    off = [timedelta()]
    with leading(world, ledger, clocks=Clocks(now=lambda: datetime.now(UTC) + off[0])) as (loop, failures):
        wait_for(settled(loop), "the routers to have what is wanted")
        off[0] = -timedelta(seconds=20)
        wait_for(lambda: bool(events(ledger, "controller.clock-set")), "it to be told")
        (event,) = events(ledger, "controller.clock-set")
        assert event["by_s"] == pytest.approx(-20, abs=1)
        ledger.append_event("test.wakes", datetime.now(UTC))
        wait_for(settled(loop), "all to be looked at again")
    assert failures == []


@pytest.mark.slow
@pytest.mark.parametrize("hours", [1, -1])
def test_whose_clock_is_not_the_database_s_leads_no_more_until_it_is(
    world: CiscoWorld, ledger: Ledger, hours: int
) -> None:
    """A leader an hour ahead would end every slot of the next hour, for good."""
    off = [timedelta()]
    with leading(world, ledger, clocks=Clocks(now=lambda: datetime.now(UTC) + off[0])) as (loop, failures):
        wait_for(settled(loop), "the routers to have what is wanted")
        leads = len(events(ledger, "controller.leading"))
        off[0] = timedelta(hours=hours)
        wait_for(lambda: not loop.status.leading, "it to give up the lead")
        wait_for(lambda: "the database's" in loop.status.error, "it to be told why")
        assert ("3,600 s ahead of" if hours > 0 else "3,600 s behind") in loop.status.error
        (event,) = events(ledger, "controller.clock-off")
        assert event["ahead_of_database_us"] == pytest.approx(hours * 3_600_000_000, abs=5_000_000)
        with led_by_another(ledger):
            wait_for(lambda: not loop.status.error, "it to follow, without an error of its own")
        off[0] = timedelta()
        wait_for(settled(loop), "it to lead again")
        assert len(events(ledger, "controller.leading")) == leads + 1
        assert loop.status.error == ""
    assert failures == []


@pytest.mark.slow
def test_a_device_that_was_set_aside_while_the_clock_was_ahead_is_tried_again(
    world: CiscoWorld, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is set back while this controller does not lead."""
    off = [timedelta()]

    def set_clock_and_fail(_pusher: Pusher, _names: Sequence[str]) -> Readings:
        off[0] = timedelta(hours=1)
        raise CannotRun("no space left on device")

    with leading(world, ledger, clocks=Clocks(now=lambda: datetime.now(UTC) + off[0])) as (loop, failures):
        wait_for(settled(loop), "the routers to have what is wanted")
        with monkeypatch.context() as patched:
            patched.setattr(Pusher, "read", set_clock_and_fail)
            ask_check(ledger, [EDGE], "tester", datetime.now(UTC))
            wait_for(lambda: bool(events(ledger, "controller.clock-off")), "it to give up the lead")
        assert "no space left" in loop.status.troubles[EDGE]
        off[0] = timedelta()
        wait_for(lambda: settled(loop)() and not loop.status.troubles, "the device to be tried again")
        assert [round(event["by_s"]) for event in events(ledger, "controller.clock-set")] == [3600, -3600]
    assert failures == []


@pytest.mark.slow
def test_a_clock_that_was_set_while_the_ledger_was_gone_is_told_at_the_next_lead(
    world: CiscoWorld, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The routers count from the old time, so they are armed anew."""
    off, read = [timedelta()], Pusher.read

    def set_clock_and_lose_the_ledger(_pusher: Pusher, _names: Sequence[str]) -> Readings:
        off[0] = timedelta(seconds=20)
        monkeypatch.setattr(Pusher, "read", read)
        raise LedgerUnavailable("gone")

    with leading(world, ledger, clocks=Clocks(now=lambda: datetime.now(UTC) + off[0])) as (loop, failures):
        wait_for(settled(loop), "the routers to have what is wanted")
        monkeypatch.setattr(Pusher, "read", set_clock_and_lose_the_ledger)
        ask_check(ledger, [EDGE], "tester", datetime.now(UTC))
        wait_for(lambda: bool(events(ledger, "controller.clock-set")), "it to be told")
        wait_for(settled(loop), "it to lead again")
        (event,) = events(ledger, "controller.clock-set")
        assert event["by_s"] == pytest.approx(20, abs=1)
    assert failures == []


@pytest.mark.slow
def test_a_clock_that_is_set_ahead_during_a_reading_ends_no_slot(
    world: CiscoWorld, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    off, read = [timedelta()], Pusher.read

    def read_and_set_clock(pusher: Pusher, names: Sequence[str]) -> Readings:
        readings = read(pusher, names)
        off[0] = timedelta(hours=1)
        return readings

    with leading(world, ledger, clocks=Clocks(now=lambda: datetime.now(UTC) + off[0])) as (loop, failures):
        desk, now = Desk(ledger, world.network, world.settings), datetime.now(UTC)
        entry = Requests(desk).create(from_mapping(SLOT | {"start": now.isoformat()}, now), OPERATOR, now)
        wait_for(lambda: "eq 5001" in world.routers[EDGE].running_text() and loop.status.settled, "the slot")
        monkeypatch.setattr(Pusher, "read", read_and_set_clock)
        ask_check(ledger, [EDGE], "tester", datetime.now(UTC))
        wait_for(lambda: bool(events(ledger, "controller.clock-off")), "it to be told")
        assert "eq 5001" in world.routers[EDGE].running_text()
        monkeypatch.undo()
        off[0] = timedelta()
        cancel(verbs.Cancel(entry.handle), desk, OPERATOR, datetime.now(UTC))
        wait_for(lambda: "eq 5001" not in world.routers[EDGE].running_text(), "the routers to be as before")
    assert failures == []


def test_a_part_that_fails_is_begun_again_and_told_once_for_each_reason() -> None:
    stopping, messages, runs = threading.Event(), [], []

    def run(_stopping: threading.Event) -> None:
        runs.append(1)
        if len(runs) == 4:
            stopping.set()
            return
        raise ValueError("first" if len(runs) < 3 else "second")

    keep_running("loop", run, stopping, lambda part, why: messages.append((part, why)), 0.01)
    assert messages == [("loop", "ValueError: first"), ("loop", "ValueError: second")]

    def exhausted(_stopping: threading.Event) -> None:
        raise MemoryError

    stopping.clear()
    with pytest.raises(MemoryError):
        keep_running("loop", exhausted, stopping, lambda part, why: messages.append((part, why)))


def test_two_readings_at_a_time_do_not_touch_each_other(world: CiscoWorld) -> None:
    """The loop's, a request's and a command's."""
    names = sorted(world.routers)
    open_sets: list[set[str]] = []
    threads = [
        threading.Thread(target=lambda: open_sets.append(set(world.pusher.read(names).by_device))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert open_sets == [set(names)] * 2
    assert list((world.settings.state_dir / "reading").iterdir()) == []
