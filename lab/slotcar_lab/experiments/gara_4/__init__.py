"""GARA Figure 4: background reservations give way to foreground reservations, and come back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from slotcar_lab.experiments import gara
from slotcar_lab.experiments.bench import Bench, Udp
from slotcar_lab.experiments.experiment import Experiment, Findings

HERE = Path(__file__).parent
COURSE = gara.Course(
    file=HERE / "reservations.yml",
    premium_mbps=45,
    foregrounds=(
        gara.Foreground("first", 36, 32),
        gara.Foreground("second", 9, 8),
        gara.Foreground("third", 18, 16),
    ),
    competing=Udp("anl-traffic", "lbnl-traffic", 6001, 10_000_000, 1_000),
    smoke_until="first",
)


def measure(bench: Bench) -> Findings:
    return gara.measure(bench, COURSE)


EXPERIMENT = Experiment(
    name="gara-4",
    title="GARA Figure 4: a background reservation beside three foreground reservations",
    source="Foster et al., End-to-End Quality of Service for High-End Applications (GARA), §5.2, Figure 4",
    shown=(
        "A background reservation gets nine tenths of the premium bandwidth that foreground reservations leave, falls when"
        " one begins and comes back when it ends; and, what GARA's did not do, it loses no packet at a planned reduction,"
        " because its program is told before it."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    written=Fraction(1, 8),
    least=Fraction(1, 32),
    scale=gara.EIGHTH
    + " The background is a stream of datagrams that follows its announcements, where GARA's was TCP."
    + " The competing traffic fills a link of 7.5 Mb/s by itself.",
)
