"""EMERGE 2: the reverse direction, whose bottleneck is as narrow as the foreground is wide."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from slotcar_lab.experiments import added, figures
from slotcar_lab.experiments.bench import Bench, Udp
from slotcar_lab.experiments.emerge import RESIDUE, stages
from slotcar_lab.experiments.emerge.stages import Staged
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.figures import during
from slotcar_lab.experiments.model import Plot, Row, Rule

HERE = Path(__file__).parent
#: 25 Mb/s on the wire is all that the pipe has; a little less of it, as EMERGE measured.
FOREGROUND = Udp("tundra", "laurel", 5001, 5_900_000)
BACKGROUND = Udp("fjuk", "laurel", 5002, 6_250_000)
#: What the foreground sends under strict priority: a little less than admission accepts, as in experiment 1.
STRICT_BPS = 4_680_000
#: Of the pipe's 6.25 Mb/s it leaves 1.4.
FITS = Udp("fjuk", "laurel", 5003, 900_000)
SHORT_ALONE_S, SHORT_CONGESTED_S = 6.0, 8.0

REFUSED = Rule(
    "the paper's reservation of 25 Mb/s through 25 Mb/s",
    "was made",
    "refusals",
    "admission refuses it",
    lambda ours, _: ours == 1,
    promise=True,
)
CONGESTED = Rule(
    "latency, congested",
    "detrimental effect",
    "ms, median",
    "at least 10 ms above what it was alone",
    lambda ours, alone: ours >= alone + 10,
)
FAIR_RATE = Rule(
    "bandwidth, weighted fair queueing",
    "recovers",
    "Mb/s",
    "at least 90 % of what it had alone",
    lambda ours, alone: ours >= 0.9 * alone,
)
FAIR_DELAY = Rule(
    "latency, weighted fair queueing",
    "only partially restored: about 150 ms",
    "ms, median",
    "at least 10 ms above what it was alone",
    lambda ours, alone: ours >= alone + 10,
)
FAIR_LOSS = Rule(
    "packet loss, weighted fair queueing",
    "has doubled",
    "%",
    "at least 2 points above what it was alone",
    lambda ours, alone: ours >= alone + 2,
)
STRICT_RATE = Rule(
    "bandwidth, strict priority within what is admitted",
    "not tried on that router",
    "Mb/s",
    "at least 99 % of what it sends",
    lambda ours, sent: ours >= 0.99 * sent,
    promise=True,
)
STRICT_DELAY = Rule(
    "latency, strict priority within what is admitted: what the full pipe adds",
    "not tried on that router; 150 ms by fair queueing",
    "ms, median",
    "at most 5 ms more than in the same slot where the pipe is not full",
    lambda ours, _: ours <= 5,
    promise=True,
)
STRICT_LOSS = Rule(
    "packet loss, strict priority within what is admitted",
    "not tried on that router",
    "%",
    "at most 0.5 %",
    lambda ours, _: ours <= 0.5,
    promise=True,
)


def measure(bench: Bench) -> Findings:
    fair = stages.run(bench, HERE / "fair.yml", FOREGROUND, (BACKGROUND,))
    bench.switch(HERE / "priority")
    refusal = bench.refusal(HERE / "paper.yml")
    less = replace(FOREGROUND, rate_bps=STRICT_BPS)
    file = HERE / "strict.yml"
    strict = stages.run(bench, file, less, (BACKGROUND,), SHORT_ALONE_S, SHORT_CONGESTED_S, fits=FITS)
    rows = (
        REFUSED.judge(float(bool(refusal)), note=_reasons(refusal)),
        *_fair(fair),
        *_strict(strict),
    )
    joined = fair.configuration | {f"{name} (strict priority)": ls for name, ls in strict.configuration.items()}
    return Findings(
        rows, (*_plots(fair, "fair", "fair queueing"), *_plots(strict, "strict", "strict priority")), joined
    )


def _reasons(refusal: str) -> str:
    """What is short where, and what would fit, out of admission's words."""
    lines = (line.strip() for line in refusal.splitlines())
    return "; ".join(line for line in lines if " requested, " in line or line.startswith("the highest"))


def _fair(staged: Staged) -> tuple[Row, ...]:
    stream, payload = staged.streams[FOREGROUND.port], FOREGROUND.payload_bytes
    rates = [figures.rate_mbps(stream, payload, phase, staged.scale) for phase in staged.phases]
    delays = [figures.median_ms(during(stream, phase)) for phase in staged.phases]
    losses = [figures.loss_percent(during(stream, phase)) for phase in staged.phases]
    return (
        CONGESTED.judge(delays[1], delays[0], note=f"alone {delays[0] or 0:.1f} ms"),
        FAIR_RATE.judge(rates[2], rates[0], note=f"alone {rates[0]:.2f}, congested {rates[1]:.2f} Mb/s"),
        FAIR_DELAY.judge(delays[2], delays[0]),
        FAIR_LOSS.judge(losses[2], losses[0], note=f"congested {losses[1] or 0:.1f} %"),
    )


def _strict(staged: Staged) -> tuple[Row, ...]:
    stream, payload = staged.streams[FOREGROUND.port], FOREGROUND.payload_bytes
    alone, congested, reserved = (during(stream, phase) for phase in staged.phases)
    sent = figures.sent_mbps(stream, payload, staged.reserved, staged.scale)
    delays = ", ".join(
        f"{name} {figures.median_ms(part) or 0:.1f}"
        for name, part in (("alone", alone), ("congested", congested), ("reserved", reserved))
    )
    return (
        STRICT_RATE.judge(figures.rate_mbps(stream, payload, staged.reserved, staged.scale), sent),
        STRICT_DELAY.judge(staged.scale.own_ms(staged.added_ms(FOREGROUND.port, added.MEDIAN)), note=f"{delays} ms"),
        STRICT_LOSS.judge(figures.loss_percent(reserved)),
    )


def _plots(staged: Staged, slug: str, title: str) -> tuple[Plot, ...]:
    names = {FOREGROUND.port: "foreground", BACKGROUND.port: "background"}
    return tuple(
        replace(plot, slug=f"{slug}-{plot.slug}", title=f"{plot.title}, {title}")
        for plot in stages.plots(staged, names, FOREGROUND.payload_bytes)
    )


EXPERIMENT = Experiment(
    name="emerge-2",
    title="EMERGE 2: fair queueing leaves the latency high, strict priority does not",
    source="Leigh et al., EMERGE DiffServ experiments, experiment 2, Figure 3",
    shown=(
        "Weighted fair queueing gives the foreground its bandwidth back and leaves its latency high; admission refuses the"
        " reservation that the paper made; one that it accepts brings the latency back under strict priority."
    ),
    inventory=HERE / "weighted",
    measure=measure,
    explain=RESIDUE,
    scale=QUARTER + " The foreground is 94 % of the paper's: with headers, all of its 25 Mb/s do not fit the pipe.",
)
