"""D7.3 §9.1.3: the loss pattern of a congested TCP connection (RFC 3357), best effort and with an assured rate."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from slotcar.measuring.metrics import delay, pattern
from slotcar.measuring.metrics.model import Delay
from slotcar_lab.experiments import figures
from slotcar_lab.experiments.bench import START_S, Bench, Captured, Udp
from slotcar_lab.experiments.capture import numbered, stamps
from slotcar_lab.experiments.datagrid import steps
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.figures import WAITING_US, Phase, during
from slotcar_lab.experiments.model import Curve, Plot, Rule

HERE = Path(__file__).parent
SOURCE, SINK, PORT = "source-a", "sink-a", 5001
#: What congests the line of 25 Mb/s with TCP's own pressure.
LOADS = (Udp("source-b", "sink-b", 5011, 14_000_000),)
RIVALS = (5021, 5022)
BEFORE_S = 27.0
SETTLE_S = 3.0
#: IP and TCP with all their options.
MOST_HEADER_BYTES = 120

SMALL = Rule(
    "loss rate, best effort",
    "10 to 40 of 10000 packets",
    "%",
    "between 0.1 and 0.4 %",
    lambda ours, _: 0.1 <= ours <= 0.4,
)
CLOSE = Rule(
    "loss distance, best effort",
    "normally less than 10 s",
    "% of distances below 10 s",
    "at least 90 %",
    lambda ours, _: ours >= 90,
)
BURSTY = Rule(
    "longest loss period, best effort",
    "up to 10 packets or more",
    "packets",
    "at least 10",
    lambda ours, _: ours >= 10,
)
SPARED = Rule(
    "loss rate, assured rate",
    "TCP traffic protection is asked for, not measured",
    "%",
    "below that of best effort",
    lambda ours, best: ours < best,
    promise=True,
)
PROMISED = Rule(
    "throughput, assured rate",
    "not measured",
    "Mb/s",
    "at least 95 % of the 8 Mb/s that are reserved",
    lambda ours, _: ours >= 0.95 * 8,
    promise=True,
)


def measure(bench: Bench) -> Findings:
    (slot,) = bench.reserve(HERE / "reservations.yml").values()
    bench.arm(slot, slot.start - BEFORE_S - 4 * START_S)
    configuration = bench.configuration(slot.start + 1.0)
    with bench.captured((SOURCE,), (SINK,), f"tcp dst port {PORT}") as captured:
        bench.wait_until(slot.start - BEFORE_S - 4 * START_S)
        left_s = slot.end - slot.start + BEFORE_S + 3 * START_S
        loads = [bench.udp(load, slot.end) for load in LOADS]
        rivals = [bench.tcp(LOADS[0].source, LOADS[0].destination, port, left_s) for port in RIVALS]
        flow = bench.tcp(SOURCE, SINK, PORT, left_s)
        bench.watch([slot])
        bench.wait_until(slot.end)
        for one in (flow, *rivals, *loads):
            one.stop()
    bench.demand_sent(loads, flow.started_at, slot.end)
    stream = _stream(captured)
    best = during(stream, Phase("best effort", flow.started_at + SETTLE_S, slot.start - 0.2))
    assured = during(stream, Phase("assured rate", slot.start + SETTLE_S, slot.end - 0.5))
    rate_bps = steps.mean_bps(flow.samples(), Phase("assured rate", slot.start + SETTLE_S, slot.end - 0.5))
    seconds = [value / 1e6 for value in pattern.distances_us(best)]
    near = 100 * sum(value < 10 for value in seconds) / len(seconds) if seconds else None
    rows = (
        SMALL.judge(figures.loss_percent(best), note=_periods(best)),
        CLOSE.judge(near, note=f"{len(seconds)} distances"),
        BURSTY.judge(max(pattern.lengths(best), default=0)),
        SPARED.judge(figures.loss_percent(assured), figures.loss_percent(best), note=_periods(assured)),
        PROMISED.judge(bench.scale.own(rate_bps) / 1e6),
    )
    return Findings(rows, _plots({"best effort": best, "assured rate": assured}), configuration)


def _stream(captured: Captured) -> tuple[Delay, ...]:
    # Only what carries data is numbered in a row: a connection's last words may have no number at all.
    left, came = (
        [packet for packet in packets if packet.packet_bytes > MOST_HEADER_BYTES]
        for packets in (captured.sent, captured.received)
    )
    sent, received = numbered(left), numbered(came, left[0].number if left else None)
    return delay.one_way(stamps(sent, received, captured.offset_us), WAITING_US)


def _periods(stream: tuple[Delay, ...]) -> str:
    lengths = pattern.lengths(stream)
    mean = sum(lengths) / len(lengths) if lengths else 0
    return f"{len(stream)} packets, {len(lengths)} loss periods of {mean:.1f} packets"


def _plots(streams: dict[str, tuple[Delay, ...]]) -> tuple[Plot, ...]:
    distances, lengths = [], []
    for name, stream in streams.items():
        values = [value / 1e6 for value in pattern.distances_us(stream)]
        if values:
            distances.append(Curve(name, *figures.cumulative(values)))
        counted = sorted(Counter(pattern.lengths(stream)).items())
        if counted:
            lengths.append(Curve(name, tuple(float(k) for k, _ in counted), tuple(float(v) for _, v in counted)))
    return (
        Plot("distance", "Loss distance", "seconds", "per cent of distances within", tuple(distances), style="steps"),
        Plot("length", "Loss length", "packets in a loss period", "loss periods", tuple(lengths), style="bars"),
    )


EXPERIMENT = Experiment(
    name="loss-pattern",
    title="D7.3: the loss pattern of a congested TCP connection",
    source="DataGRID D7.3 §9.1.3, Figures 17 to 19; RFC 3357",
    shown=(
        "A congested TCP connection loses few packets, but seldom one alone and never long after another; with an assured"
        " rate it loses fewer and keeps its rate."
    ),
    inventory=HERE.parent / "datagrid" / "congested",
    measure=measure,
    scale=QUARTER + " Congestion is made here, where D7.3 met it between Bologna, Amsterdam and Michigan.",
)
