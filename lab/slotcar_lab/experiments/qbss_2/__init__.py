"""D7.3 Figure 7: a scavenger TCP stream and three best-effort streams."""

from __future__ import annotations

from pathlib import Path

from slotcar_lab.experiments.bench import Bench
from slotcar_lab.experiments.datagrid import qbss
from slotcar_lab.experiments.experiment import Experiment, Findings

HERE = Path(__file__).parent
STREAMS = 3


def measure(bench: Bench) -> Findings:
    return qbss.measure(bench, HERE / "reservations.yml", STREAMS)


EXPERIMENT = Experiment(
    name="qbss-2",
    title="D7.3: QBSS and three best-effort streams of TCP",
    source="DataGRID D7.3 §8.1.3, Figure 7",
    shown=(
        "A scavenger stream has the whole link while nobody else wants it, shrinks to its 1 % when best effort comes, and"
        " returns to the whole link when that goes."
    ),
    inventory=HERE.parent / "datagrid" / "congested",
    measure=measure,
)
