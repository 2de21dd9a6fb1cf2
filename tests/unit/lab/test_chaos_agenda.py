"""What happens at which instant of a round, and which pushes stop for a fault before one of their tasks."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from slotcar_lab.chaos.agenda import Agenda
from slotcar_lab.chaos.controllers import Controllers
from slotcar_lab.chaos.faults import Disk
from slotcar_lab.chaos.gate import FOLDER, Gate, pass_gates
from slotcar_lab.chaos.stage import PLACED_S, Stage
from slotcar_lab.control import Lab
from tests.support.patience import PATIENCE_S, wait_for


class Clock:
    """That of a round, which goes on as it is waited for."""

    def __init__(self) -> None:
        self.instant = 100.0

    def now(self) -> float:
        return self.instant


class World:
    """A stage without a lab, whose faults are noted."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.happened = Clock(), list[str]()
        processes = SimpleNamespace(timing=self.clock, agenda=Agenda(), gates=folder, look=int, ending=False)
        self.stage = Stage(cast(Lab, None), cast(Disk, None), folder, cast(Controllers, processes))

    def note(self, what: str) -> None:
        self.happened.append(what)

    def last(self, what: str, for_s: float) -> None:
        self.stage._last(what, for_s, lambda: self.note(f"{what} ends"), lambda: self.note(f"{what} goes on"))

    def goes_on(self, until: float) -> None:
        self.clock.instant = until
        self.stage.do_due()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return World(tmp_path)


def test_what_is_on_the_agenda_happens_by_its_instants_and_for_one_instant_as_it_was_put_down() -> None:
    agenda, happened = Agenda(), list[int]()
    for number, at in enumerate((30.0, 10.0, 20.0, 10.0)):
        agenda.put(at, lambda number=number: happened.append(number))  # type: ignore[misc]
    assert agenda.next_at == 10.0
    assert agenda.take(9.9) is None
    while (entry := agenda.take(20.0)) is not None:
        entry()
    assert happened == [1, 3, 2]
    assert agenda.next_at == 30.0
    agenda.clear()
    assert agenda.next_at is None


def test_a_fault_that_lasts_ends_at_its_instant_and_goes_on_until_then(world: World) -> None:
    world.last("disk", 10.0)
    world.stage.beside()
    assert world.stage.busy
    world.goes_on(109.0)
    assert world.happened == ["disk goes on"]
    world.goes_on(110.0)
    world.stage.beside()
    assert world.happened == ["disk goes on", "disk ends"]
    assert not world.stage.busy


def test_a_fault_that_was_put_right_does_not_end_the_next_of_its_kind(world: World) -> None:
    world.last("disk", 10.0)
    world.stage._end_lasting("disk")
    world.clock.instant = 105.0
    world.last("disk", 10.0)
    world.goes_on(110.0)
    assert world.happened == ["disk ends"]
    world.stage.put_right()
    assert world.happened == ["disk ends", "disk ends"]
    assert not world.stage.busy


def test_a_push_waits_before_the_task_of_a_fault_until_that_has_struck(world: World) -> None:
    world.stage.place(2, lambda: world.note("struck"), lambda: world.note("no push"), PLACED_S)
    for play, task in (("read-linux", 2), ("rollback", 2), ("push-linux", 1)):
        pass_gates(play, task)
    world.stage.beside()
    assert world.happened == []
    push = threading.Thread(target=pass_gates, args=("push-linux", 2))
    push.start()
    wait_for(lambda: world.stage._placed[0][0].reached, "the push to wait")
    world.stage.beside()
    push.join(PATIENCE_S)
    assert not push.is_alive()
    assert world.happened == ["struck"]
    pass_gates("push-linux", 2)
    world.goes_on(100.0 + PLACED_S)
    assert world.happened == ["struck"]


def test_a_fault_that_no_push_came_for_is_not_waited_for_any_longer(world: World) -> None:
    world.stage.place(3, lambda: world.note("struck"), lambda: world.note("no push"), PLACED_S)
    world.goes_on(100.0 + PLACED_S)
    pass_gates("push-linux", 3)
    assert world.happened == ["no push"]
    assert not world.stage.busy


def test_a_play_that_nobody_watches_passes_all_gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    Gate(tmp_path, "one", 1).close()
    pass_gates("push-linux", 1)
