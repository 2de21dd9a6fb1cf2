"""D7.3 §9.1.2, Figures 14 to 16: UDP by the spacing of frames, TCP by its buffers and by the number of streams."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from slotcar_lab.errors import LabError
from slotcar_lab.experiments.bench import Bench, Udp
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.late_answers import late_answers
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.patience import HANG_S

HERE = Path(__file__).parent
#: A datagram's headers as the line counts them: Ethernet's, IP's and UDP's.
HEADER_BYTES = 42


@dataclass(frozen=True, slots=True)
class Way:
    """A way of Table 2: its line, and the round trip of the paper."""

    name: str
    source: str
    sink: str
    line_mbps: int
    rtt_ms: float


AMSTERDAM = Way("to Amsterdam", "source-c", "sink-a", 750, 14.5)
CERN = Way("to CERN", "source-a", "sink-b", 460, 21.4)
WAYS = (AMSTERDAM, CERN)
KIB = 1_024
BUFFERS = tuple(KIB * size for size in (64, 128, 256, 512, 1_024, 2_048, 4_096))
USUAL, ENOUGH, LARGE = 64 * KIB, 1_024 * KIB, 256 * KIB
STREAMS = (1, 5, 7, 9, 12)
PAYLOADS = (736, 1_472)
#: Between frames, in parts of the time that one of them takes on the line.
SPACINGS = (0.8, 1.02, 1.5, 3.0)
UDP_S = 1.0
#: Many round trips each, in whole seconds, as `iperf3` takes them.
SETTLE_S, MEASURE_S = 1, 1
#: What the lab's own hops add to a round trip.
HOPS_MS = 1.3
#: For a run to end by itself, and at most.
OVER_S, PATIENCE_S = 1.0, 120.0
#: So that the smallest buffer is whole segments of 1,024 bytes and TCP's timestamps.
SEGMENT_BYTES = 1_024 + 12
#: What changes the rate by less is a plateau.
PLATEAU = 1.1

UDP_MOST = Rule(
    "greatest rate of UDP, the lower of both ways",
    "570 Mb/s of an access link of 622, 91 %",
    "% of the line",
    "at least 91 %",
    lambda ours, _: ours >= 91,
)
UDP_LOSS = Rule(
    "loss of UDP where frames are not closer than the line takes for them, the worst",
    "little packet loss",
    "%",
    "at most 0.5 %",
    lambda ours, _: ours <= 0.5,
)
UDP_CLOSE = Rule(
    "rate of UDP where frames are closer, beside the greatest, the worst",
    "falls, by the hosts' interfaces and not by the network",
    "%",
    "at least 97 %: here the network alone is measured",
    lambda ours, _: ours >= 97,
    promise=True,
)
TO_AMSTERDAM = Rule(
    "rate of one TCP stream with buffers of 1 MB, to Amsterdam",
    "510 Mb/s, 68 % of UDP's",
    "Mb/s",
    "at least 510",
    lambda ours, _: ours >= 510,
)
TO_CERN = Rule(
    "rate of one TCP stream with buffers of 1 MB, to CERN",
    "380 Mb/s, 82 % of UDP's",
    "Mb/s",
    "at least 380",
    lambda ours, _: ours >= 380,
)
KNEES = Rule(
    "least buffer from which on no larger one gives a tenth more, the larger of both ways",
    "about 1 MB; Table 2: 1.36 and 1.23 MB",
    "MB",
    "1 or 2, of buffers of which each is twice the one before",
    lambda ours, _: 1 <= ours <= 2.1,
)
ONE_STREAM = Rule(
    "rate of one stream with buffers of 64 KB, to CERN",
    "about 25 Mb/s",
    "Mb/s",
    "20 to 30",
    lambda ours, _: 20 <= ours <= 30,
)
LINEAR = Rule(
    "rate of nine such streams, beside nine times that of one",
    "rises linearly up to 9 streams",
    "%",
    "at least 90 %",
    lambda ours, _: ours >= 90,
)
CROWDED = Rule(
    "rate of each of twelve such streams, beside each of nine",
    "drops from 25 to about 15 Mb/s, 60 %",
    "%",
    "at most 80 %",
    lambda ours, _: ours <= 80,
)
SEVEN = Rule(
    "rate of seven streams with buffers of 256 KB, to CERN",
    "plateaus at about 7 streams, at about 400 Mb/s",
    "Mb/s",
    "at least 400, and at least nine tenths of twelve streams'",
    lambda ours, twelve: ours >= max(400, 0.9 * twelve),
)


@dataclass(frozen=True, slots=True)
class Sent:
    """Datagrams of one size at one spacing: what came in Mb/s as the paper's, and what was lost."""

    payload_bytes: int
    spacing: float
    received_mbps: float
    lost_percent: float

    def spacing_us(self, way: Way) -> float:
        return self.spacing * frame_us(self.payload_bytes, way)


#: Mb/s by the way, the buffer and the number of streams.
Rates = Mapping[tuple[Way, int, int], float]


def frame_us(payload_bytes: int, way: Way) -> float:
    """What a frame takes on a way's line."""
    return (payload_bytes + HEADER_BYTES) * 8 / way.line_mbps


def measure(bench: Bench) -> Findings:
    configuration = bench.configuration(bench.clock.now())
    sent = {way: [_udp(bench, way, *case) for case in _datagrams(smoke=bench.smoke)] for way in WAYS}
    rates: dict[tuple[Way, int, int], float] = {}
    for way in WAYS:
        with late_answers(bench, way.sink, way.rtt_ms - HOPS_MS):
            for buffer_bytes, streams in cases(way, smoke=bench.smoke):
                rates[way, buffer_bytes, streams] = one = _tcp(bench, way, buffer_bytes, streams)
                bench.say(f"{way.name}: {streams} streams, buffers of {buffer_bytes // KIB} KB: {one:.1f} Mb/s")
    return Findings(_rows(sent, rates), _plots(sent, rates), configuration)


def _datagrams(*, smoke: bool) -> list[tuple[int, float]]:
    return [(size, spacing) for size in PAYLOADS[1 if smoke else 0 :] for spacing in SPACINGS[: 2 if smoke else None]]


def cases(way: Way, *, smoke: bool) -> list[tuple[int, int]]:
    """Buffers and numbers of streams."""
    by_buffer = [(one, 1) for one in ((USUAL, ENOUGH) if smoke else BUFFERS)]
    if way is not CERN or smoke:
        return by_buffer
    return list(dict.fromkeys([*by_buffer, *((size, count) for size in (USUAL, LARGE) for count in STREAMS)]))


def _udp(bench: Bench, way: Way, payload_bytes: int, spacing: float) -> Sent:
    rate_bps = round(payload_bytes * 8e6 / (spacing * frame_us(payload_bytes, way)))
    flow = bench.udp_for(Udp(way.source, way.sink, 6_000, rate_bps, payload_bytes, together=1), UDP_S)
    totals = flow.wait(UDP_S + HANG_S)
    bench.demand_sent([flow], flow.started_at, flow.started_at + UDP_S)
    inside = [one.received_bps for one in flow.samples() if one.ended_at > flow.started_at + UDP_S / 2]
    flow.stop()
    if not inside:
        raise LabError(f"nothing was counted of {payload_bytes} bytes at {spacing:g}")
    received_mbps = bench.scale.own(sum(inside) / len(inside)) / 1e6
    lost = 100 * totals.lost_packets / totals.sent_packets
    bench.say(
        f"{way.name}: {payload_bytes} bytes at {spacing:g} of a frame: {received_mbps:.1f} Mb/s, {lost:.2f} % lost"
    )
    return Sent(payload_bytes, spacing, received_mbps, lost)


def _tcp(bench: Bench, way: Way, buffer_bytes: int, streams: int) -> float:
    """Mb/s of all streams together, as the paper's."""
    # The kernel keeps half of a receive buffer for its own structures, and more of a send buffer.
    _buffers(bench, way.sink, "tcp_rmem", 2 * bench.scale.lab(buffer_bytes))
    _buffers(bench, way.source, "tcp_wmem", 4 * bench.scale.lab(buffer_bytes))
    bench.lab.check(way.source, ["ip", "tcp_metrics", "flush", "all"])
    serving = bench.lab.popen(way.sink, ["iperf3", "-s", "-1", "-p", "5201"])
    begin = bench.next_begin()
    argv = ["iperf3", "-J", "-c", bench.lab.topology.address_of(way.sink), "-p", "5201", "-M", str(SEGMENT_BYTES)]
    argv += ["-P", str(streams), "-t", str(MEASURE_S), "-O", str(SETTLE_S), "-i", "0"]
    sending = bench.run_at(begin, way.source, argv)
    bench.wait_until(begin + SETTLE_S + MEASURE_S + OVER_S)
    bench.wait_ended(sending, PATIENCE_S)
    report = json.loads(sending.stdout)
    for process in (serving, sending):
        process.close()
    if "error" in report:
        raise LabError(f"iperf3: {report['error']}")
    return bench.scale.own(report["end"]["sum_received"]["bits_per_second"]) / 1e6


def _buffers(bench: Bench, host: str, which: str, most_bytes: int) -> None:
    bench.lab.check(host, ["sh", "-c", f"echo 4096 {most_bytes} {most_bytes} >/proc/sys/net/ipv4/{which}"])


def _rows(sent: Mapping[Way, Sequence[Sent]], rates: Rates) -> tuple[Row, ...]:
    greatest = {way: max(one.received_mbps for one in ones) for way, ones in sent.items()}
    spaced = [one.lost_percent for ones in sent.values() for one in ones if one.spacing >= 1]
    lines = ", ".join(f"{way.name} {rate:.0f} of {way.line_mbps} Mb/s" for way, rate in greatest.items())
    one, nine, twelve = (rates.get((CERN, USUAL, count)) for count in (1, 9, 12))
    knees = {way: knee_mib(rates, way) for way in WAYS}
    seven, beside = (rates.get((CERN, LARGE, count)) for count in (7, 12))
    return (
        UDP_MOST.judge(min(100 * rate / way.line_mbps for way, rate in greatest.items()), note=lines),
        UDP_LOSS.judge(max(spaced)),
        UDP_CLOSE.judge(_close_percent(sent)),
        TO_AMSTERDAM.judge(rates.get((AMSTERDAM, ENOUGH, 1))),
        TO_CERN.judge(rates.get((CERN, ENOUGH, 1))),
        KNEES.judge(max(knees.values()), note=", ".join(f"{way.name} {knee:g} MB" for way, knee in knees.items())),
        ONE_STREAM.judge(one),
        LINEAR.judge(100 * nine / (9 * one) if one and nine else None),
        CROWDED.judge(100 * twelve / 12 / (nine / 9) if twelve and nine else None, note=_each(nine, twelve)),
        SEVEN.judge(seven, beside, note=f"twelve have {beside:.0f} Mb/s" if beside else ""),
    )


def _each(nine: float | None, twelve: float | None) -> str:
    return f"{nine / 9:.1f} and {twelve / 12:.1f} Mb/s" if nine and twelve else ""


def _close_percent(sent: Mapping[Way, Sequence[Sent]]) -> float:
    """The worst rate of datagrams that are too close, of those of their size that just fit."""
    parts = []
    for ones in sent.values():
        for size in {one.payload_bytes for one in ones}:
            by_spacing = {one.spacing: one.received_mbps for one in ones if one.payload_bytes == size}
            parts.append(100 * by_spacing[SPACINGS[0]] / by_spacing[SPACINGS[1]])
    return min(parts)


def knee_mib(rates: Rates, way: Way) -> float:
    """The least buffer from which on no larger one gives a tenth more, of one stream."""
    by_buffer = {size: rate for (where, size, streams), rate in rates.items() if where is way and streams == 1}
    enough = [size for size, rate in by_buffer.items() if all(
        more <= PLATEAU * rate for larger, more in by_buffer.items() if larger > size
    )]  # fmt: skip
    return min(enough) / KIB / KIB


def _plots(sent: Mapping[Way, Sequence[Sent]], rates: Rates) -> tuple[Plot, ...]:
    received = "payload received, Mb/s"
    by_spacing = [
        Curve(
            f"{way.name}, {size} bytes",
            tuple(one.spacing_us(way) for one in ones if one.payload_bytes == size),
            tuple(one.received_mbps for one in ones if one.payload_bytes == size),
        )
        for way, ones in sent.items()
        for size in sorted({one.payload_bytes for one in ones})
    ]
    by_buffer, by_streams = [], []
    for way in WAYS:
        sizes = sorted(size for where, size, streams in rates if where is way and streams == 1)
        points = tuple(rates[way, size, 1] for size in sizes)
        by_buffer.append(Curve(way.name, tuple(size / KIB for size in sizes), points))
    for size in (USUAL, LARGE):
        counts = sorted(streams for where, one, streams in rates if where is CERN and one == size)
        points = tuple(rates[CERN, size, count] for count in counts)
        by_streams.append(Curve(f"buffers of {size // KIB} KB", tuple(float(count) for count in counts), points))
    return (
        Plot("spacing", "UDP by the spacing of frames", "microseconds between frames", received, tuple(by_spacing)),
        Plot("buffers", "One TCP stream by its buffers", "buffer, KB", received, tuple(by_buffer), x_log=True),
        Plot("streams", "TCP to CERN by the number of streams", "streams", received, tuple(by_streams)),
    )


EXPERIMENT = Experiment(
    name="wan-throughput",
    title="D7.3: UDP and TCP over the European WAN",
    source="DataGRID D7.3 §9.1.2, Figures 14 to 16 and Table 2",
    shown=(
        "UDP fills a line where its frames are as close as the line takes them; a TCP stream has its window for each round"
        " trip until buffers are bandwidth times round trip; streams with small buffers add up until the line is full."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    written=Fraction(1),
    scale=(
        "So are buffers: round trips, and what a buffer is of bandwidth times round trip, are the paper's. What UDP showed"
        " of a way is its line's rate here."
    ),
    explain=(
        "With more than nine streams the paper's hosts had less for each, and it suspects that they compete for the hosts'"
        " own resources; that at CERN had a PCI bus of 32 bits. Here hosts are not what is short: twelve windows of 64 KB"
        " fill half of the line, and each stream has its own."
    ),
)
