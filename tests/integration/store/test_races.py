"""Several controllers, each a real process with threads of its own, on one PostgreSQL (docs/design.md rule 4)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from slotcar.base.timebase import Window
from slotcar.book.model import Entry, State, Terms
from slotcar.book.operations import Admit
from slotcar.store import EntryFilter, open_ledger
from tests.support import racer
from tests.support.patience import PATIENCE_S
from tests.support.requests import RESOURCES, T0, at, request, reservation

ROOT = Path(__file__).parents[3]


def race(url: str, racers: int, requests: int, threads: int) -> list[list[str]]:
    argv = [sys.executable, "-m", "tests.support.racer", url]
    running = [
        subprocess.Popen(
            [*argv, f"racer{number}", str(requests), str(threads)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(racers)
    ]
    answers = []
    for process in running:
        output, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors
        answers.append(json.loads(output))
    return answers


def peak_by_brute_force(entries: tuple[Entry, ...]) -> int:
    """The highest sum of rates at any instant, from the entries alone: no table, no log."""
    starts = {window.start for entry in entries for window in entry.reservation.windows}
    return max(
        sum(
            entry.reservation.peak_rate_bps
            for entry in entries
            if any(window.contains(start) for window in entry.reservation.windows)
        )
        for start in starts
    )


@pytest.fixture
def raced_url(database_url: str, tmp_path: Path) -> str:
    with open_ledger(database_url, tmp_path, migrate=True):
        return database_url


@pytest.mark.slow
def test_racing_controllers_never_oversubscribe(raced_url: str, tmp_path: Path) -> None:
    answers = race(raced_url, racers=4, requests=60, threads=4)
    with open_ledger(raced_url, tmp_path) as ledger:
        live = ledger.list(EntryFilter(states=[State.COMMITTED], limit=10_000))
        assert peak_by_brute_force(live) <= racer.CAPACITY_BPS
        assert len(live) == sum(answer.count("admitted") for answer in answers)
        ledger.set_terms(Terms(dict.fromkeys(RESOURCES, racer.CAPACITY_BPS), {}))
        window = Window(T0, at(racer.MINUTES))
        peak, _ = ledger.ask(lambda tables: tables.peak(RESOURCES[0], window), T0)
        assert peak == peak_by_brute_force(live)
    kinds = {kind for answer in answers for kind in answer}
    assert kinds == {"admitted", "refused", "cancelled"}, "the race must have winners and losers"
    assert all("admitted" in answer for answer in answers)


def test_two_that_race_for_the_last_capacity_get_it_once(raced_url: str, tmp_path: Path) -> None:
    """Each controller has decided on its own tables before, so both believe that there is room."""
    with open_ledger(raced_url, tmp_path) as one, open_ledger(raced_url, tmp_path) as two:
        for ledger in (one, two):
            ledger.set_terms(Terms(dict.fromkeys(RESOURCES, 100), {}))
            assert ledger.ask(lambda tables: tables.peak(RESOURCES[0], Window(T0, at(60))), T0)[0] == 0
        first = one.run(Admit(T0, request(reservation("first", 60))))
        second = two.run(Admit(T0, request(reservation("second", 60))))
        assert isinstance(first, Entry)
        assert not isinstance(second, Entry)
        assert second.highest_rate_bps == 40
