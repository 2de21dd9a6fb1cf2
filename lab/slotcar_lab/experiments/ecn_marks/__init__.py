"""D7.3 §9.1.4, Figure 20: ECN's gain by the mark denominator and the congestion points, with SACK alone beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slotcar_lab.experiments import ecn
from slotcar_lab.experiments.bench import Bench
from slotcar_lab.experiments.ecn import Ran, part
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule

HERE = Path(__file__).parent
#: Inventories by the denominator: one of so many packets is dropped or marked at the upper threshold. That of Figure 21 is
#: the first, with which the lab comes up.
INVENTORIES = {50: ecn.HERE / "inventory", 10: HERE / "tenth", 200: HERE / "two_hundredth"}
FIRST = 50
#: What changes its part by less is no more than runs differ by (98 to 114 %, as `ecn` says).
SURELY = 5.0

LEAST_GAIN = Rule(
    "transactions completed with ECN, beside without, at the worst of the mark denominators",
    "Figure 20: a gain at each denominator",
    "% of those without",
    "at least 100 %",
    lambda ours, _: ours >= 100,
)
MATTERS = Rule(
    "greatest less least gain over the mark denominators",
    "the RED region matters: marks must be many enough, and not too many",
    "points",
    f"at least {SURELY:g}",
    lambda ours, _: ours >= SURELY,
)
LONG = Rule(
    "throughput of the long flows with ECN, beside without, two congestion points",
    "the gain is more relevant with several congestion points, for long-term sessions too",
    "% of that without",
    "at least 100 %, and at least what it is with one",
    lambda ours, one: ours >= max(100, one),
)
SACK = Rule(
    "transactions completed with SACK, beside without, neither with ECN",
    "great performance gains",
    "% of those without",
    f"at least {100 + SURELY:g} %",
    lambda ours, _: ours >= 100 + SURELY,
)
SACK_LONG = Rule(
    "throughput of the long flows with SACK, beside without, neither with ECN",
    "great performance gains",
    "% of that without",
    "at least 100 %",
    lambda ours, _: ours >= 100,
)
SACK_AGAIN = Rule(
    "segments sent again for each packet that the queue dropped, with SACK, beside without, neither with ECN",
    "only the missing data units are retransmitted",
    "% of those without",
    "less than 100 %",
    lambda ours, _: ours < 100,
)


@dataclass(frozen=True, slots=True)
class Ends:
    """What the ends' TCP knows."""

    sack: bool
    ecn: bool

    def __str__(self) -> str:
        known = [word for word, knows in (("SACK", self.sack), ("ECN", self.ecn)) if knows]
        return " and ".join(known) or "neither SACK nor ECN"


NEITHER, ONLY_SACK, BOTH = Ends(sack=False, ecn=False), Ends(sack=True, ecn=False), Ends(sack=True, ecn=True)
#: The denominator, the number of congestion points, and the ends.
Key = tuple[int, int, Ends]
Runs = Mapping[Key, Ran]


def measure(bench: Bench) -> Findings:
    runs: dict[Key, Ran] = {}
    configuration = dict(bench.configuration(bench.clock.now()))
    for denominator, points, ends in cases(smoke=bench.smoke):
        if bench.inventory != INVENTORIES[denominator]:
            bench.switch(INVENTORIES[denominator])
        one = runs[denominator, points, ends] = ecn.run(bench, points, ecn=ends.ecn, sack=ends.sack)
        done = f"{len(one.keeping)} transactions, {long_bps(one) / 1e6:.2f} Mb/s of the lab"
        bench.say(f"one of {denominator}, {points} congestion point(s), {ends}: {done}, {one.retransmitted} again")
    return Findings(_rows(runs, ecn.SMOKE_S if bench.smoke else ecn.MEASURE_S), _plots(runs), configuration)


def cases(*, smoke: bool) -> list[Key]:
    """Each run's denominator, congestion points and ends; runs of one inventory follow each other."""
    first = [(FIRST, 1, ends) for ends in (NEITHER, ONLY_SACK, BOTH)]
    if smoke:
        return first
    twice = [(FIRST, 2, ends) for ends in (NEITHER, ONLY_SACK, BOTH)]
    others = [(one, 1, ends) for one in INVENTORIES if one != FIRST for ends in (ONLY_SACK, BOTH)]
    return [*first, *twice, *others]


def _rows(runs: Runs, measured_s: float) -> tuple[Row, ...]:
    gains = {one: gain for one in sorted(INVENTORIES) if (gain := _gain(runs, one, 1)) is not None}
    note = "; ".join(f"one of {one}: {gain:.1f} %, {_again(runs, one)}" for one, gain in gains.items())
    whole = len(gains) == len(INVENTORIES)
    neither, sack = runs[FIRST, 1, NEITHER], runs[FIRST, 1, ONLY_SACK]
    again = [_again_of_dropped(one) for one in (sack, neither)]
    return (
        LEAST_GAIN.judge(min(gains.values()) if whole else None, note=note),
        MATTERS.judge(max(gains.values()) - min(gains.values()) if whole else None),
        LONG.judge(
            _long_gain(runs, 2),
            _long_gain(runs, 1),
            note=_together(runs, (FIRST, 2, ONLY_SACK), (FIRST, 2, BOTH), measured_s),
        ),
        SACK.judge(
            part(len(sack.keeping), len(neither.keeping)), note=f"{len(sack.keeping)} of {len(neither.keeping)}"
        ),
        SACK_LONG.judge(
            part(sack.received_bps, neither.received_bps),
            note=_together(runs, (FIRST, 1, NEITHER), (FIRST, 1, ONLY_SACK), measured_s),
        ),
        SACK_AGAIN.judge(
            part(again[0], again[1]) if again[0] is not None and again[1] is not None else None,
            note=f"{sack.retransmitted} beside {neither.retransmitted} of the long flows",
        ),
    )


def _together(runs: Runs, without: Key, having: Key, measured_s: float) -> str:
    """What long flows and transactions had together, with something that ends know and without, and how often the queues
    were empty, in words."""
    if without not in runs or having not in runs:
        return ""
    both = [payload_bps(runs[key], measured_s) for key in (having, without)]
    empty = ", ".join(f"{name} {_empty_percent(runs[key])}" for name, key in (("with", having), ("without", without)))
    return f"with the transactions {100 * both[0] / both[1]:.1f} %; queues empty {empty} % of the instants"


def _empty_percent(ran: Ran) -> str:
    """Of the instants, of each congested queue."""
    each = [100 * sum(one.queued_packets == 0 for one in depths) / len(depths) for depths in ran.depths if depths]
    return " and ".join(f"{part:.0f}" for part in each)


def payload_bps(ran: Ran, measured_s: float) -> float:
    """Of the long flows and of all transactions."""
    return long_bps(ran) + 8 * ecn.ANSWER_BYTES * (len(ran.keeping) + len(ran.fresh)) / measured_s


def _again_of_dropped(ran: Ran) -> float | None:
    """Segments of the long flows that were sent again, for each packet that the first queue dropped meanwhile."""
    counts = [one.dropped_packets for one in ran.depths[0]]
    dropped = max(counts) - min(counts) if counts else 0
    return ran.retransmitted / dropped if dropped else None


def _gain(runs: Runs, denominator: int, points: int) -> float | None:
    """Transactions with ECN in per cent of those without; None where it was not measured."""
    without, with_ecn = (runs.get((denominator, points, ends)) for ends in (ONLY_SACK, BOTH))
    return part(len(with_ecn.keeping), len(without.keeping)) if without and with_ecn else None


def _again(runs: Runs, denominator: int) -> str:
    without, with_ecn = (runs[denominator, 1, ends].retransmitted for ends in (ONLY_SACK, BOTH))
    return f"{with_ecn} beside {without} segments again"


def _long_gain(runs: Runs, points: int) -> float | None:
    without, with_ecn = (runs.get((FIRST, points, ends)) for ends in (ONLY_SACK, BOTH))
    return part(long_bps(with_ecn), long_bps(without)) if without and with_ecn else None


def long_bps(ran: Ran) -> float:
    """Of all long flows, also of those over the last link alone."""
    return ran.received_bps + ran.cross_bps


def _plots(runs: Runs) -> tuple[Plot, ...]:
    gains = [(float(one), gain) for one in sorted(INVENTORIES) if (gain := _gain(runs, one, 1)) is not None]
    without = tuple(one for one, _ in gains)
    curves = (
        Curve("with ECN", without, tuple(gain for _, gain in gains)),
        Curve("without", without, (100.0,) * len(without)),
    )
    denominator, of_those = "mark denominator", "transactions, % of those without ECN"
    by_mark = Plot("gain", "Transactions with ECN by the mark denominator", denominator, of_those, curves, x_log=True)
    return by_mark, _by_ends(runs)


def _by_ends(runs: Runs) -> Plot:
    """Transactions of each kind of ends, by the number of congestion points."""
    curves = []
    for ends in (NEITHER, ONLY_SACK, BOTH):
        ran = [(points, runs[FIRST, points, ends]) for points in (1, 2) if (FIRST, points, ends) in runs]
        bars = [(float(points), float(len(one.keeping))) for points, one in ran]
        curves.append(Curve(str(ends), tuple(points for points, _ in bars), tuple(count for _, count in bars)))
    title = "Transactions by what the ends know"
    return Plot("ends", title, "congestion points", "transactions completed", tuple(curves), style="bars")


EXPERIMENT = Experiment(
    name="ecn-marks",
    title="D7.3: ECN by the mark denominator, and SACK alone",
    source="DataGRID D7.3 §9.1.4, Figure 20",
    shown=(
        "More transactions are completed with ECN than without at each mark denominator, long flows gain more over two"
        " congestion points than over one, and ends that know SACK alone do better than those that know neither."
    ),
    inventory=ecn.HERE / "inventory",
    measure=measure,
    scale=QUARTER
    + " So is the number of long flows, 16 for 64. Figure 20's denominators are not printed but for the 1/50 of Figure 21:"
    " 10, which is the routers' default, 50 and 200 are tried.",
    explain=(
        "Where one of 200 is marked, marks do not hold the queue below its upper threshold, above which all is dropped:"
        " about as much is sent again with ECN as without, and runs differ by more than ECN gains. The line is full: what"
        " transactions gain by SACK, long flows have less, and both together have no less. Over two congestion points the"
        " first queue is empty at 23 % of the instants with ECN and at 16 % without: ends answer each mark as a loss, and"
        " the line waits for them."
    ),
)
