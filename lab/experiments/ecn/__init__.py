"""D7.3 §9.1.4: long flows and transactions with and without ECN, over one and two congestion points."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.client import LabProcess
from lab.errors import LabError
from lab.experiments.bench import Bench
from lab.experiments.experiment import QUARTER, Experiment, Findings
from lab.experiments.model import Curve, Plot, Rule
from lab.experiments.queues import Depth, Sampler
from lab.keys import base_python

HERE = Path(__file__).parent
SCRIPT = HERE.parents[1] / "agent" / "transactions.py"
#: A quarter of 64, so that each has the part of the link that it had there.
LONG_FLOWS, CROSS_FLOWS = 16, 8
WORKERS, ANSWER_BYTES = 4, 8_000
SETTLE_S, MEASURE_S, SMOKE_S = 3.0, 10.0, 4.0
BEST_EFFORT = "51c3:"
#: "The maximum range [140,160]" of a queue of 160: its uppermost eighth.
UPPERMOST = 0.875
HOSTS = ("source-a", "source-b", "source-c", "sink-a", "sink-b")

GAIN = Rule(
    "transactions completed with ECN, beside without, one congestion point",
    "more: the gain is particularly noticeable for them",
    "% of those without",
    "at least 100 %",
    lambda ours, _: ours >= 100,
)
GAIN_TWICE = Rule(
    "transactions completed with ECN, beside without, two congestion points",
    "the gain is more relevant than with one",
    "% of those without",
    "at least 100 %",
    lambda ours, _: ours >= 100,
)
THROUGHPUT = Rule(
    "throughput of the long flows with ECN, beside without",
    "a gain, less than for transactions",
    "% of that without",
    "at least 97 %",
    lambda ours, _: ours >= 97,
)
SENT_AGAIN = Rule(
    "segments sent again with ECN, beside without",
    "the number that must be recovered is minimized",
    "% of those without",
    "at most 50 %",
    lambda ours, _: ours <= 50,
)
PEAKS = Rule(
    "instants at which the queue is in its uppermost eighth, with ECN, beside without",
    "3 instead of 6: doubled without ECN",
    "% of the instants",
    "no more than without",
    lambda ours, without: ours <= without,
)


@dataclass(frozen=True, slots=True)
class Ran:
    """One run. `depths` are those of best effort's queue behind the first link."""

    transactions: int
    received_bps: float
    retransmitted: int
    depths: tuple[Depth, ...]


def measure(bench: Bench) -> Findings:
    runs: dict[tuple[int, bool], Ran] = {}
    for points in (1,) if bench.smoke else (1, 2):
        for ecn in (False, True):
            runs[points, ecn] = _run(bench, points, ecn=ecn)
            one = runs[points, ecn]
            words = f"{one.transactions} transactions, {one.received_bps / 1e6:.1f} Mb/s, {one.retransmitted} again"
            bench.say(f"{points} congestion point(s), ECN {'on' if ecn else 'off'}: {words}")
    without, with_ecn = runs[1, False], runs[1, True]
    limit = max(depth.queued_bytes for ran in runs.values() for depth in ran.depths)
    peaks = {ecn: _peaks(runs[1, ecn].depths, limit) for ecn in (False, True)}
    twice = runs.get((2, False)), runs.get((2, True))
    rows = (
        GAIN.judge(_part(with_ecn.transactions, without.transactions), note=_counted(without, with_ecn)),
        GAIN_TWICE.judge(
            _part(twice[1].transactions, twice[0].transactions) if twice[0] and twice[1] else None,
            note=_counted(twice[0], twice[1]) if twice[0] and twice[1] else "",
        ),
        THROUGHPUT.judge(_part(with_ecn.received_bps, without.received_bps)),
        SENT_AGAIN.judge(
            _part(with_ecn.retransmitted, without.retransmitted),
            note=f"{with_ecn.retransmitted} of {without.retransmitted}",
        ),
        PEAKS.judge(
            peaks[True], peaks[False], note=f"without {peaks[False]:.1f} %, of {len(without.depths)} instants"
        ),
    )
    return Findings(rows, _plots(runs), bench.configuration(time.time()))


def _run(bench: Bench, points: int, *, ecn: bool) -> Ran:
    for host in HOSTS:
        bench.lab.check(host, ["sh", "-c", f"echo {int(ecn)} >/proc/sys/net/ipv4/tcp_ecn"])
    measure_s = SMOKE_S if bench.smoke else MEASURE_S
    pairs = [("source-a", "sink-a", LONG_FLOWS)]
    if points > 1:
        pairs.append(("source-c", "sink-b", CROSS_FLOWS))
    servers = [bench.lab.popen(sink, ["iperf3", "-s", "-1", "-p", "5201"]) for _, sink, _ in pairs]
    # The answers cross the congested links: they are asked for from behind them.
    spec = {"address": bench.lab.topology.address_of("source-b"), "port": 5301, "answer_bytes": ANSWER_BYTES}
    serving = _transactions(bench, "source-b", "serve", spec)
    _wait_for(serving, "ready")
    time.sleep(0.5)
    sampler = Sampler(bench.lab, "near", "eth1")
    clients = [_iperf3(bench, *pair, measure_s) for pair in pairs]
    asked = {**spec, "workers": WORKERS, "settle_s": SETTLE_S, "duration_s": measure_s}
    asking = _transactions(bench, "sink-a", "ask", asked)
    asking.wait(measure_s + SETTLE_S + 60)
    for client in clients:
        client.wait(60)
    depths = tuple(depth for depth in sampler.depths() if depth.handle == BEST_EFFORT)
    told = json.loads(clients[0].stdout)
    if "error" in told:
        raise LabError(f"iperf3: {told['error']}")
    for process in (*servers, *clients, serving, asking):
        process.close()
    return Ran(
        transactions=json.loads(asking.stdout)["completed"],
        # The server's own figure, which comes back to the client.
        received_bps=told["end"]["sum_received"]["bits_per_second"],
        retransmitted=told["end"]["sum_sent"]["retransmits"],
        depths=depths,
    )


def _iperf3(bench: Bench, source: str, sink: str, flows: int, measure_s: float) -> LabProcess:
    address = bench.lab.topology.address_of(sink)
    argv = ["iperf3", "-J", "-c", address, "-p", "5201", "-P", str(flows), "-t", f"{measure_s:.0f}"]
    return bench.lab.popen(source, [*argv, "-O", f"{SETTLE_S:.0f}", "-i", "0"])


def _transactions(bench: Bench, node: str, role: str, spec: dict[str, Any]) -> LabProcess:
    argv = [base_python(), "-I", "-S", "-B", "-c", SCRIPT.read_text(), role, json.dumps(spec)]
    return bench.lab.popen(node, argv)


def _wait_for(process: LabProcess, word: str) -> None:
    deadline = time.monotonic() + 20
    while word not in process.stdout:
        if process.poll() is not None or time.monotonic() > deadline:
            raise LabError(f"the answering end did not start: {process.stderr.strip()}")
        time.sleep(0.02)


def _part(ours: float, others: float) -> float | None:
    return 100 * ours / others if others else None


def _counted(without: Ran, with_ecn: Ran) -> str:
    return f"{with_ecn.transactions} with, {without.transactions} without"


def _peaks(depths: Sequence[Depth], limit: int) -> float:
    return 100 * sum(depth.queued_bytes >= UPPERMOST * limit for depth in depths) / len(depths)


def _plots(runs: dict[tuple[int, bool], Ran]) -> tuple[Plot, ...]:
    histogram, over_time = [], []
    for ecn in (False, True):
        depths = runs[1, ecn].depths
        name = "with ECN" if ecn else "without ECN"
        bins: dict[float, int] = {}
        for depth in depths:
            bins[10.0 * (depth.queued_packets // 10)] = bins.get(10.0 * (depth.queued_packets // 10), 0) + 1
        values = tuple(100 * bins[at] / len(depths) for at in sorted(bins))
        histogram.append(Curve(name, tuple(sorted(bins)), values))
        began = depths[0].at_us
        over_time.append(
            Curve(name, tuple((d.at_us - began) / 1e6 for d in depths), tuple(float(d.queued_packets) for d in depths))
        )
    return (
        Plot("histogram", "Queue length", "packets", "per cent of instants", tuple(histogram), style="bars"),
        Plot("queue", "Instantaneous queue length", "seconds", "packets", tuple(over_time)),
    )


EXPERIMENT = Experiment(
    name="ecn",
    title="D7.3: explicit congestion notification",
    source="DataGRID D7.3 §9.1.4, Figures 20 and 21",
    shown=(
        "With ECN more transactions are completed beside long flows, less has to be sent again, and the queue is full less"
        " often; with two congestion points the gain is there, too."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    scale=QUARTER + " So is the number of long flows, 16 for 64: each has the part of the link that it had.",
    explain=(
        "The drop probability that Slotcar renders for best effort is 1/10 at the upper threshold, not D7.3's 1/50. Ends"
        " of today lose less by a loss than those of 2001: an answer of 8 kB is one initial window of ten segments, and its"
        " last segment is probed for before a timeout. Why transactions are fewer with ECN is not established: the queue"
        " was as long on average, and swung more."
    ),
)
