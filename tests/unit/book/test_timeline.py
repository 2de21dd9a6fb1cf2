"""Half-open slots: who is active at an instant, and where the boundaries are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.model import Entry, State
from slotcar.book.timeline import active_at, boundaries, next_boundary
from tests.support.examples import examples
from tests.support.requests import T0, at, reservation
from tests.unit.reservation.test_slots import varying

FOREVER = datetime(2100, 1, 1, tzinfo=UTC)


def entry(number: int, *slots: tuple[int, int], state: State = State.COMMITTED) -> Entry:
    """`slots` are minutes from T0."""
    request = reservation(f"r{number}").over(tuple(Window(at(start), at(end)) for start, end in slots))
    return Entry(f"h{number}", number, state, 1, request, (), (), T0, T0)


def numbers(entries: list[Entry], moment: datetime) -> list[int]:
    return [active.entry.number for active in active_at(entries, moment)]


def test_a_slot_holds_its_start_and_not_its_end() -> None:
    entries = [entry(1, (10, 20))]
    assert numbers(entries, at(10) - MICROSECOND) == []
    assert numbers(entries, at(10)) == [1]
    assert numbers(entries, at(20) - MICROSECOND) == [1]
    assert numbers(entries, at(20)) == []


def test_of_two_slots_that_touch_exactly_one_is_open_at_the_touch() -> None:
    assert numbers([entry(1, (0, 10)), entry(2, (10, 20))], at(10)) == [2]


def test_a_change_of_rate_is_a_boundary_and_the_slot_that_is_open_has_the_rate() -> None:
    request = varying((0, 10, 8, 0), (10, 20, 34, 1))
    one = Entry("h1", 1, State.COMMITTED, 1, request, (), (), T0, T0)
    assert boundaries([one], at(-1), FOREVER) == (at(0), at(10), at(20))
    before, after = (active_at([one], at(minute))[0] for minute in (9, 10))
    assert (before.slot.forward_bps, after.slot.forward_bps) == (8, 34)
    assert before.window == after.window == Window(at(0), at(20))


def test_nothing_is_active_and_nothing_changes_in_an_empty_ledger() -> None:
    assert active_at([], T0) == ()
    assert boundaries([], T0, FOREVER) == ()
    assert next_boundary([], T0) is None


def test_the_active_come_by_number_whatever_order_the_ledger_gives() -> None:
    entries = [entry(3, (0, 10)), entry(1, (0, 10)), entry(2, (0, 10))]
    assert numbers(entries, at(5)) == [1, 2, 3]


@pytest.mark.parametrize("state", [state for state in State if state is not State.COMMITTED])
def test_only_what_is_committed_is_active_or_makes_a_boundary(state: State) -> None:
    entries = [entry(1, (0, 10), state=state)]
    assert active_at(entries, at(5)) == ()
    assert boundaries(entries, at(-1), FOREVER) == ()
    assert next_boundary(entries, at(-1)) is None


def test_of_a_recurrence_the_occurrence_that_is_open_is_told() -> None:
    entries = [entry(1, (0, 10), (60, 70), (120, 130))]
    (active,) = active_at(entries, at(65))
    assert active.window == Window(at(60), at(70))
    assert active_at(entries, at(30)) == ()


def test_a_recurrence_that_touches_itself_stays_open_over_the_touch() -> None:
    entries = [entry(1, (0, 10), (10, 20))]
    assert numbers(entries, at(10)) == [1]
    assert boundaries(entries, at(-1), FOREVER) == (at(0), at(10), at(20))


def test_boundaries_come_in_order_and_once() -> None:
    entries = [entry(2, (10, 30)), entry(1, (0, 10)), entry(3, (10, 20))]
    assert boundaries(entries, at(-1), FOREVER) == (at(0), at(10), at(20), at(30))


def test_boundaries_leave_out_the_first_instant_and_hold_the_last() -> None:
    entries = [entry(1, (0, 10))]
    assert boundaries(entries, at(0), at(10)) == (at(10),)
    assert boundaries(entries, at(0), at(10) - MICROSECOND) == ()


def test_the_next_boundary_is_strictly_later() -> None:
    entries = [entry(1, (0, 10)), entry(2, (5, 20))]
    assert next_boundary(entries, at(0)) == at(5)
    assert next_boundary(entries, at(0) - MICROSECOND) == at(0)
    assert next_boundary(entries, at(20)) is None


def test_a_cancelled_reservation_leaves_the_timeline_at_once() -> None:
    committed = entry(1, (0, 10))
    assert next_boundary([replace(committed, state=State.CANCELLED)], at(5)) is None


slots = st.tuples(st.integers(0, 40), st.integers(1, 20)).map(lambda one: (one[0], one[0] + one[1]))
ledgers = st.lists(slots, max_size=8).map(lambda windows: [entry(n, one) for n, one in enumerate(windows, 1)])


@given(ledgers, st.integers(-5, 70))
@examples(15, 60)
def test_who_is_active_changes_at_boundaries_only(entries: list[Entry], minute: int) -> None:
    """docs/design.md rule 13: between boundaries the function of t is constant, so a push at each of them is enough."""
    after = next_boundary(entries, at(minute))
    end = after or FOREVER
    assert numbers(entries, at(minute)) == numbers(entries, end - MICROSECOND)
    assert after == next(iter(boundaries(entries, at(minute), FOREVER)), None)


@given(ledgers)
@examples(15, 60)
def test_every_boundary_opens_or_closes_a_slot(entries: list[Entry]) -> None:
    for moment in boundaries(entries, T0 - timedelta(days=1), FOREVER):
        before = active_at(entries, moment - MICROSECOND)
        assert before != active_at(entries, moment)
