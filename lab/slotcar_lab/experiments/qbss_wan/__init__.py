"""D7.3 Figure 10: a scavenger TCP stream over a long fat pipe, alone and beside best effort that comes and goes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean

from slotcar_lab import traffic
from slotcar_lab.experiments.bench import START_S, Bench
from slotcar_lab.experiments.datagrid import scavenger
from slotcar_lab.experiments.datagrid.scavenger import GOODPUT_MBPS, SCAVENGER_PORT, mean_mbps
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.late_answers import late_answers
from slotcar_lab.experiments.model import Row, Rule
from slotcar_lab.patience import HANG_S

HERE = Path(__file__).parent
SINK = "sink-a"
#: Of the transatlantic path; the reference does not print it.
RTT_MS = 100
#: "The same test suite was repeated six times"; each time best effort is there for so long, and away for so long.
REPEATS, THERE_S, AWAY_S, ALONE_S = 6, 12.0, 12.0, 18.0
SMOKE_S = 6.0
#: Left out at the beginning of a phase: slow start, and a starved stream's return.
SETTLE_S = 6.0

ALONE = Rule(
    "QBSS alone",
    "was not able to use the whole available bandwidth; buffer tuning is left to DataTAG",
    "% of the link",
    "at least 90 % of what TCP can carry on it",
    lambda ours, _: ours >= 90,
    promise=True,
)
AS_BEST_EFFORT = Rule(
    "QBSS alone, beside best effort alone",
    "less, perhaps by the small buffer that its class has",
    "%",
    "at least 95 %",
    lambda ours, _: ours >= 95,
    promise=True,
)
UNTOUCHED = Rule(
    "best effort while QBSS sends, mean of all times",
    "QBSS packets are dropped before best effort is affected",
    "% of what it has without",
    "at least 95 %",
    lambda ours, _: ours >= 95,
)
EACH = Rule(
    "the same, the worst of all times",
    "confirms the LAN in six repetitions",
    "% of what it has without",
    "at least 90 %",
    lambda ours, _: ours >= 90,
)
BACK = Rule(
    "QBSS after best effort has gone, mean of all times",
    "unused bandwidth should be available to QBSS",
    "% of what it had alone",
    f"at least 90 %, from {SETTLE_S:g} s later on",
    lambda ours, _: ours >= 90,
)


@dataclass(frozen=True, slots=True)
class Times:
    """How long QBSS is alone at first, best effort is there each time and away, and how often it comes."""

    alone_s: float
    there_s: float
    away_s: float
    repeats: int


@dataclass(frozen=True, slots=True)
class Rates:
    """Mb/s as the experiment is written: QBSS and best effort each alone; best effort beside QBSS, and QBSS when that has
    left, each time that it comes."""

    alone: float | None
    whole: float | None
    beside: tuple[float, ...]
    after: tuple[float, ...]


def measure(bench: Bench) -> Findings:
    configuration = scavenger.reserve(bench, HERE / "reservations.yml")
    times = Times(ALONE_S, THERE_S, AWAY_S, REPEATS)
    if bench.smoke:
        times = Times(SETTLE_S + SMOKE_S, SETTLE_S + SMOKE_S, SETTLE_S + SMOKE_S, 1)
    with late_answers(bench, SINK, RTT_MS):
        without = bench.tcp("source-b", SINK, SCAVENGER_PORT + 1, times.there_s)
        without.wait(times.there_s + HANG_S)
        qbss, best = _together(bench, times)
    ends = [flow.started_at + times.there_s for flow in best]
    rates = Rates(
        _mean(bench, qbss, qbss.started_at, best[0].started_at),
        _mean(bench, without, without.started_at, without.started_at + times.there_s),
        tuple(_mean(bench, flow, flow.started_at, end) or 0.0 for flow, end in zip(best, ends, strict=True)),
        tuple(_mean(bench, qbss, end, end + times.away_s - START_S) or 0.0 for end in ends),
    )
    flows: dict[str, traffic.Flow] = {"QBSS": qbss} | {f"best effort {n}": flow for n, flow in enumerate(best, 1)}
    title = f"QBSS and best effort with a round trip of {RTT_MS} ms"
    plot = scavenger.plot(title, flows, qbss.started_at, (), bench.scale)
    return Findings(rows_of(rates), (plot,), configuration)


def _mean(bench: Bench, flow: traffic.Flow, start: float, end: float) -> float | None:
    return mean_mbps(flow, start + SETTLE_S, end, bench.scale)


def rows_of(rates: Rates) -> tuple[Row, ...]:
    parts = [100 * one / rates.whole for one in rates.beside] if rates.whole else []
    back = 100 * fmean(rates.after) / rates.alone if rates.alone else None
    return (
        ALONE.judge(100 * rates.alone / GOODPUT_MBPS if rates.alone is not None else None),
        AS_BEST_EFFORT.judge(100 * rates.alone / rates.whole if rates.alone and rates.whole else None),
        UNTOUCHED.judge(fmean(parts) if parts else None, note="each " + ", ".join(f"{part:.0f}" for part in parts)),
        EACH.judge(min(parts) if parts else None),
        BACK.judge(back, note="each " + ", ".join(f"{one:.1f}" for one in rates.after) + " Mb/s"),
    )


def _together(bench: Bench, times: Times) -> tuple[traffic.Flow, list[traffic.Flow]]:
    """QBSS, and best effort each time that it comes."""
    turn_s = times.there_s + times.away_s
    qbss = bench.tcp("source-a", SINK, SCAVENGER_PORT, times.alone_s + START_S + times.repeats * turn_s)
    best: list[traffic.Flow] = []
    for number in range(times.repeats):
        bench.wait_until(qbss.started_at + times.alone_s + number * turn_s)
        best.append(bench.tcp("source-b", SINK, SCAVENGER_PORT + 2 + number, times.there_s))
    for flow in (*best, qbss):
        flow.wait(turn_s + HANG_S)
    return qbss, best


EXPERIMENT = Experiment(
    name="qbss-wan",
    title="D7.3: QBSS over a long fat pipe",
    source="DataGRID D7.3 §8.1.3, Figure 10",
    shown=(
        "A scavenger stream over a path with a round trip of 100 ms has the whole link while nobody else wants it, as best"
        " effort would, and leaves best effort what it has without it, each time that it comes."
    ),
    inventory=HERE.parent / "datagrid" / "congested",
    measure=measure,
    least=Fraction(1, 16),
    scale=QUARTER
    + f" The link is that of the LAN tests with a round trip of {RTT_MS} ms: the reference prints neither.",
    explain=(
        "A starved stream comes back as its own congestion control lets it: with this round trip CUBIC takes some 9 s until"
        " it has the whole link again."
    ),
)
