"""What is armed on a device: the ends of the slots that are open, and nothing else."""

from __future__ import annotations

from datetime import timedelta

from controller.rollout.guard import GRACE, MOST_STEPS, steps
from controller.rollout.model import NO_GUARD
from tests.support.requests import T0, at
from tests.unit.rollout.support import active, configure, revision, wanted


def test_nothing_is_armed_where_nothing_is_open() -> None:
    assert {one.guard.id for one in wanted().values()} == {NO_GUARD}


def test_each_end_leads_to_the_configuration_without_what_ended() -> None:
    first, second = active(1, 10), active(2, 20)
    for name, one in wanted(first, second).items():
        assert one.configuration == configure([first, second])[name]
        assert one.guard.ends == (at(10), at(20))
        assert one.guard.configurations == (configure([second])[name], configure([])[name])


def test_slots_that_end_together_are_one_step() -> None:
    guards = wanted(active(1, 10), active(2, 10))
    assert {one.guard.ends for one in guards.values()} == {(at(10),)}


def test_equal_guards_have_equal_names_and_others_have_others() -> None:
    def name(*minutes: int) -> str:
        return wanted(*(active(number, end) for number, end in enumerate(minutes, 1)))["r1"].guard.id

    assert name(10, 20) == name(10, 20)
    assert len({name(10, 20), name(10, 21), name(10), name(20)}) == 4


def test_more_ends_than_can_be_foreseen_end_at_the_last_of_them_all() -> None:
    many = [active(number, number, rate_bps=10_000) for number in range(1, MOST_STEPS + 11)]
    for name, one in wanted(*many).items():
        assert len(one.guard.ends) == MOST_STEPS
        assert one.guard.ends[-1] == at(MOST_STEPS + 10)
        assert one.guard.configurations[-1] == configure([])[name]


def test_the_device_waits_for_the_controller_before_it_helps_itself() -> None:
    part = revision(T0, active(1, 10), active(2, 20)).devices["r1"]
    first, second = steps(part, T0 + timedelta(seconds=5))
    assert first.delay_s == 600 - 5 + GRACE.total_seconds()
    assert second.delay_s == 1200 - 5 + GRACE.total_seconds()
    assert first.lines != second.lines


def test_an_end_that_is_past_is_due_at_once() -> None:
    part = revision(T0, active(1, 10)).devices["r1"]
    assert [step.delay_s for step in steps(part, at(60))] == [1]
