"""Experiments of one inventory share a lab; one that fails leaves the others their runs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slotcar_lab.errors import LabError
from slotcar_lab.experiments import catalogue, running
from slotcar_lab.experiments.experiment import Experiment
from slotcar_lab.experiments.model import Result
from slotcar_lab.experiments.scale import Scale
from slotcar_lab.patience import HANG_S
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.support.patience import wait_for

RESULT = Result("", "", "", "", (), (), {}, datetime(2027, 3, 1, tzinfo=UTC), 1.0, "")


class Labs:
    """Stands in for labs: the experiments here are none, and what is tested is their order."""

    def __init__(self) -> None:
        self.brought_up: list[Path] = []

    @contextlib.contextmanager
    def bench(
        self, inventory: Path, state_dir: Path, say: object, *, smoke: bool, real_time: bool, scale: Scale
    ) -> Iterator[Any]:
        assert state_dir.is_dir()
        assert not real_time
        self.brought_up.append(inventory)
        yield SimpleNamespace(inventory=inventory, clear=lambda: None)


@pytest.fixture
def labs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Labs:
    labs = Labs()
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(running, "bench", labs.bench)
    monkeypatch.setattr(running, "show", lambda result: None)
    return labs


def ran(
    monkeypatch: pytest.MonkeyPatch,
    names: list[str],
    *,
    failing: str = "",
    switching: str = "",
    error: Exception | None = None,
) -> running.Ran:
    def one(experiment: Experiment, ready: Any) -> Result:
        if experiment.name == failing:
            raise error or LabError("no room")
        if experiment.name == switching:
            ready.inventory = Path("another")
        return replace(RESULT, name=experiment.name)

    monkeypatch.setattr(Experiment, "run", one)
    monkeypatch.setattr(Experiment, "imagine", lambda self, say, *, smoke: one(self, None))
    return running.run(names, lambda text: None)


def test_those_of_one_inventory_share_a_lab_and_keep_their_order(labs: Labs, monkeypatch: pytest.MonkeyPatch) -> None:
    used = ran(monkeypatch, ["emerge-1", "qbss-1", "emerge-3", "qbss-2"])
    assert list(used.results) == ["emerge-1", "qbss-1", "emerge-3", "qbss-2"]
    assert len(labs.brought_up) == 2


def test_those_of_one_inventory_at_different_scales_have_a_lab_each(
    labs: Labs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EMERGE 4 shows nothing at less than a quarter."""
    used = ran(monkeypatch, ["emerge-1", "emerge-4", "emerge-3"])
    assert list(used.results) == ["emerge-1", "emerge-4", "emerge-3"]
    assert len(labs.brought_up) == 2


@pytest.mark.parametrize("error", [LabError("no room"), ValueError("no room"), ZeroDivisionError("no room")], ids=repr)
def test_one_that_fails_is_told_and_the_others_run(
    error: Exception, labs: Labs, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = ran(monkeypatch, ["qbss-1", "qbss-2", "qbss-3"], failing="qbss-2", error=error)
    assert list(used.results) == ["qbss-1", "qbss-3"]
    assert used.failures == {"qbss-2": "no room"}
    assert len(labs.brought_up) == 2


def test_a_simulation_brings_no_lab_up_and_the_others_share_theirs(
    labs: Labs, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(ran(monkeypatch, ["nict-share", "nict-af"]).results) == ["nict-share", "nict-af"]
    assert len(labs.brought_up) == 1
    failed = ran(monkeypatch, ["nict-share", "nict-af"], failing="nict-share", error=ValueError("no background"))
    assert (list(failed.results), failed.failures) == (["nict-af"], {"nict-share": "no background"})


def test_a_lab_that_was_given_another_inventory_is_not_used_again(labs: Labs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(ran(monkeypatch, ["drr-delay", "wrr-share"], switching="drr-delay").results) == [
        "drr-delay",
        "wrr-share",
    ]
    assert len(labs.brought_up) == 2


def test_all_are_run_unless_some_are_named(labs: Labs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(ran(monkeypatch, []).results) == list(catalogue.NAMES)


def test_what_shares_no_lab_may_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a lab, in two processes, and in the order in which they were named."""
    monkeypatch.delenv(PORT_BASE_VARIABLE, raising=False)
    monkeypatch.setattr(running, "_run_one_lab", _only_told)
    monkeypatch.setattr(running, "show", lambda result: None)
    used = running.run_side_by_side(["emerge-1", "qbss-1", "emerge-3", "nict-share"], 2)
    assert list(used.results) == ["emerge-1", "qbss-1", "emerge-3", "nict-share"]
    titles = {name: result.title for name, result in used.results.items()}
    assert titles["emerge-1"] == titles["emerge-3"] == "emerge-1 emerge-3"
    assert titles["nict-share"] == "nict-share"
    assert {result.source for result in used.results.values()} <= {"2260", "2280"}


def test_what_is_told_to_end_takes_its_labs_down_and_begins_no_more(tmp_path: Path) -> None:
    """`make lab-report` by SIGTERM, which only its first process gets."""
    program = "from tests.unit.lab.experiments.test_running import report_of_three; report_of_three()"
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ) as process:
        wait_for(lambda: len(list(tmp_path.glob("up-*"))) == 2, "both labs to be up")
        process.terminate()
        assert process.wait(HANG_S) == 128 + signal.SIGTERM
    wait_for(lambda: not list(tmp_path.glob("up-*")), "both labs to be taken down")


def report_of_three() -> None:
    """Three labs in two processes; they stay up until they are told to end."""
    running._run_one_lab = _stays_up
    running.end_in_order()
    running.run_side_by_side(["gara-4", "emerge-1", "qbss-1"], 2)


def _stays_up(names: list[str], since_s: float, smoke: bool, part: object) -> running.Ran:
    up = Path(f"up-{names[0]}")
    up.touch()
    try:
        time.sleep(HANG_S)
    finally:
        up.unlink()
    return running.Ran()


def test_a_lab_that_a_killed_run_left_is_taken_down_first(labs: Labs, monkeypatch: pytest.MonkeyPatch) -> None:
    down: list[Path] = []
    monkeypatch.setattr(running.control, "down", lambda folder: down.append(folder) or True)
    ran(monkeypatch, ["emerge-1", "emerge-3"])
    assert [(one.parent.name, one.name) for one in down] == [("emerge-1", "lab")]


def _only_told(names: list[str], since_s: float, smoke: bool, part: object) -> running.Ran:
    port_base = os.environ[PORT_BASE_VARIABLE]
    return running.Ran({name: replace(RESULT, name=name, title=" ".join(names), source=port_base) for name in names})
