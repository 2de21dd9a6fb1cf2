"""A push and what takes it back go by one clock, also where this machine's is set in between."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.timebase import EPOCH, Clocks
from slotcar.platforms.model import Configuration
from slotcar.rollout import play_clock
from slotcar.rollout.archive import Archive
from slotcar.rollout.model import NO_PROGRAM, Failure, PushFailed, Reading, Superseded
from slotcar.rollout.playbook import PlaybookResult, Playbooks
from slotcar.rollout.pusher import Pusher
from tests.support.requests import T0
from tests.unit.rollout.support import NETWORK, active, wanted

GIVEN_UP = PlaybookResult(ok=False, given_up=True)
FAILED = PlaybookResult(ok=False, failures={"r1": Failure("r1", "it broke", unreachable=False)})


@dataclass(frozen=True, slots=True)
class Plays(Playbooks):
    """Runs nothing: what each play would have answered, and the clock that it would have gone by."""

    answer: PlaybookResult = field(default_factory=PlaybookResult)
    heard: list[str] = field(default_factory=list)

    def run(self, name: str, *_: Any, **__: Any) -> PlaybookResult:
        self.heard.append(self._environment("scratch")[play_clock.OFFSET])
        return PlaybookResult() if name == "rollback" else self.answer


@pytest.mark.parametrize(("answer", "refusal"), [(GIVEN_UP, Superseded), (FAILED, PushFailed)])
def test_a_rollback_goes_by_the_clock_of_its_push(
    answer: PlaybookResult, refusal: type[Exception], tmp_path: Path
) -> None:
    settings = iter(timedelta(hours=hours) for hours in range(1, 9))
    clocks = Clocks(now=lambda: EPOCH + next(settings), monotonic=lambda: 0.0)
    targets = wanted(active(1, 10))
    readings = {name: Reading(Configuration(name, NETWORK.devices[name].platform), NO_PROGRAM) for name in targets}
    plays = Plays(tmp_path, tmp_path, clocks=clocks, answer=answer)
    with pytest.raises(refusal):
        Pusher(plays, Archive(tmp_path / "state"), NETWORK.devices).push(targets, readings, T0)
    assert len(set(plays.heard)) == 1
    assert len(plays.heard) == 2


def test_plays_that_read_the_controllers_clock_themselves_are_told_nothing(tmp_path: Path) -> None:
    plays = Playbooks(tmp_path, tmp_path, clocks=Clocks(read_by_plays=True))
    for one in (plays, plays.by_the_present_clock()):
        assert play_clock.OFFSET not in one._environment("scratch")


def test_without_a_controller_it_is_this_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 5.0)
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    assert play_clock.now_s() == 5.0
    assert play_clock.monotonic_s() == 5.0
    for name, value in play_clock.environment(timedelta(seconds=100)).items():
        monkeypatch.setenv(name, value)
    assert play_clock.now_s() == 107.0
    assert play_clock.monotonic_s() == 7.0
