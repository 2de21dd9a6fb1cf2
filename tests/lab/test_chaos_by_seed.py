"""A seed's round in virtual time: the same actions at the same instants, and the same verdict, each time it is played."""

from __future__ import annotations

import pytest

from slotcar_lab import requirements
from slotcar_lab.chaos.__main__ import Run
from slotcar_lab.chaos.round import Outcome, play
from slotcar_lab.chaos.script import script
from slotcar_lab.chaos.timing import IN_VIRTUAL_TIME
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import free_base

#: Two labs and two rounds, one after the other: minutes. In short: tests/unit/lab/test_conductor.py, test_chaos_agenda.py.
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]
#: In its first round a fault strikes within a push.
SEED = 1


def played() -> Outcome:
    with Run(1.0, 0, None, IN_VIRTUAL_TIME).staged() as (stage, baseline):
        return play(stage, script(SEED, 0), baseline, lambda _: None)


def test_a_seeds_round_has_the_same_history_and_the_same_verdict_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    requirements.ensure_for("chaos", lambda _: None)
    monkeypatch.setenv(PORT_BASE_VARIABLE, str(free_base()))
    first, second = played(), played()
    assert any("task=" in line and "no push came" not in line for line in first.history), first.history
    assert first.history == second.history
    assert (first.findings, second.findings) == ([], [])
    assert (first.slots, first.active) == (second.slots, second.active)
