"""D7.3 §9.1.4: long flows and transactions with and without ECN, over one and two congestion points."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slotcar_lab.client import LabProcess
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.bench import Bench
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.figures import Phase
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.experiments.queues import Depth, Sampler
from slotcar_lab.patience import HANG_S

HERE = Path(__file__).parent
SCRIPT = HERE.parents[1] / "agent" / "transactions.py"
#: A quarter of 64, so that each has the part of the link that it had there.
LONG_FLOWS, CROSS_FLOWS = 16, 8
#: Who ask: on a connection that stays, as netperf does in its request/response mode, and on one for each transaction.
KEEPING, FRESH_WORKERS, ANSWER_BYTES = 4, 2, 8_000
#: A transaction above it waited for a timeout: the first one of a handshake is 1 s (RFC 6298 §2.1).
SLOW_S = 1.0
SETTLE_S, MEASURE_S, SMOKE_S = 3.0, 12.0, 4.0
#: After its time: what is counted by then is what was in time; then for the ends to say it.
OVER_S, PATIENCE_S = 1.0, 60.0
BEST_EFFORT = "51c3:"
#: "The maximum range [140,160]" of a queue of 160: its uppermost eighth.
UPPERMOST = 0.875
#: Routers whose link is congested, with its interface, in the order of the path.
CONGESTED = (("near", "eth1"), ("mid", "eth2"))
WORDS = {False: "without ECN", True: "with ECN"}
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
    "at least 100 %, and at least what it is with one",
    lambda ours, one: ours >= max(100, one),
)
FRESH = Rule(
    "the same with a connection for each transaction, one congestion point",
    "not told apart: netperf's request/response mode has one connection",
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
    """One run. `keeping` and `fresh` are the seconds that each transaction took, on a connection that stayed and on one of
    its own; `depths` are those of best effort's queue by the congested interface, the first link's first; `received_bps`
    and `retransmitted` are of the flows over all links, `cross_bps` of those over the last one alone."""

    keeping: tuple[float, ...]
    fresh: tuple[float, ...]
    received_bps: float
    retransmitted: int
    depths: tuple[tuple[Depth, ...], ...]
    cross_bps: float = 0.0


Runs = Mapping[tuple[int, bool], Ran]


def measure(bench: Bench) -> Findings:
    runs: dict[tuple[int, bool], Ran] = {}
    for points in (1,) if bench.smoke else (1, 2):
        for ecn in (False, True):
            runs[points, ecn] = run(bench, points, ecn=ecn)
            one = runs[points, ecn]
            words = (
                f"{len(one.keeping)} and {len(one.fresh)} transactions, {one.received_bps / 1e6:.1f} Mb/s of the lab"
            )
            bench.say(
                f"{points} congestion point(s), ECN {'on' if ecn else 'off'}: {words}, {one.retransmitted} again"
            )
    return Findings(_rows(runs), _plots(runs), bench.configuration(bench.clock.now()))


def _rows(runs: Runs) -> tuple[Row, ...]:
    without, with_ecn = runs[1, False], runs[1, True]
    gain, note = _gain(runs, 1, "keeping")
    gain_twice, note_twice = _gain(runs, 2, "keeping")
    gain_fresh, note_fresh = _gain(runs, 1, "fresh")
    peaks = {ecn: _peaks(runs, ecn=ecn) for ecn in (False, True)}
    peaks_note = (
        f"without {peaks[False]:.1f} %, of {len(without.depths[0])} instants" if peaks[False] is not None else ""
    )
    again = part(with_ecn.retransmitted, without.retransmitted)
    return (
        GAIN.judge(gain, note=note),
        GAIN_TWICE.judge(gain_twice, gain, note=note_twice),
        FRESH.judge(gain_fresh, note=note_fresh),
        THROUGHPUT.judge(part(with_ecn.received_bps, without.received_bps)),
        SENT_AGAIN.judge(again, note=f"{with_ecn.retransmitted} of {without.retransmitted}"),
        PEAKS.judge(peaks[True], peaks[False], note=peaks_note),
    )


def _gain(runs: Runs, points: int, kind: str) -> tuple[float | None, str]:
    """Transactions with ECN in per cent of those without, and both in words; None where there was no such run."""
    if (points, False) not in runs:
        return None, ""
    without, with_ecn = (getattr(runs[points, ecn], kind) for ecn in (False, True))
    parts = [
        f"{len(took)} {word}, {_slow(took)} of them above {SLOW_S:g} s"
        for took, word in ((with_ecn, "with"), (without, "without"))
    ]
    return part(len(with_ecn), len(without)), "; ".join(parts)


def _slow(took_s: Sequence[float]) -> int:
    return sum(one > SLOW_S for one in took_s)


def run(bench: Bench, points: int, *, ecn: bool, sack: bool = True) -> Ran:
    """Long flows and transactions over so many congestion points, on ends that know these two or do not."""
    for host in HOSTS:
        knows = f"cd /proc/sys/net/ipv4 && echo {int(ecn)} >tcp_ecn && echo {int(sack)} >tcp_sack"
        bench.lab.check(host, ["sh", "-c", knows])
    measure_s = SMOKE_S if bench.smoke else MEASURE_S
    pairs = [("source-a", "sink-a", bench.scale.lab(LONG_FLOWS))]
    if points > 1:
        pairs.append(("source-c", "sink-b", bench.scale.lab(CROSS_FLOWS)))
    servers = [bench.lab.popen(sink, ["iperf3", "-s", "-1", "-p", "5201"]) for _, sink, _ in pairs]
    # The answers cross the congested links: they are asked for from behind them.
    spec = {"address": bench.lab.topology.address_of("source-b"), "port": 5301, "answer_bytes": ANSWER_BYTES}
    serving = _transactions(bench, "source-b", "serve", spec)
    serving.wait_reported("ready", HANG_S)
    begin = bench.next_begin()
    clients = [_iperf3(bench, begin, *pair, measure_s) for pair in pairs]
    questions = {**spec, "keeping": KEEPING, "fresh": FRESH_WORKERS, "settle_s": SETTLE_S, "duration_s": measure_s}
    transactions = _transactions(bench, "sink-a", "ask", {**questions, "begin": bench.by_the_nodes(begin)})
    samplers = [Sampler(bench.lab, *link) for link in CONGESTED[:points]]
    bench.wait_until(begin + SETTLE_S + measure_s + OVER_S)
    since = bench.by_the_nodes(begin + SETTLE_S)
    measured = Phase("measured", since, since + measure_s)
    depths = tuple(_of_best_effort(one.depths(), measured) for one in samplers)
    for process in (transactions, *clients):
        bench.wait_ended(process, PATIENCE_S)
    reports = [_ended(client) for client in clients]
    took = json.loads(transactions.stdout)
    for process in (*servers, *clients, serving, transactions):
        process.close()
    return Ran(
        keeping=tuple(took["keeping"]),
        fresh=tuple(took["fresh"]),
        # The server's own figure, which comes back to the client.
        received_bps=reports[0]["sum_received"]["bits_per_second"],
        retransmitted=reports[0]["sum_sent"]["retransmits"],
        depths=depths,
        cross_bps=sum(report["sum_received"]["bits_per_second"] for report in reports[1:]),
    )


def _ended(client: LabProcess) -> dict[str, Any]:
    """What iperf3 counted at its end.

    Raises:
        LabError: it did not get that far.
    """
    report: dict[str, Any] = json.loads(client.stdout)
    if "error" in report:
        raise LabError(f"iperf3: {report['error']}")
    ended: dict[str, Any] = report["end"]
    return ended


def _of_best_effort(depths: Sequence[Depth], phase: Phase) -> tuple[Depth, ...]:
    return tuple(one for one in depths if one.handle == BEST_EFFORT and phase.start_us <= one.at_us < phase.end_us)


def _iperf3(bench: Bench, begin: float, source: str, sink: str, flows: int, measure_s: float) -> LabProcess:
    address = bench.lab.topology.address_of(sink)
    argv = ["iperf3", "-J", "-c", address, "-p", "5201", "-P", str(flows), "-t", f"{measure_s:.0f}"]
    return bench.run_at(begin, source, [*argv, "-O", f"{SETTLE_S:.0f}", "-i", "0"])


def _transactions(bench: Bench, node: str, role: str, spec: dict[str, Any]) -> LabProcess:
    return bench.lab.start_python(node, SCRIPT, role, json.dumps(spec))


def part(ours: float, others: float) -> float | None:
    """Per cent of another figure; None where that is nothing."""
    return 100 * ours / others if others else None


def _peaks(runs: Runs, *, ecn: bool) -> float | None:
    """Per cent of the instants at which the first queue was nearly as long as it ever was in any run."""
    depths_of_runs = [ran.depths[0] for ran in runs.values() if ran.depths[0]]
    depths = runs[1, ecn].depths[0]
    if not depths:
        return None
    limit = max(depth.queued_bytes for one in depths_of_runs for depth in one)
    return 100 * sum(depth.queued_bytes >= UPPERMOST * limit for depth in depths) / len(depths)


def _plots(runs: Runs) -> tuple[Plot, ...]:
    plots = []
    for points in sorted({points for points, _ in runs}):
        for number, (router, _) in enumerate(CONGESTED[:points]):
            of = {ecn: runs[points, ecn].depths[number] for ecn in (False, True)}
            title = "Queue length" if points == 1 else f"Queue length at {router}, two congestion points"
            slug = "histogram" if points == 1 else f"histogram-{router}"
            curves = tuple(_histogram(WORDS[ecn], depths) for ecn, depths in of.items() if depths)
            plots.append(Plot(slug, title, "packets", "per cent of instants", curves, style="bars"))
    over_time = tuple(
        _over_time(WORDS[ecn], runs[1, ecn].depths[0]) for ecn in (False, True) if runs[1, ecn].depths[0]
    )
    return (*plots, Plot("queue", "Instantaneous queue length", "seconds", "packets", over_time))


def _histogram(name: str, depths: Sequence[Depth]) -> Curve:
    bins = Counter(10.0 * (depth.queued_packets // 10) for depth in depths)
    return Curve(name, tuple(sorted(bins)), tuple(100 * bins[at] / len(depths) for at in sorted(bins)))


def _over_time(name: str, depths: Sequence[Depth]) -> Curve:
    seconds = tuple((depth.at_us - depths[0].at_us) / 1e6 for depth in depths)
    return Curve(name, seconds, tuple(float(depth.queued_packets) for depth in depths))


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
    scale=QUARTER
    + " So is the number of long flows, 16 for 64, which is scaled with them: each has the part of the link that it had.",
    explain=(
        "On a connection that stays, runs gave 98 to 114 % of the transactions with one congestion point: what ECN gains"
        " there is no more than runs differ by. What cannot be marked is dropped: a connection's first segments carry none"
        " (RFC 3168 §6.1.1), and for what is lost of a handshake a second is waited. Ends of today lose less by a loss than"
        " those of 2001: the last segment of an answer is probed for before a timeout. Sixteen flows on this link have"
        " windows of few segments, so that marks alone do not hold the queue below its upper threshold. Above it all is"
        " dropped, also those that could be marked (RFC 3168 §7), and sent again. Where they were marked and stayed, as few"
        " as one segment was sent again, and fresh connections had 31 to 47 % of their transactions."
    ),
)
