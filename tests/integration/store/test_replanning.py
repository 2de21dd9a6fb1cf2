"""Transfers that reported progress, planned again at a period: what came free is taken, what is too much is given back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from slotcar.book.model import Entry, ProgressReport, State
from slotcar.book.operation import Move
from slotcar.book.operations import Admit
from slotcar.book.replanning import Replan, is_off, remaining_bytes
from slotcar.book.reporting import Report
from slotcar.rollout.replanning import Replanning
from slotcar.store import Ledger
from tests.integration.store.test_transfers import TERMS, admission_of, admit, free, kinds, steps
from tests.support.requests import T0, at, reservation, transfer

#: 40 bit/s for an hour.
HOUR_BYTES = 40 * 60 * 60 // 8
MINUTE_BYTES = 40 * 60 // 8


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(TERMS)
    return ledger


def behind(book: Ledger) -> tuple[Entry, Entry]:
    """A transfer that has moved nothing in half of its time beside a fixed one, and lacks a half; and the fixed one."""
    entry = admit(book, transfer("bulk", HOUR_BYTES, 60))
    fixed = admit(book, reservation("fixed", 50, 30, 60))
    reported = book.run(Report(at(30), entry.handle, "hep", remaining_bytes=HOUR_BYTES))
    assert reported.progress == ProgressReport(HOUR_BYTES, at(30), 80, HOUR_BYTES // 2)
    return reported, fixed


def test_what_is_behind_takes_what_comes_free(book: Ledger) -> None:
    reported, fixed = behind(book)
    assert book.run(Replan(at(32), reported.handle)) is None, "nothing more is free"
    assert kinds(book, reported.handle)[-1] == "behind"
    book.run(Move(at(35), fixed.handle, "tester", to=State.CANCELLED))
    after = book.run(Replan(at(35), reported.handle))
    assert after is not None
    assert after.version == reported.version + 1
    rest = HOUR_BYTES - 5 * MINUTE_BYTES
    assert steps(after) == [(0, 35, 40), (35, 60, 80)]
    assert after.progress == ProgressReport(HOUR_BYTES, at(30), -(-rest * 8 // 1500), rest - 25 * 2 * MINUTE_BYTES)
    assert free(book, 36, 60) == [0, 0, 0]
    assert kinds(book, reported.handle)[-1] == "replanned", "less is missing than was told: it is not said again"
    (event,) = book.events(handle=reported.handle, kinds=["reservation.replanned"])
    assert event.details["remaining_bytes"] == rest


def test_others_move_for_what_is_behind(book: Ledger) -> None:
    reported, fixed = behind(book)
    late = admit(book, transfer("late", 10 * MINUTE_BYTES, 180, 35, shape="earliest"), 31)
    book.run(Move(at(35), fixed.handle, "tester", to=State.CANCELLED))
    assert book.run(Replan(at(35), reported.handle)) is not None
    moved = book.get(late.handle)
    assert moved is not None
    assert free(book, 40, 60) == [0, 0, 0]
    assert moved.reservation.end <= at(180)


def test_what_is_as_planned_is_left_alone(book: Ledger) -> None:
    entry = admit(book, transfer("bulk", HOUR_BYTES, 60))
    for minute in (0, 20, 59):
        assert not is_off(entry, at(minute)), "nothing was reported"
    reported = book.run(Report(at(30), entry.handle, "hep", remaining_bytes=HOUR_BYTES // 2))
    for minute in (31, 45, 59, 60, 70):
        assert book.run(Replan(at(minute), reported.handle)) is None
    assert remaining_bytes(reported, at(45)) == HOUR_BYTES // 4
    sequence = book.sequence()
    assert book.run(Replan(at(40), reported.handle)) is None
    assert book.sequence() == sequence


def test_a_report_after_it_counts_from_what_was_reported(book: Ledger) -> None:
    """What is supposed meanwhile is not held against the owner."""
    reported, fixed = behind(book)
    book.run(Move(at(35), fixed.handle, "tester", to=State.CANCELLED))
    assert book.run(Replan(at(35), reported.handle)) is not None
    assert book.run(Report(at(40), reported.handle, "hep", remaining_bytes=HOUR_BYTES)).progress is not None


def test_the_leader_looks_at_all_once_in_a_period(book: Ledger) -> None:
    reported, fixed = behind(book)
    replanning = Replanning(book, timedelta(minutes=1))
    assert replanning.look([reported], at(32)) == at(33)
    book.run(Move(at(32), fixed.handle, "tester", to=State.CANCELLED))
    replanning.look([reported], at(32) + timedelta(seconds=30))
    assert book.get(reported.handle) == reported
    assert replanning.look([reported], at(33)) == at(34)
    changed = book.get(reported.handle)
    assert changed is not None
    assert changed.version == reported.version + 1
    assert replanning.look([changed], T0) == at(1), "a clock that was set back postpones nothing"


def test_a_turn_spends_a_bounded_time_with_it(book: Ledger) -> None:
    """The rest is done in the next turn, which follows at once."""
    entries = [admit(book, transfer(name, HOUR_BYTES // 4, 60)) for name in ("one", "two", "three")]
    admit(book, reservation("fixed", 60, 30, 60))
    reported = [book.run(Report(at(30), one.handle, "hep", remaining_bytes=HOUR_BYTES // 4)) for one in entries]
    seconds = iter(range(0, 100, 2))
    replanning = Replanning(book, timedelta(minutes=1), monotonic=lambda: float(next(seconds)))
    off = sum(is_off(one, at(31)) for one in reported)
    assert off > 1
    answers = [replanning.look(reported, at(31)) for _ in range(off + 1)]
    assert answers == [at(31)] * (off - 1) + [at(32)] * 2, "one in each turn, since each takes two seconds"


@pytest.mark.slow
@settings(
    deadline=None,
    max_examples=25,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(st.integers(1, 3_000), st.integers(20, 60), st.integers(0, 100)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 100), st.integers(0, 40), st.integers(1, 20)), max_size=3),
    st.integers(1, 19),
)
def test_nothing_is_exceeded_and_all_that_is_free_is_asked_for(
    book: Ledger, transfers: list[tuple[int, int, int]], others: list[tuple[int, int, int]], minute: int
) -> None:
    for entry in book.live_between(T0):  # of an example before
        book.run(Move(T0, entry.handle, "tester", to=State.CANCELLED))
    before = free(book, minute, 60)  # of an example whose minute was later, the past stays
    answers = [
        book.run(Admit(T0, admission_of(transfer(f"t{n}", volume, by)))) for n, (volume, by, _) in enumerate(transfers)
    ]
    fixed = [
        book.run(Admit(T0, admission_of(reservation(f"f{n}", rate, start, start + length))))
        for n, (rate, start, length) in enumerate(others)
    ]
    live = [(one, share) for one, (_, _, share) in zip(answers, transfers, strict=True) if isinstance(one, Entry)]
    for entry, share in live:
        known = book.get(entry.handle)
        assert known is not None
        assert known.reservation.need is not None
        left = max(1, known.reservation.need.volume_bytes * share // 100)
        book.run(Report(at(minute), entry.handle, "hep", remaining_bytes=left))
    for one in fixed[1:]:
        if isinstance(one, Entry):
            book.run(Move(at(minute), one.handle, "tester", to=State.CANCELLED))
    replanning = Replanning(book, timedelta(minutes=1))
    while replanning.look(book.live_between(at(minute)), at(minute)) == at(minute):
        pass  # a turn spends a bounded time with it: the next one goes on
    for entry in book.live_between(at(minute)):
        if entry.progress is not None and is_off(entry, at(minute)):
            assert book.run(Replan(at(minute), entry.handle)) is None
    for start in range(0, 60, 2):
        assert min(free(book, start, start + 2)) >= 0
    for entry in book.live_between(T0):
        book.run(Move(T0, entry.handle, "tester", to=State.CANCELLED))
    assert free(book, minute, 60) == before, "only what is past of them stays"
