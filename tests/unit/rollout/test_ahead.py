"""How far ahead devices are armed: enough, the same for every controller, and seldom anew."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from controller.rollout.ahead import MANY, MOST_AHEAD, armed_until, first_of, to_arm
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
    assert to_arm([at(29), at(70)], T0, LEAD, HOUR) == [at(29)]


def test_what_is_nearer_than_the_lead_is_armed_however_much_it_is() -> None:
    crowd = [T0 + timedelta(seconds=1 + number) for number in range(200)]
    assert to_arm(crowd, T0, timedelta(seconds=150), HOUR) == crowd[:150]
    assert to_arm(crowd, T0, LEAD, HOUR) == crowd[:MOST_AHEAD]


def test_without_time_ahead_the_lead_decides_alone() -> None:
    assert to_arm([at(0.2), at(1)], T0, LEAD, timedelta(seconds=1)) == [at(0.2)]


def test_a_boundary_that_is_near_does_not_wait_until_a_crowd_is_armed() -> None:
    crowd = [at(1 + number) for number in range(MANY + 1)]
    near = T0 + LEAD
    assert first_of([near, *crowd], (), T0, LEAD) == [near]
    assert first_of([near, *crowd], [near], T0, LEAD) == [near, *crowd]
    assert first_of([near, *crowd[1:]], (), T0, LEAD) == [near, *crowd[1:]]
    assert first_of(crowd, (), T0, LEAD) == crowd
