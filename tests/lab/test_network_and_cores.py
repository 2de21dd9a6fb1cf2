"""GARA Figure 6 in short: a flow needs its network and its receiver's cores, and gets both by two reservations."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar_lab import control
from slotcar_lab.experiments import gara_6
from slotcar_lab.experiments.bench import bench
from slotcar_lab.experiments.scale import TESTS
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import free_base

#: A lab with its controller takes minutes of a processor.
pytestmark = [pytest.mark.lab, pytest.mark.slow]


def test_a_flow_keeps_its_rate_with_both_and_not_with_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PORT_BASE_VARIABLE, str(free_base()))
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path / "state"))
    experiment, state = gara_6.EXPERIMENT, tmp_path / "state"
    with bench(experiment.inventory, state, control.quiet, smoke=True, scale=experiment.scale_at(TESTS)) as ready:
        result = experiment.run(ready)
    ours = {row.figure: row.ours or 0.0 for row in result.rows}
    alone, congested, reserved, loaded, both, network_over, _ = ours.values()
    words = "\n".join(map(str, result.rows))
    assert congested < 0.6 * alone, words
    assert loaded < 0.8 * reserved, words
    assert both > loaded + 15, words
    assert network_over < both - 15, words
    (line,) = [line for line in result.configuration["receiver"] if line.startswith("slice ")]
    assert " bind=process:" in line
    assert any("dst_port 5001" in line for line in result.configuration["anl-edge"])
