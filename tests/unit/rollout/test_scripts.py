"""What a Linux router runs, run by a real shell, with a `tc` that writes down what it is given."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.base.timebase import clock_offset
from slotcar.rollout import play_clock, staging
from slotcar.rollout.agenda import agenda
from slotcar.rollout.linux import scripts
from slotcar.rollout.linux.shell import ask
from slotcar.rollout.linux.transport import clock
from slotcar.rollout.model import NO_PROGRAM, Program, Restless, Revision
from slotcar.rollout.transport import DeviceError
from tests.support.patience import wait_for
from tests.support.requests import T0
from tests.unit.rollout.linux_router import (
    DEVICE,
    SOON_S,
    Router,
    activate,
    arm,
    folder_of,
    part_of,
    revision_of,
    stage,
)
from tests.unit.rollout.support import active


def test_staging_changes_nothing_and_arms_nothing(router: Router, tmp_path: Path) -> None:
    pushed = revision_of(active(1, 10))
    stage(router, folder_of(pushed, tmp_path))
    staged = router.place / f"rev-{pushed.id}"
    assert router.ran == []
    assert router.armed == NO_PROGRAM
    assert (staged / "apply.txt").read_text().splitlines() == list(part_of(pushed).change.apply)
    assert (staged / "undo.txt").read_text().splitlines() == list(part_of(pushed).change.undo)
    assert (router.place.stat().st_mode & 0o777) == 0o700


def test_activation_arms_the_program_and_changes_once(router: Router, tmp_path: Path) -> None:
    pushed = revision_of(active(1, 10))
    folder = folder_of(pushed, tmp_path)
    stage(router, folder)
    assert activate(router, folder) is True
    assert router.armed == part_of(pushed).program.id
    assert router.ran == ["apply.txt"]
    assert activate(router, folder) is False
    assert router.ran == ["apply.txt"], "no command takes effect twice"


def test_a_program_whose_controller_is_gone_takes_its_steps_in_their_order(router: Router, tmp_path: Path) -> None:
    pushed = revision_of(active(1, 10), active(2, 20), ends_in_s=SOON_S)
    program = part_of(pushed).program
    soon = (program.instants[0], program.instants[0] + timedelta(seconds=1))
    pushed = replace(pushed, devices={"r1": replace(part_of(pushed), program=replace(program, instants=soon))})
    arm(router, pushed, tmp_path)
    assert router.armed == part_of(pushed).program.ids[0]
    router.advance(SOON_S + 1)
    wait_for(lambda: len(router.ran) == 3, "both ends")
    assert router.ran == ["apply.txt", "step", "step"]
    assert router.given.read_text().splitlines() == [line for one in agenda(part_of(pushed)) for line in one.lines]
    wait_for(lambda: router.armed == NO_PROGRAM, "the program's own end")
    lag = int(router.run(scripts.state_command(DEVICE)).stdout.split()[1])
    assert lag >= 0, "never before its instant"


def test_a_clock_that_is_set_back_while_a_play_goes_on_delays_no_step(
    router: Router, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in play_clock.environment(clock_offset(lambda: datetime.now(UTC))).items():
        monkeypatch.setenv(variable, value)
    pushed = revision_of(active(1, 10), ends_in_s=SOON_S)
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() - 3600)
    arm(router, pushed, tmp_path)
    router.advance(SOON_S)
    wait_for(lambda: router.ran == ["apply.txt", "step"], "the end, and not an hour late")


@pytest.mark.slow
def test_a_step_is_in_the_name_of_what_is_left(router: Router, tmp_path: Path) -> None:
    pushed = revision_of(active(1, 10), active(2, 20), ends_in_s=SOON_S)
    arm(router, pushed, tmp_path)
    router.advance(SOON_S)
    wait_for(lambda: router.armed == part_of(pushed).program.ids[1], "the first step")


@pytest.mark.slow
def test_another_program_takes_the_place_of_the_first(router: Router, tmp_path: Path) -> None:
    old = revision_of(active(1, 10))
    folder = folder_of(old, tmp_path)
    stage(router, folder)
    activate(router, folder)
    first = (router.place / f"rev-{old.id}" / "pid").read_text().strip()
    new = revision_of(active(1, 10), active(2, 20), replaces=part_of(old).program.id)
    folder = folder_of(new, tmp_path)
    stage(router, folder)
    assert router.armed == part_of(old).program.id, "staging leaves the armed one alone"
    activate(router, folder)
    assert router.armed == part_of(new).program.id
    wait_for(lambda: router.run(f"pgrep -g {first}").stdout == "", "the first one's end")


def test_a_router_that_acted_since_it_was_read_takes_nothing(router: Router, tmp_path: Path) -> None:
    first = revision_of(active(1, 10), active(2, 20), ends_in_s=SOON_S)
    folder = folder_of(first, tmp_path)
    stage(router, folder)
    activate(router, folder)
    late = revision_of(active(2, 20), replaces=part_of(first).program.id)
    folder = folder_of(late, tmp_path)
    stage(router, folder)
    router.advance(SOON_S)
    wait_for(lambda: "step" in router.ran, "the first step")
    with pytest.raises(DeviceError, match="it ran a scheduled step after it was read"):
        activate(router, folder)
    assert router.ran == ["apply.txt", "step"]
    assert router.armed == part_of(first).program.ids[1], "its own program goes on"


@pytest.mark.slow
def test_a_router_that_took_foreseen_steps_goes_on_with_the_longer_program(router: Router, tmp_path: Path) -> None:
    """Boundaries may be closer together than a reading and a push."""
    short = revision_of(active(1, 10), active(2, 20), ends_in_s=SOON_S)
    arm(router, short, tmp_path)
    router.advance(SOON_S)
    program = part_of(short).program
    later = program.instants[-1] + timedelta(hours=1)
    longer = Program(
        (*program.instants, later), (*program.configurations, program.configurations[0]), program.initial_lines
    )
    change = replace(part_of(short).change, apply=(), before=part_of(short).change.after)
    part = replace(part_of(short), program=longer, change=change, replaces=program.ids[0])
    wait_for(lambda: router.armed == program.ids[1], "the first step")
    arm(router, Revision("longer", T0, {"r1": part}), tmp_path)
    assert router.armed == longer.ids[1], "it does not take its first step again"
    other = replace(
        part,
        program=replace(longer, configurations=(*program.configurations[::-1], program.configurations[1])),
        replaces=longer.ids[0],
    )
    with pytest.raises(DeviceError, match="read it again"):
        arm(router, Revision("other", T0, {"r1": other}), tmp_path)


def test_a_change_for_a_time_that_has_passed_is_refused(router: Router, tmp_path: Path) -> None:
    """It would open a slot that has ended, if only until the program's first step."""
    folder = folder_of(revision_of(active(1, 10), ends_in_s=-5), tmp_path)
    stage(router, folder)
    with pytest.raises(DeviceError, match="a boundary that has passed"):
        activate(router, folder)
    assert router.ran == []


def test_a_controller_that_lost_the_lead_changes_nothing(router: Router, tmp_path: Path) -> None:
    newer = revision_of(active(1, 10), fence=8)
    folder = folder_of(newer, tmp_path)
    stage(router, folder)
    activate(router, folder)
    older = revision_of(active(2, 20), fence=7, replaces=part_of(newer).program.id)
    folder = folder_of(older, tmp_path)
    stage(router, folder)
    with pytest.raises(DeviceError, match="took the lead later"):
        activate(router, folder)
    assert router.armed == part_of(newer).program.id
    assert router.ran == ["apply.txt"]


def test_an_activation_goes_on_whose_login_ends(router: Router, tmp_path: Path) -> None:
    pushed = revision_of(active(1, 10))
    stage(router, folder_of(pushed, tmp_path))
    router.slow.touch()
    revision = router.place / f"rev-{pushed.id}"
    router.run_and_hang_up(
        scripts.command("r1", "activate", revision.name, str(clock(router, "r1").boot_cs)), revision / "pid"
    )
    assert router.ran == ["apply.txt"]
    assert router.armed == part_of(pushed).program.id
    assert (revision / "applied").exists()


def test_where_nothing_is_open_any_more_arming_disarms(router: Router, tmp_path: Path) -> None:
    first = revision_of(active(1, 10))
    arm(router, first, tmp_path)
    empty = revision_of(replaces=part_of(first).program.id)
    arm(router, empty, tmp_path)
    assert router.armed == NO_PROGRAM


def test_what_was_kept_before_is_forgotten(router: Router, tmp_path: Path) -> None:
    replaces = NO_PROGRAM
    for minutes in (10, 11, 12, 13):
        pushed = revision_of(active(1, minutes), replaces=replaces)
        arm(router, pushed, tmp_path)
        replaces = part_of(pushed).program.id
    assert len(list(router.place.glob("rev-*"))) == 2, "the armed one and the one before it"


def test_its_clock_is_told_against_this_machines(router: Router, tmp_path: Path) -> None:
    stage(router, folder_of(revision_of(), tmp_path))
    began_s = time.time()
    answer = clock(router, "r1")
    booted_s = time.time() - float(Path("/proc/uptime").read_text().split()[0])
    took_s = time.time() - began_s + 0.1
    assert -0.1 <= answer.boot_cs / 100 - booted_s <= took_s
    assert answer.ahead_us is not None
    assert abs(answer.ahead_us) <= 1_000_000 * took_s


def test_a_router_without_the_tools_says_which(
    router: Router, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "NEEDED", ("flock-of-another-planet",))
    with pytest.raises(DeviceError, match="there is no flock-of-another-planet on this router"):
        stage(router, folder_of(revision_of(active(1, 10)), tmp_path))


@pytest.mark.parametrize(("platform", "runs_tc"), [("linux-tc", True), ("linux-host", False)])
def test_only_a_platform_that_names_tc_needs_it(platform: str, runs_tc: bool) -> None:
    revision = revision_of()
    device = part_of(revision).device.model_copy(update={"platform": platform})
    script = scripts.stage_script(replace(part_of(revision), device=device), revision)
    (check,) = (line for line in script.splitlines() if line.startswith("for one in"))
    assert (" tc;" in check) is runs_tc


def test_questions_go_in_one_command_and_a_failing_one_is_named(router: Router) -> None:
    assert ask(router, ["echo a; echo b", "true", "printf c"]) == {
        "echo a; echo b": "a\nb\n",
        "true": "",
        "printf c": "c\n",
    }
    with pytest.raises(DeviceError, match=r"`ls /nowhere/at/all`: .*No such file"):
        ask(router, ["true", "ls /nowhere/at/all"])


def test_a_reading_in_the_middle_of_a_step_is_not_believed() -> None:
    state, *_, again = staging.commands(DEVICE)
    with pytest.raises(Restless, match="it ran a scheduled step while it was read"):
        staging.reading_of({state: "aa\n", again: "bb\n"}, DEVICE)
