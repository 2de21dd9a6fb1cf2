"""What is armed on a device: the ends of the slots that are open, the boundaries that are near, and nothing else."""

from __future__ import annotations

from datetime import timedelta

from slotcar.network.model import Device
from slotcar.platforms import renderer_of
from slotcar.rollout.agenda import agenda
from slotcar.rollout.device_states import DeviceStates, after_each_step
from slotcar.rollout.model import NO_PROGRAM, Program, Reading
from slotcar.rollout.program import MOST_STEPS
from slotcar.rollout.schedule import armed_until
from tests.support.requests import T0, at
from tests.unit.rollout.support import NETWORK, active, configure, revision, wanted


def test_nothing_is_armed_where_nothing_is_open() -> None:
    assert {one.program.id for one in wanted().values()} == {NO_PROGRAM}


def test_each_end_leads_to_the_configuration_without_what_ended() -> None:
    first, second = active(1, 10), active(2, 20)
    for name, one in wanted(first, second).items():
        assert one.configuration == configure([first, second])[name]
        assert one.program.boundaries == (at(10), at(20))
        assert one.program.configurations == (configure([second])[name], configure([])[name])


def test_slots_that_end_together_are_one_step() -> None:
    programs = wanted(active(1, 10), active(2, 10))
    assert {one.program.boundaries for one in programs.values()} == {(at(10),)}


def test_a_boundary_that_is_near_is_armed_with_the_ends_of_what_it_opens() -> None:
    first, second = active(1, 10), active(2, 20)
    for name, one in wanted(first, coming=[(at(5), (first, second))]).items():
        assert one.configuration == configure([first])[name]
        assert one.program.boundaries == (at(5), at(10), at(20))
        assert one.program.configurations[0] == configure([first, second])[name]


def test_after_a_step_what_is_left_is_what_is_wanted_then() -> None:
    """docs/design.md rule 13: a device that ran on by itself has just what the ledger's function says of that instant."""
    first, second = active(1, 10), active(2, 20)
    armed = wanted(first, coming=[(at(5), (first, second))])
    for name, one in wanted(first, second).items():
        assert armed[name].program.ids[1] == one.program.id
        assert after_each_step(armed[name])[1].identity == one.identity
    for name, one in wanted(second).items():
        assert armed[name].program.ids[2] == one.program.id


def test_a_dead_man_ends_what_is_reserved_unless_it_is_put_off() -> None:
    hours = Device.model_validate(NETWORK.devices["r1"].model_dump() | {"dead_man_s": 3600})
    network = NETWORK.model_copy(update={"devices": NETWORK.devices | {"r1": hours}})
    short, long = active(1, 10), active(2, 600)
    plain, guarded = wanted(short, long)["r1"], wanted(short, long, network=network)["r1"]
    assert plain.program.instants == (at(10), at(600))
    deadline = armed_until(T0, timedelta(hours=1))
    assert guarded.program.instants == (at(10), deadline)
    assert guarded.program.configurations[-1] == configure([])["r1"] == plain.program.configurations[-1]
    assert wanted(short, long, network=network)["r2"].program.boundaries == (at(10), at(600)), (
        "nobody asked for it there"
    )
    assert wanted(short, network=network)["r1"] == wanted(short)["r1"], "what ends before it needs none"


def test_equal_programs_have_equal_names_and_others_have_others() -> None:
    def name(*minutes: int) -> str:
        return wanted(*(active(number, end) for number, end in enumerate(minutes, 1)))["r1"].program.id

    assert name(10, 20) == name(10, 20)
    assert len({name(10, 20), name(10, 21), name(10), name(20)}) == 4


def test_the_last_name_of_every_program_is_that_of_none() -> None:
    program = wanted(active(1, 10), active(2, 20))["r1"].program
    assert len(set(program.ids)) == 3
    assert program.ids[-1] == Program().id == NO_PROGRAM


def test_more_ends_than_can_be_foreseen_end_at_the_last_of_them_all() -> None:
    many = [active(number, number, rate_bps=10_000) for number in range(1, MOST_STEPS + 11)]
    for name, one in wanted(*many).items():
        assert len(one.program.instants) == MOST_STEPS
        assert one.program.boundaries[-1] == at(MOST_STEPS + 10)
        assert one.program.configurations[-1] == configure([])[name]


def test_a_step_is_due_at_the_slots_end_itself() -> None:
    part = revision(T0, active(1, 10), active(2, 20)).devices["r1"]
    first, second = agenda(part)
    assert (first.at, second.at) == (at(10), at(20))
    assert first.lines != second.lines


def test_a_device_that_took_its_step_is_known_by_what_is_left() -> None:
    first, second = active(1, 10), active(2, 20)
    before = wanted(first, second)["r1"]
    states = DeviceStates()
    states.verified({"r1": before})
    assert states.is_verified("r1", before)
    after = after_each_step(before)[1]
    comparison = states.compare("r1", Reading(after.configuration, after.program.id))
    assert (comparison.acted, comparison.drift) == ((at(10),), "")
    assert states.last_seen["r1"].identity == wanted(second)["r1"].identity


def test_what_nobody_armed_is_drift() -> None:
    before = wanted(active(1, 10))["r1"]
    states = DeviceStates()
    states.verified({"r1": before})
    assert states.compare("r1", Reading(before.configuration, NO_PROGRAM)).drift == "what was armed on it is gone"
    assert not states.is_verified("r1", before)
    states.verified({"r1": before})
    device = NETWORK.devices["r1"]
    other = renderer_of(device).stored(before.configuration.lines[1:], device)
    assert states.compare("r1", Reading(other, before.program.id)).drift == "its configuration differs"


def test_a_device_that_was_never_seen_has_not_drifted() -> None:
    before = wanted(active(1, 10))["r1"]
    assert DeviceStates().compare("r1", Reading(before.configuration)).drift == ""


def test_a_push_that_came_too_late_does_not_make_the_steps_of_a_program_unknown() -> None:
    first, second = active(1, 10), active(2, 20)
    before = wanted(first, second)["r1"]
    states = DeviceStates()
    states.verified({"r1": before})
    states.push_rolled_back(["r1", "never-seen"])
    assert not states.is_verified("r1", before), "it is read again"
    after = after_each_step(before)[1]
    comparison = states.compare("r1", Reading(after.configuration, after.program.id))
    assert (comparison.acted, comparison.drift) == ((at(10),), "")
    assert states.compare("r1", Reading(after.configuration, NO_PROGRAM)).drift == "what was armed on it is gone"


def test_what_a_push_left_that_was_rolled_back_is_no_drift() -> None:
    before = wanted(active(1, 10))["r1"]
    states = DeviceStates()
    states.verified({"r1": before})
    states.push_rolled_back(["r1"])
    assert states.compare("r1", Reading(before.configuration, NO_PROGRAM)).drift == ""
    assert "r1" not in states.last_seen
