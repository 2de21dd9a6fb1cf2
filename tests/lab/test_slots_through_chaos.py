"""One short round of chaos in every run of the tests; `make chaos SEED=1 MINUTES=60` plays on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.chaos.round import play, unnumbered
from lab.chaos.script import Action
from lab.chaos.stage import Stage
from lab.control import Lab
from lab.snapshot import snapshots
from tests.lab.conftest import INVENTORY
from tests.support.controllers import wait_for

pytestmark = pytest.mark.lab
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


@pytest.fixture
def stage(lab: Lab, state_dir: Path, alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    # Those that are killed leave their temporary files.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    made = Stage(lab, state_dir, INVENTORY)
    try:
        for name in ("a", "b"):
            made.start(name)
        wait_for(lambda: (leader := made.leader()) is not None and made.controllers[leader].settled(), "a leader")
        yield made
    finally:
        made.stop()


def test_deaths_in_the_middle_of_things_leave_every_slot_in_its_window(stage: Stage) -> None:
    baseline = {router: unnumbered(text) for router, text in snapshots(stage.lab).items()}
    outcome = play(stage, HISTORY, baseline, lambda _: None)
    assert outcome.findings == [], "\n".join([*outcome.history, *outcome.events])
    assert outcome.active, "a controller that does nothing breaks no promise"
