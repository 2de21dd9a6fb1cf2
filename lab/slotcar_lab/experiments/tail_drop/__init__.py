"""D7.3 Figure 4: what a UDP and a TCP stream get of their class's rate, by the tail-drop threshold of its queue."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from slotcar_lab import traffic
from slotcar_lab.experiments.bench import START_S, Bench, Slot, Udp
from slotcar_lab.experiments.datagrid import steps
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.late_answers import late_answers
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule

HERE = Path(__file__).parent
SINK, LINE_BPS = "sink-a", 25_000_000
#: Of the queue, per cent: each sub-queue's is its class's name.
THRESHOLDS = (2, 5, 10, 20, 40, 80)
UDP_PORT, TCP_PORT = 6_100, 6_000
#: What is reserved in each class, and what a stream of constant bit rate sends of it.
RESERVED_BPS, UDP_BPS = 2_600_000, 2_550_000
#: Best effort that fills the line: nobody lends another class anything.
LOAD = Udp("source-b", "sink-b", 5_011, LINE_BPS)
#: A round trip with which a window is more than a packet or two; the reference prints none.
RTT_MS = 100
#: As Linux 2.4 had it.
CONTROL = "reno"
SMOKE_S = 9.0

LITTLE = Rule(
    "TCP at the smallest threshold, 2 % of the queue, beside the largest",
    "too small values should be avoided, for TCP's bursts",
    "%",
    "at most 90 %",
    lambda ours, _: ours <= 90,
)
LARGE = Rule(
    "TCP at the largest threshold, 80 %",
    "achieves the rate",
    "% of what is reserved",
    "at least 90 %",
    lambda ours, _: ours >= 90,
)
RISES = Rule(
    "thresholds at which TCP has less than nine tenths of what it has at the one before",
    "rises with the threshold",
    "of 5",
    "none",
    lambda ours, _: ours == 0,
)
STEADY = Rule(
    "UDP at the worst threshold",
    "drawn in Figure 4, not told; a constant bit rate has no bursts",
    "% of what it sent",
    "at least 97 %",
    lambda ours, _: ours >= 97,
    promise=True,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What streams had, per cent, by their class's threshold: UDP of what it sent, TCP of what is reserved."""

    udp: Mapping[int, float]
    tcp: Mapping[int, float]


def measure(bench: Bench) -> Findings:
    slots = bench.reserve(HERE / "reservations.yml")
    by_protocol = {one: slots[f"{one}-{THRESHOLDS[0]}"] for one in ("udp", "tcp")}
    for slot in by_protocol.values():
        bench.arm(slot, by_protocol["udp"].start - 3 * START_S)
    configuration = bench.configuration(by_protocol["tcp"].start + 1.0)
    end = by_protocol["tcp"].start + SMOKE_S if bench.smoke else by_protocol["tcp"].end
    tcp_slot = replace(by_protocol["tcp"], end=end)
    with _far(bench):
        bench.wait_until(by_protocol["udp"].start - 2 * START_S)
        load = bench.udp(LOAD, end)
        udp = {one: bench.udp(_datagrams(one), by_protocol["udp"].end) for one in THRESHOLDS}
        bench.wait_until(tcp_slot.start - START_S)
        tcp = {one: bench.tcp("source-a", SINK, TCP_PORT + one, end - tcp_slot.start) for one in THRESHOLDS}
        bench.watch([tcp_slot])
        bench.wait_until(end + 0.5)
        for flow in (*udp.values(), *tcp.values(), load):
            flow.stop()
    bench.demand_sent([load, *udp.values()], by_protocol["udp"].start, by_protocol["udp"].end)
    bench.demand_sent([load], tcp_slot.start, end)
    parts = Parts(
        {one: _percent(bench, flow, by_protocol["udp"], UDP_BPS) for one, flow in udp.items()},
        {one: _percent(bench, flow, tcp_slot, RESERVED_BPS) for one, flow in tcp.items()},
    )
    return Findings(_rows(parts), (_plot(parts),), configuration)


def _datagrams(threshold: int) -> Udp:
    return Udp("source-a", SINK, UDP_PORT + threshold, UDP_BPS, together=1)


def _percent(bench: Bench, flow: traffic.Flow, slot: Slot, rate_bps: int) -> float:
    return 100 * bench.scale.own(steps.mean_bps(flow.samples(), steps.phase(slot))) / rate_bps


@contextlib.contextmanager
def _far(bench: Bench) -> Iterator[None]:
    """Acknowledgements are late by the round trip, and TCP is that of the reference."""
    control = "/proc/sys/net/ipv4/tcp_congestion_control"
    before = bench.lab.check("source-a", ["cat", control]).strip()
    bench.lab.check("source-a", ["sh", "-c", f"echo {CONTROL} >{control}"])
    try:
        with late_answers(bench, SINK, RTT_MS):
            yield
    finally:
        bench.lab.exec("source-a", ["sh", "-c", f"echo {before} >{control}"])


def _rows(parts: Parts) -> tuple[Row, ...]:
    tcp = [parts.tcp[one] for one in THRESHOLDS]
    note = ", ".join(f"{one} %: {parts.tcp[one]:.0f}" for one in THRESHOLDS)
    return (
        LITTLE.judge(100 * tcp[0] / tcp[-1] if tcp[-1] else None, note=f"by thresholds, {note} % of what is reserved"),
        LARGE.judge(tcp[-1]),
        RISES.judge(float(falls(tcp))),
        STEADY.judge(min(parts.udp.values())),
    )


def falls(rates: Sequence[float]) -> int:
    """How often one is less than nine tenths of the one before."""
    return sum(after < 0.9 * before for before, after in pairwise(rates))


def _plot(parts: Parts) -> Plot:
    places = tuple(float(one) for one in THRESHOLDS)
    curves = (
        Curve("UDP, of what it sent", places, tuple(parts.udp[one] for one in THRESHOLDS)),
        Curve("TCP, of what is reserved", places, tuple(parts.tcp[one] for one in THRESHOLDS)),
    )
    label = "tail-drop threshold, % of a queue of 100 ms of the line"
    return Plot("threshold", "Throughput by the tail-drop threshold", label, "payload received, %", curves)


EXPERIMENT = Experiment(
    name="tail-drop",
    title="D7.3: throughput against the tail-drop threshold",
    source="DataGRID D7.3 §8.1.1, Figure 4",
    shown=(
        "A TCP stream needs a tail-drop threshold above its bursts to have its class's rate; a UDP stream of constant bit"
        " rate has it at each."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    scale=QUARTER
    + " The reference prints neither rates nor lengths: six sub-queues of 11 % of the line each, whose queue is 100 ms of"
    f" the line, with a round trip of {RTT_MS} ms. TCP is NewReno with SACK, as its hosts' kernel 2.4 had it.",
    explain=(
        "How much a small threshold costs depends on TCP and on the round trip: with CUBIC and 50 ms it had 97 % at the"
        " smallest of what it had at the largest. What is reserved is a part of what the class may have."
    ),
)
