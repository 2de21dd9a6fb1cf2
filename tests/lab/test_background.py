"""GARA Figure 4 on real routers: background falls for a foreground, comes back, and loses nothing because it was told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_lab import control
from slotcar_lab.experiments import gara_4
from slotcar_lab.experiments.bench import Bench, bench
from slotcar_lab.experiments.model import Verdict
from slotcar_lab.experiments.scale import TESTS
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import free_base

#: A lab with its controller takes minutes of a processor.
pytestmark = [pytest.mark.lab, pytest.mark.slow]
LOSSES = (
    "packets of the background lost at planned reductions",
    "packets of the foregrounds lost while they are reserved",
)
RATES = (
    "bandwidth of the background, alone (1 of 3)",
    "bandwidth of the background, beside 36 Mb/s (2 of 3)",
    "bandwidth of the background, again alone (3 of 3)",
)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    state_dir: Path = tmp_path_factory.mktemp("background")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PORT_BASE_VARIABLE, str(free_base()))
        patch.setenv("SLOTCAR_STATE_DIR", str(state_dir))
        experiment = gara_4.EXPERIMENT
        scale = experiment.scale_at(TESTS)
        with bench(experiment.inventory, state_dir, control.quiet, smoke=True, scale=scale) as started:
            yield started


def test_background_gives_way_without_losing_a_packet(ready: Bench) -> None:
    result = gara_4.EXPERIMENT.run(ready)
    verdicts = {row.figure: row.verdict for row in result.rows}
    assert {*LOSSES, *RATES} <= verdicts.keys()
    assert set(verdicts.values()) <= {Verdict.AS_THE_PAPER, Verdict.AS_PROMISED}, "\n".join(map(str, result.rows))
    assert "dst_port 5001" in "\n".join(result.configuration["anl-edge"])
