"""Chaos can be played again, and its failing histories made short; its judge sees what is wrong."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lab.chaos.judge import CANCEL_S, OUTSIDE_S, PARTIAL_S, Sample, Slot, judge
from lab.chaos.script import script
from lab.chaos.shrink import shrunk

ROUTERS = ("left", "right")
SLOT = Slot("r0-0", 6000, 100.0, 200.0)


def seen(at_s: float, *carriers: str) -> list[Sample]:
    """Both routers were asked at that second; these carried the slot."""
    return [Sample(at_s, 0.1, name, frozenset({6000} if name in carriers else ())) for name in ROUTERS]


def test_a_round_is_a_function_of_its_seed_and_its_number() -> None:
    assert script(7, 3) == script(7, 3)
    assert script(7, 3) != script(7, 4)
    assert script(8, 3) != script(7, 3)


@given(st.sets(st.integers(0, 19), min_size=1, max_size=4))
def test_what_is_left_is_what_makes_it_fail(guilty: set[int]) -> None:
    left = shrunk(range(20), lambda history: guilty <= set(history), lambda: True)
    assert left == sorted(guilty)


def test_without_time_the_history_stays_as_it_is() -> None:
    assert shrunk([1, 2, 3], lambda _: True, lambda: False) == [1, 2, 3]


def test_a_slot_in_its_window_on_both_routers_is_in_order() -> None:
    samples = [*seen(99), *seen(101, *ROUTERS), *seen(199, *ROUTERS), *seen(201)]
    assert judge(samples, [SLOT], ROUTERS) == []


def test_a_slot_outside_of_its_window_is_told_with_how_far() -> None:
    late = 200.0 + OUTSIDE_S + 1
    (told, *_) = judge([*seen(150, *ROUTERS), *seen(late, "left")], [SLOT], ROUTERS)
    assert told == f"r0-0 is on left {OUTSIDE_S + 1:.1f} s outside of its window"
    assert "outside" in judge(seen(100.0 - OUTSIDE_S - 1, *ROUTERS), [SLOT], ROUTERS)[0]


def test_a_slot_on_one_router_only_is_told_when_it_lasts() -> None:
    long = Slot("r0-0", 6000, 100.0, 500.0)
    assert judge([*seen(101, "left"), *seen(102, *ROUTERS)], [long], ROUTERS) == []
    (told,) = judge([*seen(101, "left"), *seen(102 + PARTIAL_S, "left")], [long], ROUTERS)
    assert "on some of its routers only" in told


def test_a_cancelled_slot_has_a_while_to_go() -> None:
    gone = Slot("r0-0", 6000, 100.0, 500.0, cancelled_s=150.0)
    assert judge(seen(151, *ROUTERS), [gone], ROUTERS) == []
    assert judge(seen(150 + CANCEL_S + OUTSIDE_S + 1, *ROUTERS), [gone], ROUTERS)


def test_what_the_ledger_does_not_know_is_told() -> None:
    assert judge(seen(150, "left"), [], ROUTERS) == ["left carries port 6000, of which the ledger knows nothing"]
