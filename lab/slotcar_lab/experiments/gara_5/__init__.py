"""GARA Figure 5: background beside foreground over a wide-area circuit."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from slotcar_lab.experiments import gara
from slotcar_lab.experiments.bench import Bench, Udp
from slotcar_lab.experiments.experiment import Experiment, Findings

HERE = Path(__file__).parent
COURSE = gara.Course(
    file=HERE / "reservations.yml",
    premium_mbps=27,
    foregrounds=(gara.Foreground("first", 18, 16), gara.Foreground("second", 9, 8)),
    competing=Udp("anl-traffic", "lbnl-traffic", 6001, 6_250_000, 1_250),
    smoke_until="first",
)


def measure(bench: Bench) -> Findings:
    return gara.measure(bench, COURSE)


EXPERIMENT = Experiment(
    name="gara-5",
    title="GARA Figure 5: background beside foreground over a circuit of 60 Mb/s",
    source="Foster et al., End-to-End Quality of Service for High-End Applications (GARA), §5.3, Figure 5",
    shown=(
        "The same over a wide-area circuit with 27 Mb/s of premium: the background begins at nine tenths of it, falls at"
        " each foreground reservation and comes back; no packet is lost at a planned reduction."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    written=Fraction(1, 8),
    least=Fraction(1, 32),
    scale=gara.EIGHTH
    + " The background is a stream of datagrams that follows its announcements, where GARA's was TCP. How long the"
    + " foregrounds last the paper does not print: 30 s here.",
)
