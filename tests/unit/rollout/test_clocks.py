"""Whose clock is wrong: a router's, or the controller's own."""

from __future__ import annotations

from slotcar.rollout.clocks import ClocksJudged, changes, judge
from slotcar_client.wire.events import ControllerClockOff, ControllerClockRight, DeviceClockOff, DeviceClockRight

SECOND = 1_000_000


def test_clocks_that_agree_are_nobody_s_trouble() -> None:
    assert judge({"a": 0, "b": 300_000, "c": -SECOND}) == ClocksJudged({})
    assert judge({}) == ClocksJudged({})


def test_a_router_that_is_off_is_named_with_how_far() -> None:
    assert judge({"a": 0, "b": 7 * SECOND, "c": 100}) == ClocksJudged({"b": 7 * SECOND})
    assert judge({"only": -3 * SECOND}) == ClocksJudged({"only": -3 * SECOND})


def test_where_most_routers_agree_against_the_controller_it_is_the_controller() -> None:
    assert judge({"a": 9 * SECOND, "b": 9 * SECOND + 5, "c": 9 * SECOND - 5}) == ClocksJudged({}, 9 * SECOND)
    assert judge({"a": 9 * SECOND, "b": 9 * SECOND, "c": 0}) == ClocksJudged({"c": -9 * SECOND}, 9 * SECOND)


def test_two_routers_are_no_majority() -> None:
    assert judge({"a": 9 * SECOND, "b": 9 * SECOND}) == ClocksJudged({"a": 9 * SECOND, "b": 9 * SECOND})


def test_routers_that_each_say_something_else_accuse_nobody_else() -> None:
    wild = {"a": 5 * SECOND, "b": 50 * SECOND, "c": -50 * SECOND}
    assert judge(wild) == ClocksJudged(wild)


def test_each_clock_is_told_once_when_it_goes_wrong_and_once_when_it_is_right_again() -> None:
    fine, off = judge({"a": 0, "b": 0}), judge({"a": 0, "b": 9 * SECOND})
    assert list(changes(fine, off, {"a": 0, "b": 9})) == [(DeviceClockOff(ahead_us=9), "b")]
    assert list(changes(off, off, {"a": 0, "b": 9})) == []
    assert list(changes(off, fine, {"a": 0, "b": 0})) == [(DeviceClockRight(ahead_us=0), "b")]
    suspected = ClocksJudged({}, 9 * SECOND)
    assert list(changes(fine, suspected, {})) == [(ControllerClockOff(behind_us=9 * SECOND), None)]
    assert list(changes(suspected, fine, {})) == [(ControllerClockRight(behind_us=0), None)]
