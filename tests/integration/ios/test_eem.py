"""What a router does by itself at the end of a slot: its event manager, in software."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.fanout import DeviceError, Order, PushStep, fan_out, job_of
from slotcar.rollout.ios import eem
from slotcar.rollout.ios.applets import applets
from slotcar.rollout.model import NO_PROGRAM, STALE
from slotcar.rollout.staging import reading_of
from slotcar_lab.ios import FullFlash, RefuseLine, Routers, Slow
from tests.golden.test_render import change_of
from tests.integration.ios.eem_router import NAME, OPERATORS, RENDER, Managed, later


@pytest.mark.slow
def test_what_is_armed_is_read_back_and_taken_step_by_step(managed: Managed) -> None:
    changed = change_of(RENDER / "cisco-mqc-rate-modified", NAME).after
    first, last = later(6), later(600)
    order, program = managed.revision(managed.premium.after, (first, changed), (last, managed.base.after))
    outcome = managed.push(order)
    assert (outcome.error, outcome.changed) == ("", True)
    assert managed.armed() == program.ids[0]
    assert len(managed.own_files()) == 2
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.owned() == changed
    assert managed.armed() == program.ids[1], "the name of what is left"
    assert len(managed.own_files()) == 1


def test_a_push_replaces_what_is_armed_and_the_same_again_touches_nothing(managed: Managed) -> None:
    order, _ = managed.revision(managed.premium.after, (later(500), managed.base.after))
    managed.push(order)
    again, program = managed.revision(managed.premium.after, (later(900), managed.base.after))
    outcome = managed.push(again)
    assert (outcome.error, outcome.changed) == ("", True), "armed anew, though the configuration is the same"
    assert managed.armed() == program.id
    assert len(managed.own_files()) == 1
    before = len(managed.router.history)
    assert managed.push(again).changed is False
    assert len(managed.router.history) == before
    ended, _ = managed.revision(managed.base.after)
    assert managed.push(ended).error == ""
    assert (managed.armed(), managed.own_files()) == (NO_PROGRAM, [])
    assert "event manager applet OPERATORS" in managed.router.running_text()


def test_what_somebody_else_armed_since_staging_is_left(managed: Managed) -> None:
    mine, _ = managed.revision(managed.premium.after, (later(500), managed.base.after))
    theirs, program = managed.revision(managed.premium.after, (later(900), managed.base.after))
    assert fan_out(PushStep.STAGE, [job_of(NAME, managed.variables, mine)])[NAME].error == ""
    assert managed.push(theirs).error == ""
    outcome = fan_out(PushStep.ACTIVATE, [job_of(NAME, managed.variables, mine)])[NAME]
    assert "it ran a scheduled step after it was read" in outcome.error
    assert managed.armed() == program.id


@pytest.mark.parametrize("target", ["before.txt", pytest.param("", marks=pytest.mark.slow)])
def test_a_restore_disarms(managed: Managed, target: str) -> None:
    before = managed.router.running_text()
    order, _ = managed.revision(managed.premium.after, (later(500), managed.base.after))
    managed.push(order)
    outcome = managed.take(PushStep.RESTORE, order, target=target)
    assert outcome.error == ""
    assert (managed.armed(), managed.own_files()) == (NO_PROGRAM, [])
    if target:
        assert managed.router.running_text() == before


def test_restoring_what_is_known_good_arms_what_is_left_of_it_and_leaves_out_what_is_past(managed: Managed) -> None:
    changed = change_of(RENDER / "cisco-mqc-rate-modified", NAME).after
    steps = (later(-60), changed), (later(600), managed.base.after)
    order, program = managed.revision(managed.premium.after, *steps)
    outcome = fan_out(PushStep.RESTORE, [job_of(NAME, managed.variables, order)])[NAME]
    assert outcome.error == ""
    assert managed.owned() == changed
    assert managed.armed() == program.ids[1]
    assert len(managed.own_files()) == 1


def test_a_rollback_arms_what_was_armed_before_with_its_own_instants(managed: Managed) -> None:
    first, last = later(500), later(900)
    managed.push(managed.revision(managed.premium.after, (first, managed.base.after))[0])
    before = managed.router.running_text(), managed.armed(), managed.own_files()
    changed = change_of(RENDER / "cisco-mqc-rate-modified", NAME).after
    order, _ = managed.revision(changed, (last, managed.base.after))
    assert managed.push(order).error == ""
    assert managed.armed() != before[1]
    assert managed.take(PushStep.RESTORE, order, target="before.txt").error == ""
    assert (managed.owned(), managed.armed(), managed.own_files()) == (managed.premium.after, *before[1:])
    assert managed.due() == [pytest.approx(first.timestamp(), abs=0.001)]
    delay = re.compile(r"countdown time \S+")
    assert delay.sub("", managed.router.running_text()) == delay.sub("", before[0]), "only the countdown is another"


@pytest.mark.slow
def test_a_rollback_takes_at_once_what_fell_due_meanwhile(managed: Managed) -> None:
    end = later(5)
    managed.push(managed.revision(managed.premium.after, (end, managed.base.after))[0])
    order, _ = managed.revision(managed.premium.after, (later(600), managed.base.after))
    assert managed.push(order).error == "", "longer: the end is another"
    while datetime.now(UTC) <= end:
        time.sleep(0.1)
    assert managed.take(PushStep.RESTORE, order, target="before.txt").error == ""
    assert managed.router.wait_for(lambda router: router.fired)
    assert (managed.owned(), managed.armed()) == (managed.base.after, NO_PROGRAM)


@pytest.mark.slow
def test_a_rollback_does_not_open_a_slot_again_that_has_ended_meanwhile(managed: Managed) -> None:
    end, last = later(6), later(600)
    changed = change_of(RENDER / "cisco-mqc-rate-modified", NAME).after
    steps = (end, managed.base.after), (last, changed)
    _, program = first = managed.revision(managed.premium.after, *steps, good=True)
    assert managed.push(first[0]).error == ""
    order, _ = managed.revision(managed.premium.after, (end, managed.base.after))
    assert managed.push(order).error == ""
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.owned() == managed.base.after
    before = len(managed.router.history)
    assert managed.take(PushStep.RESTORE, order, target="before.txt").error == ""
    assert (managed.owned(), managed.armed()) == (managed.base.after, program.ids[1])
    assert managed.due() == [pytest.approx(last.timestamp(), abs=0.001)]
    given = [one.line for one in managed.router.history[before:]]
    assert given
    assert not [line for line in given if "class-map" in line or "policy-map" in line], "not for a moment"


@pytest.mark.slow
def test_a_router_that_never_took_a_revision_is_left_by_its_rollback(managed: Managed) -> None:
    """It began the slot by itself between the reading and a push that then failed elsewhere."""
    managed.push(managed.revision(managed.base.after, (later(5), managed.premium.after))[0])
    order, _ = managed.revision(managed.base.after, (later(600), managed.premium.after))
    assert managed.router.wait_for(lambda router: router.fired)
    assert "it ran a scheduled step after it was read" in managed.push(order).error
    outcome = managed.take(PushStep.RESTORE, order, target="before.txt")
    assert (outcome.error, outcome.changed) == ("", False)
    assert managed.owned() == managed.premium.after


@pytest.mark.slow
def test_a_reading_waits_until_a_step_is_whole(managed: Managed) -> None:
    order, program = managed.revision(managed.base.after, (later(5), managed.premium.after))
    assert managed.push(order).error == ""
    managed.router.fault(Slow(50))
    lines = len(managed.router.history)
    assert managed.router.wait_for(lambda router: len(router.history) > lines), "it has taken the first line"
    assert managed.take(PushStep.READ, order).error == ""
    outputs = order.folder.reading()
    reading = reading_of(outputs, managed.device)
    assert (reading.configuration, reading.armed_id) == (managed.premium.after, program.ids[1])


def test_what_was_computed_for_a_time_that_has_passed_is_not_done(managed: Managed) -> None:
    """The slot would be open until its first step, which is already due."""
    before = managed.router.running_text()
    order, _ = managed.revision(managed.premium.after, (later(-1), managed.base.after))
    assert STALE in managed.push(order).error
    assert managed.router.running_text() == before


@pytest.mark.slow
def test_a_step_that_is_about_to_be_taken_is_not_met(managed: Managed) -> None:
    managed.push(managed.revision(managed.base.after, (later(3), managed.premium.after))[0])
    order, _ = managed.revision(managed.base.after, (later(600), managed.premium.after))
    while managed.due()[0] - time.time() > 0.9:  # type: ignore[operator]
        time.sleep(0.02)
    assert STALE in managed.push(order).error
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.owned() == managed.premium.after


@pytest.mark.parametrize(("ends_in_s", "has_timer"), [(200, False), (3600, True)])
def test_a_revert_timer_is_not_asked_for_where_it_would_take_a_step_back(
    managed: Managed, ends_in_s: int, has_timer: bool
) -> None:
    order, _ = managed.revision(managed.premium.after, (later(ends_in_s), managed.base.after))
    before = len(managed.router.commands)
    assert managed.push(order).error == ""
    commands = [line for _, _, line in managed.router.commands[before:]]
    assert any("revert timer" in line for line in commands) is has_timer


@pytest.mark.slow
def test_a_countdown_is_counted_from_when_it_is_told(managed: Managed) -> None:
    """A router that takes its time for the lines before it acts no later for that."""
    end = later(500)
    order, _ = managed.revision(managed.premium.after, (end, managed.base.after))
    managed.router.fault(Slow(100))
    assert managed.push(order).error == ""
    managed.router.heal()
    (countdown,) = (one for one in managed.router.history if one.line.startswith("event timer countdown time 4"))
    due = countdown.at_ns / 1e9 + float(countdown.line.split()[4])
    assert due == pytest.approx(end.timestamp(), abs=0.6), "more than ten lines stand before it"


@pytest.mark.slow
def test_a_wrong_clock_is_seen_at_staging_and_moves_no_boundary(managed: Managed) -> None:
    managed.router.set_clock(-7200 + 5)
    end = later(6)
    order, _ = managed.revision(managed.premium.after, (end, managed.base.after))
    assert managed.push(order).error == ""
    assert order.folder.clock_ahead_us() == pytest.approx(-7195e6, abs=1e6)
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.router.fired[0].at_ns / 1e9 >= end.timestamp() - 0.01


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(FullFlash(), "it cannot be armed: disk0:slotcar-step-", id="full-flash", marks=pytest.mark.slow),
        pytest.param(RefuseLine("^event timer"), "Invalid input", id="refused"),
    ],
)
def test_a_router_that_cannot_be_armed_is_not_changed(managed: Managed, fault: Any, words: str) -> None:
    before = managed.router.running_text()
    order, _ = managed.revision(managed.premium.after, (later(500), managed.base.after))
    managed.router.fault(fault)
    assert words in managed.push(order).error
    assert managed.router.running_text() == before


@pytest.mark.slow
def test_an_operators_own_quiet_prompts_stay(managed: Managed) -> None:
    assert managed.router.configure("file prompt quiet") == []
    configured = managed.router.running_text()
    managed.push(managed.revision(managed.premium.after, (later(3), managed.base.after))[0])
    assert managed.router.wait_for(lambda router: router.fired)
    assert managed.router.running_text() == configured


def test_a_missing_step_is_no_programs_name() -> None:
    ids = ("1" * 16, "2" * 16, NO_PROGRAM)
    both = applets(ids, (10.0, 20.0), ((), ()))
    lines = [line for one in both for line in eem.registration(one, lambda: 5, f"flash:{one.file}", asks=True)]
    assert eem.armed_id("\n".join(lines)) == ids[0]
    assert eem.armed_id("\n".join(lines[: len(lines) // 2])) == eem.INCOMPLETE
    assert eem.armed_id("\n".join(lines[len(lines) // 2 :])) == ids[1]
    assert eem.armed_id(OPERATORS) == NO_PROGRAM


@pytest.mark.parametrize(
    "variables",
    [{"slotcar_platform": "cisco-mqc", "slotcar_transport": "napalm"}, {"slotcar_platform": "cisco-iosxe-netconf"}],
)
def test_only_a_command_line_over_ssh_can_be_armed(variables: Mapping[str, str], tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="r: slotcar_options says that it has eem"):
        job_of(
            "r", {"ansible_user": "ops", "slotcar_options": {"eem": True}, **variables}, Order(DeviceFolder(tmp_path))
        )


def test_an_applet_that_waits_for_an_answer_is_ended(routers: Routers) -> None:
    router = routers.add("r", "cisco-mqc", "")
    lines = ["event manager applet ASKS", ' action 1 cli command "copy running-config disk0:a"']
    assert router.configure("\n".join([*lines, " event timer countdown time 0.1 maxrun 1"])) == []
    assert router.wait_for(lambda one: one.fired)
    assert not router.fired[0].ended
    assert router.files() == {}


def test_an_applet_that_is_taken_away_does_not_run(routers: Routers) -> None:
    router = routers.add("r", "cisco-mqc", "")
    for name in ("a", "b"):
        router.configure(
            f'event manager applet {name}\n action 1 cli command "write"\n event timer countdown time 0.5'
        )
    assert router.configure("no event manager applet a") == []
    assert router.wait_for(lambda one: one.fired)
    assert [one.name for one in router.fired] == ["b"]
