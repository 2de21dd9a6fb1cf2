"""Chaos can be played again, and its failing histories made short; its judge sees what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.chaos.audit import CLOCKS_S, Span, accounted, unaccounted
from lab.chaos.judge import CANCEL_S, OUTSIDE_S, PARTIAL_S, Sample, Slot, judge, was_active
from lab.chaos.script import pace_of, script
from lab.chaos.shrink import shrunk
from lab.chaos.watch import looks

ROUTERS = ("left", "right")
SLOT = Slot("r0-0", 6000, 100.0, 200.0)


def seen(at_s: float, *carriers: str) -> list[Sample]:
    """Both routers were asked at that second; these carried the slot."""
    return [Sample(at_s, name, frozenset({6000} if name in carriers else ())) for name in ROUTERS]


def test_a_round_is_a_function_of_its_seed_and_its_number() -> None:
    assert script(7, 3) == script(7, 3)
    assert script(7, 3) != script(7, 4)
    assert script(8, 3) != script(7, 3)


def test_a_slow_machine_has_the_same_round_at_another_pace() -> None:
    fast, slow = script(7, 3), script(7, 3, pace_of(20.0))
    assert sorted(action.kind for action in fast) == sorted(action.kind for action in slow)
    assert [4 * action.at_s for action in fast] == pytest.approx([action.at_s for action in slow], abs=0.5)
    assert script(7, 3, pace_of(1.0)) == fast


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


def test_a_slot_was_active_when_all_of_its_routers_were_seen_with_it() -> None:
    assert was_active(SLOT, [*seen(101, "left"), *seen(102, "right")], ROUTERS)
    assert not was_active(SLOT, seen(101, "left"), ROUTERS)
    assert not was_active(SLOT, [], ROUTERS)


def event(kind: str, second: int, **details: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "at": f"1970-01-01T00:{second // 60:02}:{second % 60:02}Z",
        "device": "left",
        "details": details,
    }


STARTED = event("push.started", 100, revision="one")
ARMED = event("push.armed", 104, revision="one", at="1970-01-01T00:05:00Z", until="1970-01-01T00:06:00Z")


def test_a_push_accounts_for_what_changes_until_its_outcome() -> None:
    assert accounted([STARTED, event("push.verified", 104, revision="one")]) == [Span("left", 100, 104, "push one")]
    assert accounted([STARTED, event("push.verified", 104, revision="two")]) == accounted([STARTED])


def test_a_push_that_nobody_ended_accounts_for_a_while() -> None:
    (span,) = accounted([STARTED])
    assert span.until_s == 100 + PARTIAL_S


def test_what_was_armed_accounts_for_its_own_time() -> None:
    assert accounted([ARMED]) == [Span("left", 300, 360 + OUTSIDE_S, "armed by push one")]


@pytest.mark.parametrize(
    ("changed_s", "router", "told"),
    [
        (101.0, "left", 0),
        (104.0 + CLOCKS_S, "left", 0),
        (105.0 + CLOCKS_S, "left", 1),
        (101.0, "right", 1),
    ],
    ids=["in-a-push", "by-another-clock", "after-it", "another-router"],
)
def test_a_change_of_which_the_audit_log_knows_nothing_is_told(changed_s: float, router: str, told: int) -> None:
    samples = [*seen(changed_s - 1), *seen(changed_s, router)]
    spans = accounted([STARTED, event("push.verified", 104, revision="one")])
    found = unaccounted(samples, spans)
    assert len(found) == told
    assert all(f"says why {router} changed (+6000)" in one for one in found)


def test_between_changes_a_router_has_what_it_had() -> None:
    came, went = Sample(10.0, "left", frozenset({6000})), Sample(11.2, "left", frozenset())
    found = [(look.at_s, bool(look.ports)) for look in looks([came, went], until_s=11.5)]
    assert found == [(10.0, True), (10.5, True), (11.0, True), (11.2, True), (11.2, False), (11.5, False)]
    assert looks([], until_s=5.0) == []


def test_what_never_goes_is_outside_of_its_window_to_the_end() -> None:
    stays = [looks([Sample(150.0, router, frozenset({6000}))], 200 + OUTSIDE_S + 1) for router in ROUTERS]
    assert judge([look for looked in stays for look in looked], [SLOT], ROUTERS)
