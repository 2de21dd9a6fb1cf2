"""D7.3 Figures 2 and 3: what TCP and UDP get of a policer's rate, by its burst, and where the default bursts lie."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path

from slotcar_lab import traffic
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.bench import Bench, Udp
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.model import Curve, Plot, Rule

HERE = Path(__file__).parent
SOURCE, SINK = "source-a", "sink-a"
#: Payload rates of the reservations: 50 and 80 Mb/s, a quarter of each.
TCP_MBPS, UDP_MBPS = 12.5, 20.0
TCP_S, UDP_S, SMOKE_S = 6.0, 3.0, 2.0
#: Left out at the beginning of each flow, when TCP starts slowly and a full bucket is still spent.
SETTLE_S = 1.0
#: "Achieves the rate": so much of it.
ENOUGH = 0.95
#: Without an `rtt` of its own a reservation of TCP is given 400 ms, another one 100 ms (docs/reference/reservation.md).
DEFAULT_TCP, DEFAULT_UDP = "tcp-7", "udp-6"
POLICED = re.compile(r"ip_proto (\w+) .*dst_port (\d+) action police rate \w+ burst (\d+)b")

RULES = {
    "starved": Rule(
        "TCP throughput at the smallest burst, 8 kB",
        "very small or totally negligible if burst tolerance is too limited",
        "% of the rate",
        "at most 10 %",
        lambda ours, _: ours <= 10,
    ),
    "tcp-knee": Rule(
        "least burst at which one TCP flow achieves the rate",
        "2.5 MB at 50 Mb/s (625 kB scaled), 400 ms of the rate",
        "kB",
        "above 320 kB and at most 660 kB: the paper's, by bursts of which each is twice the one before",
        lambda ours, _: 320 < ours <= 660,
    ),
    "tcp-default": Rule(
        "TCP throughput at our default burst, 400 ms of the rate",
        "the whole rate needs 400 ms",
        "% of the rate",
        f"at least {ENOUGH * 100:.0f} %: the default lies beyond the knee",
        lambda ours, _: ours >= ENOUGH * 100,
        promise=True,
    ),
    "udp-knee": Rule(
        "least burst at which UDP achieves the rate",
        "40 kB at 80 Mb/s (10 kB scaled)",
        "kB",
        "at most 10.5 kB, by bursts of which one is the paper's",
        lambda ours, _: ours <= 10.5,
    ),
    "udp-default": Rule(
        "UDP goodput at our default burst, 25 ms of the rate",
        "the whole rate",
        "% of the rate",
        "at least 99 %",
        lambda ours, _: ours >= 99,
        promise=True,
    ),
}


@dataclass(frozen=True, slots=True)
class Point:
    """What passed a policer of that burst."""

    name: str
    burst_bytes: int
    part: float


def measure(bench: Bench) -> Findings:
    slots = bench.reserve(HERE / "reservations.yml")
    slot = next(iter(slots.values()))
    start = slot.start
    bench.arm(slot, start)
    bench.wait_until(start + 1.0)
    configuration = bench.configuration(start + 1.0)
    bursts = {port: round(bench.scale.own(one)) for port, one in _bursts(configuration["near"]).items()}
    names = sorted(slots)
    if bench.smoke:
        names = ["tcp-1", "tcp-7", "udp-6"]
    points = [_point(bench, name, bursts[_port(name)]) for name in names]
    tcp, udp = ([p for p in points if p.name.startswith(kind)] for kind in ("tcp", "udp"))
    parts = {point.name: 100 * point.part for point in points}
    ours = {
        "starved": parts.get("tcp-1"),
        "tcp-knee": _knee(tcp),
        "tcp-default": parts.get(DEFAULT_TCP),
        "udp-knee": _knee(udp),
        "udp-default": parts.get(DEFAULT_UDP),
    }
    rows = tuple(rule.judge(ours[key]) for key, rule in RULES.items())
    return Findings(rows, _plots(tcp, udp, bursts), configuration)


def _point(bench: Bench, name: str, burst_bytes: int) -> Point:
    if name.startswith("tcp"):
        duration_s, rate_mbps = SMOKE_S if bench.smoke else TCP_S, TCP_MBPS
        flow: traffic.Flow = bench.tcp(SOURCE, SINK, _port(name), duration_s)
    else:
        duration_s, rate_mbps = SMOKE_S if bench.smoke else UDP_S, UDP_MBPS
        # One datagram after another, as a source of constant bit rate sends them: eight at once are a burst of their own.
        flow = bench.udp_for(Udp(SOURCE, SINK, _port(name), int(rate_mbps * 1e6), together=1), duration_s)
    totals = flow.wait(duration_s + 30)
    inside = [s.received_bps for s in flow.samples() if s.ended_at > flow.started_at + SETTLE_S + 0.01]
    received_mbps = bench.scale.own(sum(inside) / len(inside)) / 1e6
    if name.startswith("udp") and totals.skipped_packets > 0.05 * totals.sent_packets:
        raise LabError(f"{totals.skipped_packets} datagrams of {name} were not sent in time")
    bench.say(f"{name}: burst {burst_bytes} B, {received_mbps:.2f} of {rate_mbps} Mb/s")
    return Point(name, burst_bytes, received_mbps / rate_mbps)


def _port(name: str) -> int:
    kind, number = name.split("-")
    return {"tcp": 6000, "udp": 6100}[kind] + int(number)


def _bursts(lines: Sequence[str]) -> dict[int, int]:
    """The bursts that were rendered, by port."""
    return {int(match[2]): int(match[3]) for match in map(POLICED.search, lines) if match}


def _knee(points: Sequence[Point]) -> float | None:
    """The least burst from which on every larger one gives the rate, kB: infinite where even the largest does not, None
    where none was tried."""
    knee_kb = inf if points else None
    for point in sorted(points, key=lambda one: -one.burst_bytes):
        if point.part < ENOUGH:
            break
        knee_kb = point.burst_bytes / 1000
    return knee_kb


def _plots(tcp: Sequence[Point], udp: Sequence[Point], bursts: dict[int, int]) -> tuple[Plot, ...]:
    plots = []
    for slug, points, rate_mbps, paper_kb, default in (
        ("tcp", tcp, TCP_MBPS, 625.0, DEFAULT_TCP),
        ("udp", udp, UDP_MBPS, 10.0, DEFAULT_UDP),
    ):
        ordered = sorted(points, key=lambda one: one.burst_bytes)
        sizes = tuple(point.burst_bytes / 1000 for point in ordered)
        curves = (
            Curve("measured", sizes, tuple(point.part * rate_mbps for point in ordered)),
            Curve("reserved", (sizes[0], sizes[-1]), (rate_mbps, rate_mbps)),
        )
        marks = ((paper_kb, "paper's knee, scaled"), (bursts[_port(default)] / 1000, "our default"))
        title = f"{slug.upper()} against the policer's burst at {rate_mbps:g} Mb/s"
        plots.append(Plot(slug, title, "burst, kB", "payload received, Mb/s", curves, marks, x_log=True))
    return tuple(plots)


EXPERIMENT = Experiment(
    name="policer-burst",
    title="D7.3: throughput against the policer's burst",
    source="DataGRID D7.3 §8.1.1, Figures 2 and 3",
    shown=(
        "TCP needs a large token bucket to achieve a policer's rate, UDP of constant bit rate a small one; the bursts"
        " that a reservation is given by default lie beyond both knees."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    least=Fraction(1, 4),
    explain=(
        "A reservation's burst is its rate times its round-trip time (GARA §5.1), 400 ms for TCP where it states none."
        " Behind a policer that drops, one TCP connection from a fast LAN loses whole windows until the bucket holds what"
        " it sends in several of its sawteeth: 400 ms of the rate, there as here. The ceiling of 2 MB allows that up"
        " to 40 Mb/s."
    ),
)
