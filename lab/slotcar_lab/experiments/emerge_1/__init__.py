"""EMERGE 1: "how well bandwidth would be recovered" behind a congested pipe."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from slotcar_lab.experiments import added, figures
from slotcar_lab.experiments.bench import Bench, Udp
from slotcar_lab.experiments.emerge import RESIDUE, stages
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.figures import during
from slotcar_lab.experiments.model import Rule

HERE = Path(__file__).parent
#: 25 Mb/s each, a quarter of it; of the foreground "a little less than 25Mbps was achieved", and it must be less than
#: what is reserved: a stream of exactly its policer's rate never fills the bucket again that one late turn has emptied.
FOREGROUND = Udp("laurel", "tundra", 5001, 6_100_000)
BACKGROUND = Udp("cubs", "tundra", 5002, 6_250_000)
#: Of the pipe's 10.5 Mb/s the foreground leaves 4.2.
FITS = Udp("cubs", "tundra", 5003, 3_000_000)

RATES = (
    Rule(
        "bandwidth of the foreground, alone",
        "a little less than 25 Mb/s (6.25 scaled)",
        "Mb/s",
        "at least 97 % of what was sent",
        lambda ours, sent: ours >= 0.97 * sent,
    ),
    Rule(
        "bandwidth of the foreground, congested",
        "drops",
        "Mb/s",
        "at most 90 % of what it had alone",
        lambda ours, alone: ours <= 0.9 * alone,
    ),
    Rule(
        "bandwidth of the foreground, reserved",
        "the original is restored",
        "Mb/s",
        "at least 97 % of what it had alone",
        lambda ours, alone: ours >= 0.97 * alone,
    ),
)
CONGESTED = Rule(
    "latency, congested",
    "increases sharply",
    "ms, median",
    "at least 10 ms above what it was alone",
    lambda ours, alone: ours >= alone + 10,
)
RESERVED = Rule(
    "latency, reserved: what the full pipe adds",
    "the original is restored",
    "ms, median",
    "at most 5 ms more than in the same slot where the pipe is not full",
    lambda ours, _: ours <= 5,
)
LOSSES = (
    Rule("packet loss, alone", "none to speak of", "%", "below 1 %", lambda ours, _: ours < 1),
    Rule("packet loss, congested", "increases sharply", "%", "at least 5 %", lambda ours, _: ours >= 5),
    Rule(
        "packet loss, reserved",
        "also declines",
        "%",
        "at most a tenth of the congested stage's",
        lambda ours, congested: ours <= 0.1 * congested,
    ),
)


def measure(bench: Bench) -> Findings:
    staged = stages.run(bench, HERE / "reservations.yml", FOREGROUND, (BACKGROUND,), fits=FITS)
    stream, payload = staged.streams[FOREGROUND.port], FOREGROUND.payload_bytes
    alone, congested, reserved = (figures.rate_mbps(stream, payload, phase, bench.scale) for phase in staged.phases)
    sent = figures.sent_mbps(stream, payload, staged.alone, bench.scale)
    delays = [figures.median_ms(during(stream, phase)) for phase in staged.phases]
    losses = [figures.loss_percent(during(stream, phase)) for phase in staged.phases]
    rows = [
        rule.judge(ours, beside)
        for rule, ours, beside in zip(RATES, (alone, congested, reserved), (sent, alone, alone), strict=True)
    ]
    note = "" if delays[0] is None else f"alone {delays[0]:.1f} ms"
    rows.append(CONGESTED.judge(delays[1], delays[0], note=note))
    full = bench.scale.own_ms(staged.added_ms(FOREGROUND.port, added.MEDIAN))
    rows.append(RESERVED.judge(full, note=f"{note}, reserved {delays[2] or 0:.1f} ms"))
    rows += [rule.judge(ours, losses[1]) for rule, ours in zip(LOSSES, losses, strict=True)]
    names = {FOREGROUND.port: "foreground", BACKGROUND.port: "background"}
    return Findings(tuple(rows), stages.plots(staged, names, payload), staged.configuration)


EXPERIMENT = Experiment(
    name="emerge-1",
    title="EMERGE 1: bandwidth, latency and loss behind a congested pipe",
    source="Leigh et al., EMERGE DiffServ experiments, experiment 1, Figure 2",
    shown=(
        "A foreground of 25 Mb/s that shares a pipe of 42 Mb/s with a background of 25 Mb/s loses bandwidth, and its"
        " latency and loss increase sharply; with a reservation it has its bandwidth and latency back, and loss declines."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    least=Fraction(1, 32),
    explain=RESIDUE,
)
