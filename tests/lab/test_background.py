"""GARA Figure 4 on real routers: background falls for a foreground, comes back, and loses nothing because it was told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_lab import control
from slotcar_lab.experiments import gara_4
from slotcar_lab.experiments.bench import Bench, bench
from slotcar_lab.experiments.model import Verdict
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import free_base

pytestmark = [pytest.mark.lab, pytest.mark.slow]
LOSSES = (
    "packets of the background lost at planned reductions",
    "packets of the foregrounds lost while they are reserved",
)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    state_dir: Path = tmp_path_factory.mktemp("background")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PORT_BASE_VARIABLE, str(free_base()))
        patch.setenv("SLOTCAR_STATE_DIR", str(state_dir))
        with bench(gara_4.EXPERIMENT.inventory, state_dir, control.quiet, smoke=True) as started:
            yield started


def test_background_gives_way_without_losing_a_packet(ready: Bench) -> None:
    for _ in range(2):
        result = gara_4.EXPERIMENT.run(ready)
        verdicts = {row.figure: row.verdict for row in result.rows}
        if Verdict.NOT_SHOWN not in verdicts.values():
            break
        ready.clear()
    else:
        pytest.skip(f"too busy to show it twice: {result.explanation}")
    rows = "\n".join(map(str, result.rows))
    assert {verdicts[figure] for figure in LOSSES} <= {Verdict.AS_PROMISED, Verdict.AS_THE_PAPER}, rows
    rates = [row for row in result.rows if row.figure.startswith("bandwidth of the background")]
    assert len(rates) == 3
    assert all(row.verdict is Verdict.AS_THE_PAPER for row in rates), rows
    assert "dst_port 5001" in "\n".join(result.configuration["anl-edge"])
