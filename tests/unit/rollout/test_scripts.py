"""What a Linux router runs, run by a real shell, with a `tc` that writes down what it is given."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.rollout import staging, steps
from slotcar.rollout.archive import Archive
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.linux import scripts
from slotcar.rollout.linux.shell import Answer, ask
from slotcar.rollout.linux.transport import LinuxTransport, clock
from slotcar.rollout.model import NO_PROGRAM, DeviceRevision, Program, Restless, Revision
from slotcar.rollout.program import agenda
from slotcar.rollout.transport import DeviceError, Order
from slotcar.timeline import Active
from tests.support.controllers import wait_for
from tests.support.requests import T0
from tests.unit.rollout.support import NETWORK, active, revision

DEVICE = NETWORK.devices["r1"]


class Router:
    """A shell on this machine, with a folder of its own and a `tc` that only notes what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.place = Path(scripts.remote_dir("r1"))
        self._ran = folder / "ran"
        fake = folder / "bin" / "tc"
        fake.parent.mkdir()
        fake.write_text(
            f"#!/bin/sh\nfor last; do :; done\n[ ! -e {folder}/broken ] || exit 1\n[ ! -e {folder}/slow ] || sleep 1\n"
            f'[ "$last" != - ] || {{ last=step; cat >> {folder}/given; }}\necho "${{last##*/}}" >> {self._ran}\n'
        )
        fake.chmod(0o755)
        self._environment = os.environ | {"PATH": f"{fake.parent}:{os.environ['PATH']}"}
        self.broken, self.given, self.slow = folder / "broken", folder / "given", folder / "slow"

    def run(self, command: str, text: str = "") -> Answer:
        done = subprocess.run(
            ["sh", "-c", command],
            input=text, env=self._environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    def run_and_hang_up(self, command: str, when: Path) -> None:
        """The login ends, and with it whoever reads the answers, as soon as that is there."""
        asked = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        wait_for(when.exists, f"{when.name} to be there")
        assert asked.stdout is not None
        asked.stdout.close()
        os.killpg(asked.pid, signal.SIGHUP)
        assert asked.wait(30) == 0

    @property
    def ran(self) -> list[str]:
        return self._ran.read_text().split() if self._ran.exists() else []

    @property
    def armed(self) -> str:
        return self.run(scripts.state_command(DEVICE)).stdout.split()[0]


@pytest.fixture
def router(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Router]:
    monkeypatch.setattr(scripts, "REMOTE", str(tmp_path / "slotcar"))
    made = Router(tmp_path)
    yield made
    if (made.place / "device.sh").exists():
        made.run(scripts.command("r1", "disarm"))


def revision_of(
    *some: Active, ends_in_s: float = 3600, replaces: str = NO_PROGRAM, fence: int | None = None
) -> Revision:
    """A revision of r1 whose first slot ends in so many seconds by this machine's clock."""
    made = revision(T0, *some)
    part = made.devices["r1"]
    program = part.program
    if program.instants:
        shift = datetime.now(UTC) + timedelta(seconds=ends_in_s) - program.instants[0]
        program = Program(
            tuple(one + shift for one in program.instants),
            program.configurations,
            program.initial_lines,
            program.boundaries,
        )
    part = replace(part, program=program, replaces=replaces)
    name = f"{made.id}-{time.monotonic_ns()}"
    return Revision(name, T0, {"r1": part}, fence)


def folder_of(made: Revision, tmp_path: Path) -> DeviceFolder:
    return DeviceFolder(Archive(tmp_path / "state").write(made) / "r1")


def stage(router: Router, folder: DeviceFolder) -> None:
    asyncio.run(steps.stage(LinuxTransport(router, DEVICE), Order(folder)))


def activate(router: Router, folder: DeviceFolder) -> bool:
    """Whether it changed anything."""
    return asyncio.run(steps.activate(LinuxTransport(router, DEVICE), Order(folder))).changed


def arm(router: Router, made: Revision, tmp_path: Path) -> None:
    folder = folder_of(made, tmp_path)
    stage(router, folder)
    activate(router, folder)


def armed_over_a_slot_that_ended(router: Router, tmp_path: Path, ends_in_s: int) -> Revision:
    """The revision that was armed over the one whose slot has ended since."""
    first = revision_of(active(1, 10), ends_in_s=ends_in_s)
    arm(router, first, tmp_path)
    second = revision_of(active(1, 10), active(2, 20), replaces=part_of(first).program.id)
    arm(router, second, tmp_path)
    time.sleep(ends_in_s)
    return second


def part_of(made: Revision) -> DeviceRevision:
    return made.devices["r1"]


def test_staging_changes_nothing_and_arms_nothing(router: Router, tmp_path: Path) -> None:
    made = revision_of(active(1, 10))
    stage(router, folder_of(made, tmp_path))
    staged = router.place / f"rev-{made.id}"
    assert router.ran == []
    assert router.armed == NO_PROGRAM
    assert (staged / "apply.txt").read_text().splitlines() == list(part_of(made).change.apply)
    assert (staged / "undo.txt").read_text().splitlines() == list(part_of(made).change.undo)
    assert (router.place.stat().st_mode & 0o777) == 0o700


def test_activation_arms_the_program_and_changes_once(router: Router, tmp_path: Path) -> None:
    made = revision_of(active(1, 10))
    folder = folder_of(made, tmp_path)
    stage(router, folder)
    assert activate(router, folder) is True
    assert router.armed == part_of(made).program.id
    assert router.ran == ["apply.txt"]
    assert activate(router, folder) is False
    assert router.ran == ["apply.txt"], "no command takes effect twice"


def test_a_program_whose_controller_is_gone_takes_its_steps_in_their_order(router: Router, tmp_path: Path) -> None:
    made = revision_of(active(1, 10), active(2, 20), ends_in_s=1.5)
    program = part_of(made).program
    soon = (program.instants[0], program.instants[0] + timedelta(seconds=1))
    made = replace(made, devices={"r1": replace(part_of(made), program=replace(program, instants=soon))})
    arm(router, made, tmp_path)
    assert router.armed == part_of(made).program.ids[0]
    wait_for(lambda: len(router.ran) == 3, "both ends")
    assert router.ran == ["apply.txt", "step", "step"]
    assert router.given.read_text().splitlines() == [line for one in agenda(part_of(made)) for line in one.lines]
    wait_for(lambda: router.armed == NO_PROGRAM, "the program's own end")
    lag = int(router.run(scripts.state_command(DEVICE)).stdout.split()[1])
    assert lag >= 0, "never before its instant"


@pytest.mark.slow
def test_a_step_is_in_the_name_of_what_is_left(router: Router, tmp_path: Path) -> None:
    made = revision_of(active(1, 10), active(2, 20), ends_in_s=3)
    arm(router, made, tmp_path)
    wait_for(lambda: router.armed == part_of(made).program.ids[1], "the first step")


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
    first = revision_of(active(1, 10), active(2, 20), ends_in_s=1.5)
    folder = folder_of(first, tmp_path)
    stage(router, folder)
    activate(router, folder)
    late = revision_of(active(2, 20), replaces=part_of(first).program.id)
    folder = folder_of(late, tmp_path)
    stage(router, folder)
    wait_for(lambda: "step" in router.ran, "the first step")
    with pytest.raises(DeviceError, match="it acted since it was read"):
        activate(router, folder)
    assert router.ran == ["apply.txt", "step"]
    assert router.armed == part_of(first).program.ids[1], "its own program goes on"


@pytest.mark.slow
def test_a_router_that_took_foreseen_steps_goes_on_with_the_longer_program(router: Router, tmp_path: Path) -> None:
    """Boundaries may be closer together than a reading and a push."""
    short = revision_of(active(1, 10), active(2, 20), ends_in_s=2)
    arm(router, short, tmp_path)
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


def test_a_change_that_is_refused_leaves_the_program_to_the_rollback(router: Router, tmp_path: Path) -> None:
    first = revision_of(active(1, 10))
    folder = folder_of(first, tmp_path)
    stage(router, folder)
    activate(router, folder)
    second = revision_of(active(1, 10), active(2, 20), replaces=part_of(first).program.id)
    folder = folder_of(second, tmp_path)
    stage(router, folder)
    router.broken.touch()
    with pytest.raises(DeviceError):
        activate(router, folder)
    router.broken.unlink()
    done = router.run(scripts.command("r1", "return", f"rev-{second.id}"))
    assert done.code == 0, done.words
    assert router.armed == part_of(first).program.id, "what was armed before is armed again"


def test_an_activation_goes_on_whose_login_ends(router: Router, tmp_path: Path) -> None:
    made = revision_of(active(1, 10))
    stage(router, folder_of(made, tmp_path))
    router.slow.touch()
    revision = router.place / f"rev-{made.id}"
    router.run_and_hang_up(
        scripts.command("r1", "activate", revision.name, str(clock(router, "r1").boot_cs)), revision / "pid"
    )
    assert router.ran == ["apply.txt"]
    assert router.armed == part_of(made).program.id
    assert (revision / "applied").exists()


def test_a_rollback_twice_is_a_rollback_once(router: Router, tmp_path: Path) -> None:
    first = revision_of(active(1, 10))
    arm(router, first, tmp_path)
    second = revision_of(active(1, 10), active(2, 20), replaces=part_of(first).program.id)
    arm(router, second, tmp_path)
    for _ in range(2):
        done = router.run(scripts.command("r1", "return", f"rev-{second.id}"))
        assert done.code == 0, done.words
        assert router.armed == part_of(first).program.id


def test_a_rollback_whose_way_back_was_refused_arms_what_was_armed_at_the_next_try(
    router: Router, tmp_path: Path
) -> None:
    first = revision_of(active(1, 10))
    arm(router, first, tmp_path)
    second = revision_of(active(1, 10), active(2, 20), replaces=part_of(first).program.id)
    arm(router, second, tmp_path)
    router.broken.touch()
    assert router.run(scripts.command("r1", "return", f"rev-{second.id}"), "qdisc show\n").code == 1
    router.broken.unlink()
    assert router.run(scripts.command("r1", "return", f"rev-{second.id}"), "qdisc show\n").code == 0
    assert router.armed == part_of(first).program.id


def test_a_rollback_of_what_was_never_taken_leaves_what_is_armed(router: Router, tmp_path: Path) -> None:
    """Another device of the push refused it: this one was only staged."""
    first = revision_of(active(1, 10))
    arm(router, first, tmp_path)
    stage(router, folder_of(second := revision_of(active(2, 20), replaces=part_of(first).program.id), tmp_path))
    done = router.run(scripts.command("r1", "return", f"rev-{second.id}"))
    assert done.code == 0, done.words
    assert router.armed == part_of(first).program.id


def test_a_slot_that_ended_before_a_rollback_does_not_come_back_at_the_next(router: Router, tmp_path: Path) -> None:
    """The configuration before the revision has the slot; what was armed before it ends it, each time."""
    second = armed_over_a_slot_that_ended(router, tmp_path, ends_in_s=3)
    for _ in range(2):
        done = router.run(scripts.command("r1", "return", f"rev-{second.id}"), "the slot comes back\n")
        assert (done.code, done.stdout) == (0, "again\n"), done.words
        assert router.ran[-2:] == ["back.txt", "step"]
        assert router.armed == NO_PROGRAM


@pytest.mark.slow
def test_a_rollback_to_after_the_slots_end_takes_no_step_again(router: Router, tmp_path: Path) -> None:
    """The way back was to what the ended slot left: the step that ended it is told as taken."""
    second = armed_over_a_slot_that_ended(router, tmp_path, ends_in_s=2)
    for _ in range(2):
        done = router.run(scripts.command("r1", "return", f"rev-{second.id}", "-", "1"), "without the slot\n")
        assert (done.code, done.stdout) == (0, "again\n"), done.words
        assert router.ran[-1] == "back.txt"
        assert router.armed == NO_PROGRAM


@pytest.mark.slow
def test_a_rollback_lets_a_step_be_taken_that_it_would_delay_but_not_one_after_the_other(
    router: Router, tmp_path: Path
) -> None:
    arm(router, first := revision_of(active(1, 10), ends_in_s=3), tmp_path)
    done = router.run(scripts.command("r1", "return", f"rev-{first.id}"), "the slot goes\n")
    assert done.code == 75
    assert "read it again" in done.words
    assert (router.ran[-1], router.armed) == ("step", NO_PROGRAM)
    assert "back.txt" not in router.ran
    arm(router, second := revision_of(active(1, 10), ends_in_s=3), tmp_path)
    assert router.run(scripts.command("r1", "return", f"rev-{second.id}"), "the slot goes\n").code == 0
    assert "back.txt" in router.ran


def test_a_rollback_of_what_was_only_staged_ends_a_slot_whose_program_is_through(
    router: Router, tmp_path: Path
) -> None:
    first = revision_of(active(1, 10), ends_in_s=1)
    arm(router, first, tmp_path)
    stage(router, folder_of(second := revision_of(active(2, 20), replaces=part_of(first).program.id), tmp_path))
    wait_for(lambda: router.armed == NO_PROGRAM, "the slot's end")
    steps = router.ran.count("step")
    done = router.run(scripts.command("r1", "return", f"rev-{second.id}"), "the slot comes back\n")
    assert (done.code, done.stdout) == (0, "again\n"), done.words
    assert router.ran.count("step") > steps


def test_where_nothing_is_open_any_more_arming_disarms(router: Router, tmp_path: Path) -> None:
    first = revision_of(active(1, 10))
    arm(router, first, tmp_path)
    empty = revision_of(replaces=part_of(first).program.id)
    arm(router, empty, tmp_path)
    assert router.armed == NO_PROGRAM


def test_what_was_kept_before_is_forgotten(router: Router, tmp_path: Path) -> None:
    replaces = NO_PROGRAM
    for minutes in (10, 11, 12, 13):
        made = revision_of(active(1, minutes), replaces=replaces)
        arm(router, made, tmp_path)
        replaces = part_of(made).program.id
    assert len(list(router.place.glob("rev-*"))) == 2, "the armed one and the one before it"


def test_its_clock_is_told_against_this_machines(router: Router, tmp_path: Path) -> None:
    stage(router, folder_of(revision_of(), tmp_path))
    answer = clock(router, "r1")
    uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    assert abs(answer.boot_cs / 100 - (time.time() - uptime_s)) < 5
    assert answer.ahead_us is not None
    assert abs(answer.ahead_us) < 5_000_000


def test_a_router_without_the_tools_says_which(
    router: Router, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "NEEDED", ("tc", "flock-of-another-planet"))
    with pytest.raises(DeviceError, match="there is no flock-of-another-planet on this router"):
        stage(router, folder_of(revision_of(active(1, 10)), tmp_path))


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
    with pytest.raises(Restless, match="it acted while it was read"):
        staging.reading_of({state: "aa\n", again: "bb\n"}, DEVICE)
