"""EMERGE 4: latency and jitter of a tele-immersive application's avatar stream."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lab.experiments import figures
from lab.experiments.bench import Bench, Udp
from lab.experiments.emerge import RESIDUE, stages
from lab.experiments.emerge.stages import Staged
from lab.experiments.experiment import QUARTER, Experiment, Findings
from lab.experiments.figures import MILLISECOND, Phase, during
from lab.experiments.model import Curve, Plot, Rule
from lab.metrics import ipdv
from lab.metrics.model import Delay

HERE = Path(__file__).parent
#: Head, body and hand: 1 kb/s in messages of 36 bytes.
AVATAR = Udp("laurel", "tundra", 5001, 1_000, 36)
#: "45 Mbps of background traffic had to be injected to adequately saturate the network", a quarter of it.
BACKGROUND = Udp("cubs", "tundra", 5002, 11_250_000)
#: The same load where the pipe, of 10.5 Mb/s, has room for it: what is late then is the machine that emulates the routers.
CONTROL = (replace(AVATAR, port=5003, rate_bps=8_000), replace(BACKGROUND, port=5004, rate_bps=8_000_000))
CONTROL_S, SMOKE_CONTROL_S = 10.0, 4.0
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
    "latency of the avatar, reserved",
    "original levels are not restored there; the bound it quotes is 10 ms",
    "ms, 95th percentile of those that arrived",
    f"below the bound of {BOUND_MS} ms",
    lambda ours, _: ours < BOUND_MS,
    promise=True,
)
STEADY = Rule(
    "jitter of the avatar, reserved",
    "the bound it quotes is 7 ms",
    "ms, 95th percentile of |IPDV|",
    f"below the bound of {BOUND_JITTER_MS} ms",
    lambda ours, _: ours < BOUND_JITTER_MS,
    promise=True,
)
ORIGINAL = Rule(
    "median latency of the avatar, reserved",
    "original levels are not restored there",
    "ms, median",
    "at most 5 ms above what it was alone",
    lambda ours, alone: ours <= alone + 5,
    promise=True,
)
LOSS = Rule("loss of the avatar, reserved", "not told", "%", "none", lambda ours, _: ours == 0, promise=True)


def measure(bench: Bench) -> Findings:
    own = _control(bench)
    staged = stages.run(bench, HERE / "reservations.yml", AVATAR, (BACKGROUND,), ALONE_S, CONGESTED_S)
    stream = staged.streams[AVATAR.port]
    alone, congested, reserved = (during(stream, phase) for phase in staged.phases)
    before, fit = figures.median_ms(alone), staged.fit
    jitters = ", ".join(
        f"{phase.name} {figures.jitter_percentile_ms(during(stream, phase), 95) or 0:.1f}" for phase in staged.phases
    )
    late, unsteady = figures.percentile_ms(own, 95), figures.jitter_percentile_ms(own, 95)
    # Routers that are later than the bounds with empty queues cannot show what a queue adds.
    prompt = fit and late is not None and late < BOUND_MS
    steady = fit and unsteady is not None and unsteady < BOUND_JITTER_MS
    told = f"{late or 0:.1f} ms, jitter {unsteady or 0:.1f} ms, beside as many packets in a pipe that is not full"
    rows = (
        CONGESTED.judge(figures.median_ms(congested), before, fit=fit, note=f"alone {before or 0:.1f} ms"),
        RESTORED.judge(figures.percentile_ms(reserved, 95), fit=prompt, note=f"{len(reserved)} packets; {told}"),
        STEADY.judge(figures.jitter_percentile_ms(reserved, 95), fit=steady, note=f"{jitters} ms"),
        ORIGINAL.judge(figures.median_ms(reserved), before, fit=fit),
        LOSS.judge(figures.loss_percent(reserved), fit=fit),
    )
    return Findings(rows, _plots(staged), staged.configuration)


def _control(bench: Bench) -> tuple[Delay, ...]:
    """The avatar's delays beside nearly the same number of packets, all of which the pipe carries."""
    avatar, background = CONTROL
    lasts_s = SMOKE_CONTROL_S if bench.smoke else CONTROL_S
    with bench.captured((avatar.source,), (avatar.destination,), f"udp port {avatar.port}") as seen:
        flows = [bench.udp_for(flow, lasts_s) for flow in (background, avatar)]
        began = max(flow.started_at for flow in flows)
        for flow in flows:
            flow.wait(lasts_s + 15.0)
    return during(seen.stream(avatar.port), Phase("control", began + 1.0, began + lasts_s - 1.0))


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
    explain=RESIDUE,
    scale=QUARTER + " The avatar's 1 kb/s is its own: it is no load at any scale.",
)
