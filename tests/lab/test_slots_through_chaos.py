"""One short round of chaos in every run of the tests; `make chaos SEED=1 MINUTES=60` plays on.

The histories are for a controller whose turn takes some seconds; where it takes longer, all of their times do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from slotcar_lab import requirements
from slotcar_lab.chaos.round import Outcome, play, unnumbered
from slotcar_lab.chaos.script import FAULTS, Action, pace_of
from slotcar_lab.chaos.stage import Stage, stage_on
from slotcar_lab.control import Lab
from slotcar_lab.snapshot import snapshots
from tests.lab.conftest import INVENTORY

#: A hang ends the run; a busy machine, where a history is stretched, does not.
pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]
#: Who leads dies with what it is doing, the database dies, a router restarts in a slot; each is survived.
HISTORY = (
    Action(
        0.0, "create", {"name": "whole", "port": "6000", "rate": "5 Mbit/s", "start": "now + 8 s", "duration": "36 s"}
    ),
    Action(
        1.0, "create", {"name": "brief", "port": "6001", "rate": "3 Mbit/s", "start": "now + 12 s", "duration": "6 s"}
    ),
    Action(8.0, "kill-leader"),
    Action(16.0, "restart-router", {"router": "lbnl-edge"}),
    Action(20.0, "kill-database", {"how": "killed"}),
    Action(26.0, "modify", {"name": "whole", "rate": "4 Mbit/s"}),
)


#: Each fault of the controllers' machine once, and each kind of fault that the history above lacks.
EVERY_OTHER_FAULT = (
    Action(
        0.0, "create", {"name": "first", "port": "6010", "rate": "5 Mbit/s", "start": "now + 8 s", "duration": "170 s"}
    ),
    Action(2.0, "stop-leader"),
    Action(35.0, "set-clock-of-standby", {"ahead_s": "3600", "for_s": "10"}),
    Action(50.0, "make-database-read-only", {"for_s": "10"}),
    Action(
        53.0, "create", {"name": "none", "port": "6011", "rate": "3 Mbit/s", "start": "now + 9 s", "duration": "9 s"}
    ),
    Action(70.0, "fill-disk", {"for_s": "10"}),
    Action(85.0, "modify", {"name": "first", "rate": "4 Mbit/s"}),
    Action(90.0, "stop-standby"),
    Action(115.0, "kill-standby"),
    Action(118.0, "cut-ssh"),
    Action(120.0, "partition", {"router": "anl-edge"}),
    Action(135.0, "set-clock-of-leader", {"ahead_s": "-3600", "for_s": "10"}),
)


@pytest.fixture
def stage(lab: Lab, tmp_path: Path, alone: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    # Those that are killed leave their temporary files.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    requirements.ensure_for("chaos", lambda _: None)
    with stage_on(lab, tmp_path, INVENTORY) as started:
        yield started


def played(stage: Stage, history: Sequence[Action]) -> Outcome:
    baseline = {router: unnumbered(text) for router, text in snapshots(stage.lab).items()}
    outcome = play(stage, stretched(history, pace_of(stage.turn_s())), baseline, lambda _: None)
    words = "\n".join([*outcome.history, *outcome.events])
    assert outcome.findings == [], words
    assert outcome.active, f"a controller that does nothing breaks no promise\n{words}"
    return outcome


def stretched(history: Sequence[Action], pace: float) -> list[Action]:
    """The same at another pace: the instants, and the seconds in what is said."""

    def longer(match: re.Match[str]) -> str:
        return str(round(pace * int(match[0])))

    def words(action: Action) -> dict[str, str]:
        slower = {key: re.sub(r"\d+(?= s$)", longer, value) for key, value in action.words.items()}
        return slower | {key: re.sub(r"\d+", longer, slower[key]) for key in slower.keys() & {"for_s"}}

    return [replace(action, at_s=pace * action.at_s, words=words(action)) for action in history]


@pytest.mark.slow  # until it was seen to pass beside the others in one quiet run
def test_deaths_in_the_middle_of_things_leave_every_slot_in_its_window(stage: Stage) -> None:
    played(stage, HISTORY)


@pytest.mark.slow  # in short: the history above, and tests/lab/test_chaos_faults.py
def test_every_other_fault_leaves_every_slot_in_its_window(stage: Stage) -> None:
    outcome = played(stage, EVERY_OTHER_FAULT)
    drawn = {action.kind for action in (*HISTORY, *EVERY_OTHER_FAULT)}
    assert drawn >= set(FAULTS)
    happened = {kind for kind, times in outcome.happened.items() if times}
    assert happened >= {action.kind for action in EVERY_OTHER_FAULT} - {"create", "cut-ssh"}, outcome.history
