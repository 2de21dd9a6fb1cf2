"""D7.3 §8.1.1, WRR: the share formula against measured shares, and how much over-estimation isolates fully."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from slotcar.measuring.metrics.model import Delay
from slotcar_lab import traffic
from slotcar_lab.experiments import figures
from slotcar_lab.experiments.bench import START_S, Bench, Slot, Udp
from slotcar_lab.experiments.datagrid import steps
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.figures import during
from slotcar_lab.experiments.model import Curve, Plot, Rule

HERE = Path(__file__).parent
LOAD = Udp("source-b", "sink-b", 5010, 12_500_000)
#: Sends more than any share that it is given.
GREEDY = Udp("source-a", "sink-a", 5001, 4_500_000)
#: 20 and 80 Mb/s of a gigabit link: 2 % and 8 % of this one.
STREAMS = (Udp("source-a", "sink-a", 5002, 250_000), Udp("source-a", "sink-a", 5003, 1_000_000))
PAPER_FACTOR = {5002: 8.5, 5003: 3.0}
PAPER_MBPS = {5002: 20, 5003: 80}
CONGESTED_S = 2.0
#: Stands for a factor where none of those tried isolates.
NONE_OF_THEM = 99.0
#: Link-sharing weights of an assured rate and of best effort towards `mid`.
WEIGHT = re.compile(r"class dev eth1 parent \S+ classid 51c0:(20|30) hfsc ls m2 (\d+)bit")

FORMULA = Rule(
    "greatest distance of a measured share from W(j) / sum of W",
    "the formula's shares",
    "% of the link",
    "at most 2 %",
    lambda ours, _: ours <= 2,
)
ALMOST = Rule(
    "loss at the theoretical weight, 80 Mb/s",
    "just a few packets are dropped",
    "%",
    "at most 2 %",
    lambda ours, _: ours <= 2,
)


def isolation(port: int) -> Rule:
    factor = PAPER_FACTOR[port]
    return Rule(
        f"over-estimation that isolates {PAPER_MBPS[port]} Mb/s fully",
        f"{factor:g}",
        "x the weight",
        f"no packet is lost at some factor of those tried (1, 1.5, 2, 4) that is not above {factor:g}",
        lambda ours, _: ours <= factor,
    )


@dataclass(frozen=True, slots=True)
class Share:
    name: str
    formula: float
    measured: float


def measure(bench: Bench) -> Findings:
    slots = bench.reserve(HERE / "reservations.yml")
    ordered = sorted(slots.values(), key=lambda slot: slot.start)
    first, end = ordered[0].start, ordered[-1].end
    bench.arm(ordered[0], first - CONGESTED_S - 4 * START_S)
    ports = f"udp portrange {STREAMS[0].port}-{STREAMS[-1].port}"
    configurations = {slot.name: bench.configuration(slot.start + 1.0) for slot in ordered}
    with bench.captured((STREAMS[0].source,), (STREAMS[0].destination,), ports) as captured:
        # The load comes last: what starts beside it waits for the emulator until its slots are over.
        bench.wait_until(first - CONGESTED_S - 4 * START_S)
        ends = {
            flow.port: max(slot.end for slot in ordered if _port(slot) == flow.port) for flow in (*STREAMS, GREEDY)
        }
        flows = [bench.udp(flow, ends[flow.port]) for flow in STREAMS]
        greedy = bench.udp(GREEDY, ends[GREEDY.port])
        load = bench.udp(LOAD, end)
        bench.watch(ordered)
        bench.wait_until(end + 0.5)
        for one in (*flows, greedy, load):
            one.wait(20.0)
    for sender, until in zip((*flows, greedy), ends.values(), strict=True):
        bench.demand_sent([sender], max(first, sender.started_at), until)
    bench.demand_sent([load], first, end)
    shares = [
        _share(slot, configurations[slot.name]["near"], greedy, load)
        for slot in ordered
        if slot.name.startswith("share")
    ]
    losses = {
        flow.port: _losses(captured.stream(flow.port), [slot for slot in ordered if _port(slot) == flow.port], flow)
        for flow in STREAMS
    }
    worst = max(abs(one.measured - one.formula) for one in shares)
    rows = [FORMULA.judge(worst, note="; ".join(f"{s.measured:.1f} % of {s.formula:.1f} %" for s in shares))]
    rows.append(ALMOST.judge(losses[5003].get(1.0)))
    for flow in STREAMS:
        clean = [factor for factor, lost in sorted(losses[flow.port].items()) if lost == 0]
        note = ", ".join(f"x{factor:g}: {lost:.2f} %" for factor, lost in sorted(losses[flow.port].items()))
        rows.append(isolation(flow.port).judge(clean[0] if clean else NONE_OF_THEM, note=f"loss {note}"))
    return Findings(tuple(rows), _plots(shares, losses), configurations[ordered[0].name])


def _port(slot: Slot) -> int:
    return int(slot.name.split("-")[1]) if slot.name.startswith("isolate") else GREEDY.port


def _share(slot: Slot, lines: Sequence[str], greedy: traffic.Flow, load: traffic.Flow) -> Share:
    weights = {match[1]: int(match[2]) for match in map(WEIGHT.match, lines) if match}
    inside = steps.phase(slot)
    ours, others = (steps.mean_bps(flow.samples(), inside) for flow in (greedy, load))
    return Share(slot.name, 100 * weights["20"] / (weights["20"] + weights["30"]), 100 * ours / (ours + others))


def _losses(stream: tuple[Delay, ...], slots: Sequence[Slot], flow: Udp) -> dict[float, float]:
    """Per cent lost at each over-estimation factor."""
    losses = {}
    for slot in slots:
        lost = figures.loss_percent(during(stream, steps.phase(slot)))
        if lost is not None:
            losses[slot.rate_bps / flow.rate_bps] = lost
    return losses


def _plots(shares: Sequence[Share], losses: Mapping[int, Mapping[float, float]]) -> tuple[Plot, ...]:
    formula = tuple(one.formula for one in shares)
    lines = [
        Curve("measured", formula, tuple(one.measured for one in shares)),
        Curve("formula", formula, formula),
    ]
    lost = [
        Curve(f"{PAPER_MBPS[port]} Mb/s of a gigabit", tuple(sorted(one)), tuple(one[key] for key in sorted(one)))
        for port, one in losses.items()
    ]
    return (
        Plot("shares", "Shares by weight", "share by the formula, %", "measured share, %", tuple(lines)),
        Plot(
            "isolation",
            "Loss by over-estimation",
            "reserved over offered",
            "% lost",
            tuple(lost),
            ((3.0, "paper, 80 Mb/s"),),
        ),
    )


EXPERIMENT = Experiment(
    name="wrr-share",
    title="D7.3: shares by weight, and full isolation",
    source="DataGRID D7.3 §8.1.1, WRR in the LAN",
    shown=(
        "Classes that have more to send than their share get what the weights' formula says; a stream is isolated fully"
        " where its weight is over-estimated by no more than D7.3 needed."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    written=Fraction(1, 8),
    scale=(
        "The link is written as an eighth of 100 Mb/s, since two classes that both send more than their share are twice"
        " its packets; the streams have the part of it that 20 and 80 Mb/s have of D7.3's gigabit."
    ),
    explain=(
        "By weight means HFSC's link-sharing curves: ets, our deficit round robin, shapes nothing, and the lab's virtual"
        " wires never push back, so it would queue nothing there."
    ),
)
