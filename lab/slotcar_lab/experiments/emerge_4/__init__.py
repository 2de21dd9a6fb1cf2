"""EMERGE 4: latency and jitter of a tele-immersive application's avatar stream."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from slotcar.measuring.metrics import ipdv
from slotcar_lab.experiments import added, figures
from slotcar_lab.experiments.bench import Bench, Udp
from slotcar_lab.experiments.emerge import RESIDUE, stages
from slotcar_lab.experiments.emerge.stages import Staged
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.figures import MILLISECOND, during
from slotcar_lab.experiments.model import Curve, Plot, Rule

HERE = Path(__file__).parent
#: Head, body and hand: 1 kb/s in messages of 36 bytes.
AVATAR = Udp("laurel", "tundra", 5001, 1_000, 36, scaled=False)
#: "45 Mbps of background traffic had to be injected to adequately saturate the network", a quarter of it.
BACKGROUND = Udp("cubs", "tundra", 5002, 11_250_000)
#: Nearly the same number of packets where the pipe, of 10.5 Mb/s, has room for them.
FITS = replace(BACKGROUND, port=5003, rate_bps=8_000_000)
#: The avatar is slow: enough packets of it for a distribution.
ALONE_S, CONGESTED_S = 16.0, 18.0
BOUND_MS, BOUND_JITTER_MS = 10, 7

CONGESTED = Rule(
    "latency of the avatar, congested",
    "rises as in experiment 2",
    "ms, median",
    "at least 10 ms above what it was alone",
    lambda ours, alone: ours >= alone + 10,
)
RESTORED = Rule(
    "latency of the avatar, reserved: what the full pipe adds",
    "original levels are not restored there; the bound it quotes is 10 ms",
    "ms, 95th percentile of those that arrived",
    f"below the bound of {BOUND_MS} ms more than in the same slot where the pipe is not full",
    lambda ours, _: ours < BOUND_MS,
    promise=True,
)
STEADY = Rule(
    "jitter of the avatar, reserved: what the full pipe adds",
    "the bound it quotes is 7 ms",
    "ms, 95th percentile of |IPDV|",
    f"below the bound of {BOUND_JITTER_MS} ms more than in the same slot where the pipe is not full",
    lambda ours, _: ours < BOUND_JITTER_MS,
    promise=True,
)
ORIGINAL = Rule(
    "median latency of the avatar, reserved: what the full pipe adds",
    "original levels are not restored there",
    "ms, median",
    "at most 5 ms more than in the same slot where the pipe is not full",
    lambda ours, _: ours <= 5,
    promise=True,
)
LOSS = Rule("loss of the avatar, reserved", "not told", "%", "none", lambda ours, _: ours == 0, promise=True)


def measure(bench: Bench) -> Findings:
    file = HERE / "reservations.yml"
    staged = stages.run(bench, file, AVATAR, (BACKGROUND,), ALONE_S, CONGESTED_S, fits=FITS)
    stream = staged.streams[AVATAR.port]
    alone, congested, reserved = (during(stream, phase) for phase in staged.phases)
    before = figures.median_ms(alone)
    high = f"{len(reserved)} packets in the first slot, {figures.percentile_ms(reserved, 95) or 0:.1f} ms"
    jitters = ", ".join(
        f"{phase.name} {figures.jitter_percentile_ms(during(stream, phase), 95) or 0:.1f}" for phase in staged.phases
    )
    rows = (
        CONGESTED.judge(figures.median_ms(congested), before, note=f"alone {before or 0:.1f} ms"),
        RESTORED.judge(staged.added_ms(AVATAR.port, added.HIGH), note=high),
        STEADY.judge(staged.added_ms(AVATAR.port, added.HIGH_IPDV), note=f"{jitters} ms"),
        ORIGINAL.judge(
            staged.added_ms(AVATAR.port, added.MEDIAN), note=f"reserved {figures.median_ms(reserved) or 0:.1f} ms"
        ),
        LOSS.judge(figures.loss_percent(reserved)),
    )
    return Findings(rows, _plots(staged), staged.configuration)


def _plots(staged: Staged) -> tuple[Plot, ...]:
    stream = staged.streams[AVATAR.port]
    latency = Curve("avatar", *figures.delay_series(stream, staged.whole))
    delays, jitters = [], []
    for phase in staged.phases:
        part = during(stream, phase)
        values = [packet.delay_us / MILLISECOND for packet in part if packet.delay_us is not None]
        if values:
            delays.append(Curve(phase.name, *figures.cumulative(values)))
        varied = [value / MILLISECOND for value in ipdv.absolute(part)]
        if varied:
            jitters.append(Curve(phase.name, *figures.cumulative(varied)))
    within = "per cent of packets within"
    return (
        Plot(
            "latency",
            "Latency of the avatar stream",
            "seconds since it began",
            "one-way delay, ms",
            (latency,),
            staged.marks,
            style="points",
        ),
        Plot("delays", "Distribution of latency", "ms", within, tuple(delays), ((BOUND_MS, "bound"),), style="steps"),
        Plot(
            "jitter",
            "Distribution of |IPDV|",
            "ms",
            within,
            tuple(jitters),
            ((BOUND_JITTER_MS, "bound"),),
            style="steps",
        ),
    )


EXPERIMENT = Experiment(
    name="emerge-4",
    title="EMERGE 4: an avatar of 1 kb/s against 45 Mb/s",
    source="Leigh et al., EMERGE DiffServ experiments, experiment 4, Figure 5",
    shown=(
        "Background traffic that fills the pipe makes the avatar stream late; with a reservation it stays below the 10 ms"
        " of latency with 7 ms of jitter at which people begin to suffer, which EMERGE's routers did not achieve."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    least=Fraction(1, 4),
    explain=RESIDUE,
    scale=QUARTER + " The avatar's 1 kb/s is its own: it is no load at any scale.",
)
