"""Three of the papers' experiments in short, on one lab of their own: what is configured, and the rows that must hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_lab import control
from slotcar_lab.experiments import emerge_1, emerge_3, emerge_4
from slotcar_lab.experiments.bench import Bench, bench
from slotcar_lab.experiments.experiment import Experiment
from slotcar_lab.experiments.model import Result, Verdict
from slotcar_lab.experiments.scale import TESTS
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import free_base

#: A lab with its controller takes minutes of a processor.
pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The bench of EMERGE's network; its three experiments here share one inventory."""
    state_dir = tmp_path_factory.mktemp("experiments")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PORT_BASE_VARIABLE, str(free_base()))
        patch.setenv("SLOTCAR_STATE_DIR", str(state_dir))
        scale = emerge_1.EXPERIMENT.scale_at(TESTS)
        with bench(emerge_1.HERE / "inventory", state_dir, control.quiet, smoke=True, scale=scale) as started:
            yield started
    assert not list(Path(os.fspath(state_dir)).glob("lab/lab.json")), "the lab is gone"


def shown(ready: Bench, experiment: Experiment, *figures: str) -> Result:
    """A run in which these figures hold."""
    result = experiment.run(ready)
    verdicts = {row.figure: row.verdict for row in result.rows if row.figure in figures}
    assert verdicts.keys() == set(figures)
    assert set(verdicts.values()) <= {Verdict.AS_THE_PAPER, Verdict.AS_PROMISED}, "\n".join(map(str, result.rows))
    return result


def configured(result: Result) -> str:
    """What the edge was told of the flow."""
    (line,) = [line for line in result.configuration["evl"] if "ingress protocol ip pref 20813" in line]
    assert any(" htb prio 0 " in line for line in result.configuration["aruba"])
    return line


def test_a_foreground_loses_less_with_its_reservation_than_congested(ready: Bench) -> None:
    result = shown(
        ready, emerge_1.EXPERIMENT,
        "bandwidth of the foreground, congested", "latency, congested", "packet loss, congested",
        "packet loss, reserved",
    )  # fmt: skip
    # 25/32 Mb/s of payload in packets of 1428 bytes: 1400 of payload each (GARA §5.1), on the platform's grain of 8 bit/s.
    assert "dst_port 5001 action police rate 796880bit" in configured(result)
    assert [plot.slug for plot in result.plots] == ["bandwidth", "latency", "loss"]
    assert all(plot.curves[0].x for plot in result.plots)


def test_what_a_foreground_gains_and_a_background_loses_is_told(ready: Bench) -> None:
    result = shown(ready, emerge_3.EXPERIMENT, "least recovery of a foreground")
    assert "dst_port 5001 action police rate 478128bit" in configured(result)
    assert all(row.ours is not None for row in result.rows)


def test_an_avatar_is_policed_to_its_thousand_bits(ready: Bench) -> None:
    result = shown(ready, emerge_4.EXPERIMENT, "latency of the avatar, congested", "loss of the avatar, reserved")
    assert "dst_port 5001 action police rate 8000bit" in configured(result)
    assert [plot.slug for plot in result.plots] == ["latency", "delays", "jitter"]
