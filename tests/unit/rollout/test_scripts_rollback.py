"""A Linux router's rollback, run by a real shell: its way back, and the program that is armed afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.rollout.linux import scripts
from slotcar.rollout.model import NO_PROGRAM, Revision
from slotcar.rollout.transport import DeviceError
from tests.support.patience import wait_for
from tests.unit.rollout.linux_router import SOON_S, Router, activate, arm, folder_of, part_of, revision_of, stage
from tests.unit.rollout.support import active


def armed_over_a_slot_that_ended(router: Router, tmp_path: Path) -> Revision:
    """The revision that was armed over the one whose slot has ended since."""
    first = revision_of(active(1, 10), ends_in_s=SOON_S)
    arm(router, first, tmp_path)
    second = revision_of(active(1, 10), active(2, 20), replaces=part_of(first).program.id)
    arm(router, second, tmp_path)
    router.advance(SOON_S)
    return second


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
    second = armed_over_a_slot_that_ended(router, tmp_path)
    for _ in range(2):
        done = router.run(scripts.command("r1", "return", f"rev-{second.id}"), "the slot comes back\n")
        assert (done.code, done.stdout) == (0, "again\n"), done.words
        assert router.ran[-2:] == ["back.txt", "step"]
        assert router.armed == NO_PROGRAM


@pytest.mark.parametrize("verb", ["return", "keep", "disarm"])
def test_a_change_for_what_was_read_before_a_step_is_refused(router: Router, tmp_path: Path, verb: str) -> None:
    """The step may be taken while the command waits for it: its lines would bring back what has ended."""
    first = revision_of(active(1, 10), ends_in_s=SOON_S)
    arm(router, first, tmp_path)
    was = router.armed
    router.advance(SOON_S)
    wait_for(lambda: router.armed == NO_PROGRAM, "the slot's end")
    words = {"return": (f"rev-{first.id}", "-", "0"), "keep": (f"rev-{first.id}", "0", "1"), "disarm": ()}[verb]
    done = router.run(scripts.command("r1", verb, *words, was), "the slot comes back\n")
    assert (done.code, done.words) == (75, "it ran a scheduled step after it was read; read it again")
    assert "back.txt" not in router.ran
    done = router.run(scripts.command("r1", verb, *words, NO_PROGRAM), "what is left goes\n")
    assert done.code == 0, done.words
    assert "back.txt" in router.ran


@pytest.mark.slow
def test_a_rollback_to_after_the_slots_end_takes_no_step_again(router: Router, tmp_path: Path) -> None:
    """The way back was to what the ended slot left: the step that ended it is told as taken."""
    second = armed_over_a_slot_that_ended(router, tmp_path)
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
    first = revision_of(active(1, 10), ends_in_s=SOON_S)
    arm(router, first, tmp_path)
    stage(router, folder_of(second := revision_of(active(2, 20), replaces=part_of(first).program.id), tmp_path))
    router.advance(SOON_S)
    wait_for(lambda: router.armed == NO_PROGRAM, "the slot's end")
    steps = router.ran.count("step")
    done = router.run(scripts.command("r1", "return", f"rev-{second.id}"), "the slot comes back\n")
    assert (done.code, done.stdout) == (0, "again\n"), done.words
    assert router.ran.count("step") > steps
