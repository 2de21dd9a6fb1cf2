"""D7.3 §8.3: four classes of the assured rate at 4, 4, 4 and 16 % of a line, each with its own queue and early drop."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from slotcar.measuring.metrics.model import Delay
from slotcar_lab.experiments import figures
from slotcar_lab.experiments.bench import START_S, Bench, Slot, Udp
from slotcar_lab.experiments.datagrid import steps
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.figures import during
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule

HERE = Path(__file__).parent
LINE_BPS = 12_500_000
PAYLOAD_BYTES, FRAME_BYTES = 1_400, 1_442
#: Per cent of the line, by port. Each class sends three times as much, and best effort as much as the line has.
SHARES = {5001: 4, 5002: 4, 5003: 4, 5004: 16}
NAMES = {5001: "one", 5002: "two", 5003: "three", 5004: "four"}
FLOWS = tuple(
    Udp("source-a", "sink-a", port, 3 * LINE_BPS * share * PAYLOAD_BYTES // (100 * FRAME_BYTES))
    for port, share in SHARES.items()
)
LOAD = Udp("source-b", "sink-b", 5010, LINE_BPS)
CONGESTED_S = 2.0
#: The thresholds of what exceeds the committed rate, by the leaf of each class.
THRESHOLDS = re.compile(r"qdisc dev eth1 parent 51c0:2(\d) .* min (\d+)b max (\d+)b .* DP 2 ")

SHARE = Rule(
    "greatest distance of a class's part of the line from its share, all overloaded",
    "precedences 1 to 4 at 4, 4, 4 and 16 %",
    "% of the line",
    "at most 0.5 %",
    lambda ours, _: ours <= 0.5,
    promise=True,
)
THRESHOLD = Rule(
    "classes whose median wait is what their own thresholds hold at their own rate",
    "thresholds of its own for each precedence",
    "of 4",
    "all 4, from nine tenths of the lower threshold to eleven tenths of the upper one",
    lambda ours, _: ours == len(SHARES),
    promise=True,
)
SHORTER = Rule(
    "the third class's median wait, against what the second's longer queue holds before anything is dropped there",
    "parameters of its own for each precedence",
    "of it",
    "less than 1: with the second's thresholds at the same rate nothing would be dropped that early",
    lambda ours, _: ours < 1,
    promise=True,
)


@dataclass(frozen=True, slots=True)
class Got:
    """What a class got: its part of the line, and the median wait of what left; `least_ms` and `most_ms` is what its
    thresholds hold at its rate."""

    name: str
    share: int
    part: float
    wait_ms: float
    least_ms: float
    most_ms: float

    @property
    def is_its_own(self) -> bool:
        return 0.9 * self.least_ms <= self.wait_ms <= 1.1 * self.most_ms


def measure(bench: Bench) -> Findings:
    slots = bench.reserve(HERE / "reservations.yml")
    slot = slots["one"]
    bench.arm(slot, slot.start - CONGESTED_S - 4 * START_S)
    lines = bench.configuration(slot.start + 1.0)
    with bench.captured(("source-a",), ("sink-a",), f"udp portrange {min(SHARES)}-{max(SHARES)}") as captured:
        bench.wait_until(slot.start - CONGESTED_S - 4 * START_S)
        flows = [bench.udp(flow, slot.end) for flow in FLOWS]
        load = bench.udp(LOAD, slot.end)
        bench.watch([slot])
        bench.wait_until(slot.end + 0.5)
        for one in (*flows, load):
            one.wait(20.0)
    bench.demand_sent([*flows, load], slot.start, slot.end)
    thresholds = thresholds_in(lines["near"])
    got = [_got(captured.stream(port), port, slot, bench, thresholds) for port in SHARES]
    return Findings(tuple(rows_of(got)), (_plot(got),), lines)


def thresholds_in(lines: Sequence[str]) -> Mapping[int, tuple[int, int]]:
    """Bytes of each class's lower and upper threshold towards `mid`, by the class's place."""
    matches = (THRESHOLDS.match(line) for line in lines)
    return {int(match[1]): (int(match[2]), int(match[3])) for match in matches if match}


def _got(
    stream: Sequence[Delay], port: int, slot: Slot, bench: Bench, thresholds: Mapping[int, tuple[int, int]]
) -> Got:
    share, phase = SHARES[port], steps.phase(slot)
    rate_bps = figures.rate_mbps(stream, PAYLOAD_BYTES, phase, bench.scale) * 1e6 * FRAME_BYTES / PAYLOAD_BYTES
    own_bps = bench.scale.lab(LINE_BPS) * share / 100
    least_ms, most_ms = (8_000 * size / own_bps for size in thresholds[port - min(SHARES)])
    wait_ms = figures.median_ms(during(stream, phase)) or 0.0
    return Got(NAMES[port], share, 100 * rate_bps / LINE_BPS, wait_ms, least_ms, most_ms)


def rows_of(got: Sequence[Got]) -> list[Row]:
    parts = "; ".join(f"{one.name}: {one.part:.2f} % of {one.share} %" for one in got)
    waits = "; ".join(f"{one.name}: {one.wait_ms:.0f} ms of {one.least_ms:.0f} to {one.most_ms:.0f} ms" for one in got)
    return [
        SHARE.judge(max(abs(one.part - one.share) for one in got), note=parts),
        THRESHOLD.judge(sum(one.is_its_own for one in got), note=waits),
        SHORTER.judge(got[2].wait_ms / got[1].least_ms),
    ]


def _plot(got: Sequence[Got]) -> Plot:
    places = tuple(float(number) for number, _ in enumerate(got, 1))
    curves = (
        Curve("measured", places, tuple(one.part for one in got)),
        Curve("share", places, tuple(float(one.share) for one in got)),
    )
    return Plot("class-shares", "Parts of the line by class", "class", "% of the line", curves)


EXPERIMENT = Experiment(
    name="class-shares",
    title="D7.3: four classes of the assured rate",
    source="DataGRID D7.3 §8.3, DRR on a Cisco GSR",
    shown=(
        "Four classes that all have more to send than their share get 4, 4, 4 and 16 % of the line beside best effort that"
        " fills it, and each waits as long as its own thresholds let it."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    written=Fraction(1, 8),
    scale="The line is written as an eighth of 100 Mb/s: its classes and best effort send more than twice its packets.",
    explain=(
        "D7.3 prints this configuration and no measurement of it; its shares with best effort's 75 % are 103 % of the line."
        " Here the classes are served by HTB, whose guarantees hold under strict rank."
    ),
)
