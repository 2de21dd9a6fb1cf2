"""What the loop does next, as tables; and how far ahead devices are armed: enough, and seldom anew."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.rollout.schedule import (
    LONGEST_SLEEP,
    MANY,
    MOST_BOUNDARIES,
    QUIET,
    SETTLE,
    LoopProgress,
    Pace,
    Turn,
    armed_first,
    armed_until,
    boundaries_to_arm,
    lead_now,
    look_until,
    next_turn,
    wake_at,
)
from tests.support.requests import T0, at

LEAD = timedelta(seconds=15)
HOUR = timedelta(hours=1)
instants = st.integers(0, 10**6).map(lambda seconds: T0 + timedelta(seconds=seconds))
spans = st.integers(1, 10**6).map(lambda seconds: timedelta(seconds=seconds))


@given(instants, spans)
def test_at_least_half_of_it_is_armed_and_at_most_all_of_it(now: datetime, ahead: timedelta) -> None:
    stride = max(ahead / 2, timedelta(seconds=1))
    assert now + stride < armed_until(now, ahead) <= now + 2 * stride


@given(instants, instants, spans)
def test_it_never_goes_back(one: datetime, other: datetime, ahead: timedelta) -> None:
    assert armed_until(min(one, other), ahead) <= armed_until(max(one, other), ahead)


def test_a_router_gets_a_new_program_for_the_time_s_sake_twice_in_that_time_and_not_on_the_half_hour() -> None:
    seconds = [T0 + timedelta(seconds=number) for number in range(3600)]
    moves = [now for now, later in itertools.pairwise(seconds) if armed_until(now, HOUR) != armed_until(later, HOUR)]
    assert len(moves) == 2
    assert all(5 < instant.minute % 30 < 25 for instant in moves)


def test_a_slot_that_begins_in_half_an_hour_is_armed_at_once() -> None:
    assert boundaries_to_arm([at(29), at(70)], T0, LEAD, HOUR) == [at(29)]


def test_what_is_nearer_than_the_lead_is_armed_however_much_it_is() -> None:
    crowd = [T0 + timedelta(seconds=1 + number) for number in range(200)]
    assert boundaries_to_arm(crowd, T0, timedelta(seconds=150), HOUR) == crowd[:150]
    assert boundaries_to_arm(crowd, T0, LEAD, HOUR) == crowd[:MOST_BOUNDARIES]


def test_without_time_ahead_the_lead_decides_alone() -> None:
    assert boundaries_to_arm([at(0.2), at(1)], T0, LEAD, timedelta(seconds=1)) == [at(0.2)]


def test_a_boundary_that_is_near_does_not_wait_until_a_crowd_is_armed() -> None:
    crowd = [at(1 + number) for number in range(MANY + 1)]
    near = T0 + LEAD
    assert armed_first([near, *crowd], (), T0, LEAD) == [near]
    assert armed_first([near, *crowd], [near], T0, LEAD) == [near, *crowd]
    assert armed_first([near, *crowd[1:]], (), T0, LEAD) == [near, *crowd[1:]]
    assert armed_first(crowd, (), T0, LEAD) == crowd


# -- turns, as tables --------------------------------------------------------------------------------------------------

PACE = Pace(lead=LEAD, arm_ahead=timedelta(minutes=30), check=timedelta(minutes=5))


def seconds(*some: float) -> tuple[datetime, ...]:
    return tuple(T0 + timedelta(seconds=one) for one in some)


def took(*some_s: float) -> tuple[timedelta, ...]:
    return tuple(timedelta(seconds=one) for one in some_s)


#: All devices were read a moment ago.
RESTED = LoopProgress(doubted_all_at=T0)


@pytest.mark.parametrize(
    ("progress", "coming_s", "until_s"),
    [
        pytest.param(RESTED, (60,), None, id="nothing-is-near"),
        pytest.param(RESTED, (10,), None, id="near-and-not-armed-is-pushed-for"),
        pytest.param(RESTED, (0.9,), 0.9 + 1.2, id="too-late-to-push-for"),
        pytest.param(replace(RESTED, armed=seconds(3.9)), (3.9,), 3.9 + 1.2, id="armed-devices-act-soon"),
        pytest.param(replace(RESTED, armed=seconds(4.1)), (4.1,), None, id="armed-devices-act-later"),
        pytest.param(replace(RESTED, armed=seconds(-1)), (60,), 0.2, id="armed-devices-have-just-acted"),
        pytest.param(replace(RESTED, armed=seconds(-1.2)), (60,), None, id="armed-devices-acted-before"),
        pytest.param(
            replace(RESTED, armed=seconds(2), postponed_since=T0 - 3 * QUIET), (2,), 3.2, id="postponed-for-long"
        ),
        pytest.param(
            replace(RESTED, armed=seconds(2), postponed_since=T0 - 3 * QUIET - took(0.1)[0]), (2,), None,
            id="not-postponed-for-ever",
        ),
    ],
)  # fmt: skip
def test_a_push_that_would_meet_the_devices_own_step_is_postponed(
    progress: LoopProgress, coming_s: tuple[float, ...], until_s: float | None
) -> None:
    turn = next_turn(PACE, progress, seconds(*coming_s), T0)
    assert turn.postponed_until == (None if until_s is None else seconds(until_s)[0])
    since = progress.postponed_since or T0
    assert turn.progress.postponed_since == (None if until_s is None else since)


@pytest.mark.parametrize(("pushes_s", "quiet_s"), [((), 4), ((6, 9), 6), ((1,), 4), ((60,), 12)])
def test_where_all_devices_act_no_push_begins_that_would_end_at_their_step(
    pushes_s: tuple[float, ...], quiet_s: float
) -> None:
    pace, instant = replace(PACE, all_act=True), seconds(quiet_s)[0]
    progress = replace(RESTED, pushes=took(*pushes_s), armed=(instant,))
    assert next_turn(pace, progress, [instant], T0).postponed_until == instant + SETTLE
    later = instant + timedelta(milliseconds=1)
    assert next_turn(pace, replace(progress, armed=(later,)), [later], T0).postponed_until is None


@pytest.mark.parametrize(
    ("progress", "coming_s", "read_all", "read_for_s"),
    [
        pytest.param(LoopProgress(), (), True, (), id="first-turn"),
        pytest.param(RESTED, (60,), False, (), id="read-a-moment-ago"),
        pytest.param(LoopProgress(doubted_all_at=T0 - timedelta(minutes=5)), (60,), True, (), id="checked-once-in-a-while"),
        pytest.param(RESTED, (5, 10, 60), False, (5, 10), id="boundaries-came-near"),
        pytest.param(replace(RESTED, near=seconds(5)), (5, 10), False, (10,), id="only-what-came-near-since"),
        pytest.param(
            replace(RESTED, doubted_near_at=T0 - LEAD + took(1)[0]), (5,), False, (), id="dense-boundaries-read-once"
        ),
    ],
)  # fmt: skip
def test_devices_are_read_again_once_in_a_while_and_before_a_boundary_that_changes_them(
    progress: LoopProgress, coming_s: tuple[float, ...], read_all: bool, read_for_s: tuple[float, ...]
) -> None:
    turn = next_turn(PACE, progress, seconds(*coming_s), T0)
    assert (turn.read_all, turn.read_for) == (read_all, seconds(*read_for_s))
    again = next_turn(PACE, turn.progress, seconds(*coming_s), T0)
    assert (again.read_all, again.read_for) == (False, ()), "once"


@pytest.mark.parametrize(
    ("progress", "coming_s", "expected"),
    [
        pytest.param(RESTED, (), ((), False, None, True), id="nothing-comes"),
        pytest.param(RESTED, (60, 7200), ((60,), False, None, True), id="far-ones-are-armed"),
        pytest.param(RESTED, (10, 60), ((10, 60), False, 10, False), id="near-ones-are-held-for"),
        pytest.param(replace(RESTED, held=seconds(10)[0]), (10, 60), ((10, 60), False, None, False), id="held-once"),
        pytest.param(RESTED, (10, *range(60, 70)), ((10,), True, 10, False), id="a-near-one-goes-before-a-crowd"),
    ],
)  # fmt: skip
def test_what_a_turn_arms_and_waits_for(
    progress: LoopProgress, coming_s: tuple[float, ...], expected: tuple[tuple[float, ...], bool, float | None, bool]
) -> None:
    arm_s, more, hold_s, idle = expected
    turn = next_turn(PACE, progress, seconds(*coming_s), T0)
    hold = None if hold_s is None else seconds(hold_s)[0]
    assert (turn.arm, turn.arm_more, turn.hold, turn.idle) == (seconds(*arm_s), more, hold, idle)


@pytest.mark.parametrize(
    ("coming_s", "retries_s", "expected_s"),
    [
        ((), (), LONGEST_SLEEP.total_seconds()),
        ((), (12,), 12),
        ((20,), (), 5),
        ((10,), (), 11.2),
        ((10, 21), (), 6),
        ((10, 21), (3,), 3),
    ],
)
def test_the_loop_wakes_for_the_next_thing_that_is_due(
    coming_s: tuple[float, ...], retries_s: tuple[float, ...], expected_s: float
) -> None:
    turn = next_turn(PACE, RESTED, seconds(*coming_s), T0)
    assert wake_at(PACE, turn, seconds(*coming_s), seconds(*retries_s), T0, T0) == seconds(expected_s)[0]


@pytest.mark.parametrize(
    ("checked_s", "took_s", "expected_s"),
    [
        pytest.param(0, 0, 10, id="the-next-check"),
        pytest.param(-4, 1, 6, id="counts-from-the-last-check"),
        pytest.param(-20, 3, 6, id="a-late-one-after-a-rest-as-long-as-the-turn"),
        pytest.param(0, 25, 35, id="a-turn-longer-than-the-interval-is-followed-by-a-rest-of-the-interval"),
    ],
)
def test_the_loop_wakes_for_the_next_check(checked_s: float, took_s: float, expected_s: float) -> None:
    pace = replace(PACE, check=timedelta(seconds=10))
    turn = Turn(replace(RESTED, doubted_all_at=seconds(checked_s)[0]), LEAD)
    assert wake_at(pace, turn, (), (), T0, *seconds(took_s)) == seconds(expected_s)[0]


def test_slow_turns_begin_earlier() -> None:
    slow = RESTED
    for one in took(1, 20, 2, 2, 2, 2):
        slow = slow.took_turn(one)
    assert lead_now(PACE, slow) == timedelta(seconds=20 + 10) + QUIET
    assert lead_now(PACE, slow.took_turn(took(2)[0])) == LEAD, "the last five count"
    assert look_until(PACE, RESTED, T0) >= T0 + PACE.arm_ahead / 2


def test_a_new_lead_and_a_clock_that_was_set_begin_anew() -> None:
    (one, two) = seconds(1, 2)
    busy = LoopProgress((one,), one, (one,), one, one, one, took(1), took(2))
    assert busy.of_new_lead(two) == LoopProgress((), None, (), one, two, one, took(1), took(2))
    assert busy.of_new_time() == LoopProgress(turns=took(1), pushes=took(2))
