"""Several controllers move profiles at once, and no resource is ever over its capacity (docs/design.md rule 4)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from slotcar.admission import ResourceId
from slotcar.admission.rates import MICROBITS_PER_BYTE
from slotcar.base.timebase import Window
from slotcar.book.model import OCCUPYING, Entry, State, Terms
from slotcar.store import Ledger, open_ledger
from slotcar.store.queries import EntryFilter
from tests.support import mover
from tests.support.patience import PATIENCE_S
from tests.support.requests import RESOURCES, T0, at

ROOT = Path(__file__).parents[3]


def peaks(entries: Iterable[Entry]) -> dict[ResourceId, int]:
    """The highest amount that is taken of each resource at any instant, from the entries alone: no table, no log."""
    changes: dict[ResourceId, Counter[int]] = defaultdict(Counter)
    for entry in entries:
        for demand in entry.demands:
            for number, slot in enumerate(entry.reservation.slots):
                changes[demand.resource][slot.start_us] += demand.amount(number)
                changes[demand.resource][slot.end_us] -= demand.amount(number)
    highest = {}
    for resource, steps in changes.items():
        level, most = 0, 0
        for _, change in sorted(steps.items()):
            level += change
            most = max(most, level)
        highest[resource] = most
    return highest


def check_now(book: Ledger) -> int:
    """What is live at this moment, while controllers go on; how many there are."""
    live = book.list(EntryFilter(states=OCCUPYING, limit=10_000))
    assert all(peak <= mover.CAPACITY_BPS for peak in peaks(live).values())
    return len(live)


@pytest.mark.parametrize(
    ("controllers", "requests", "threads"),
    [(2, 40, 2), pytest.param(4, 150, 4, marks=pytest.mark.slow)],
)
def test_no_interface_is_ever_over_its_capacity_while_profiles_move(
    database_url: str, tmp_path: Path, controllers: int, requests: int, threads: int
) -> None:
    with open_ledger(database_url, tmp_path, migrate=True) as book:
        argv = [sys.executable, "-m", "tests.support.mover", database_url]
        running = [
            subprocess.Popen(
                [*argv, f"c{number}", str(requests), str(threads)],
                cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for number in range(controllers)
        ]  # fmt: skip
        looks = 0
        while any(process.poll() is None for process in running):
            looks += bool(check_now(book))
        done: Counter[str] = Counter()
        for process in running:
            output, errors = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, errors
            done += Counter(json.loads(output))
        assert looks, "nothing was seen while profiles moved"
        check_now(book)
        check_promises(book)
        check_tables(book)
        moved = len(book.events(kinds=["reservation.moved"], limit=10_000))
    assert moved, "nobody moved"
    assert {"transfer", "fixed", "refused", "cancelled", "reported"} <= set(done), done


def check_promises(book: Ledger) -> None:
    """Each transfer that said nothing has all of its volume in time; its bounds hold."""
    for entry in book.list(EntryFilter(states=[State.COMMITTED], limit=10_000)):
        need, slots = entry.reservation.need, entry.reservation.slots
        if need is None:
            continue
        moved = sum((one.end_us - one.start_us) * one.forward_bps for one in slots)
        assert entry.progress is not None or moved >= need.volume_bytes * MICROBITS_PER_BYTE
        assert need.start is not None
        assert need.start <= slots[0].start
        assert slots[-1].end <= need.by
        assert all(need.at_least_bps <= one.forward_bps <= need.highest_bps for one in slots)


def check_tables(book: Ledger) -> None:
    """A controller that begins now finds in the log what the entries say."""
    book.set_terms(Terms(dict.fromkeys(RESOURCES, mover.CAPACITY_BPS), {}))
    live = book.list(EntryFilter(states=OCCUPYING, limit=10_000))
    window = Window(T0, at(mover.MINUTES))
    highest, _ = book.ask(lambda tables: {name: tables.peak(name, window) for name in RESOURCES}, T0)
    assert highest == dict.fromkeys(RESOURCES, 0) | peaks(live)
