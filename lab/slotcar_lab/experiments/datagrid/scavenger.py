"""QBSS in the LAN (D7.3 §8.1.3): a scavenger TCP stream, and what it does when best effort comes and goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slotcar_lab import traffic
from slotcar_lab.experiments.bench import START_S, Bench
from slotcar_lab.experiments.model import Curve, Plot
from slotcar_lab.experiments.scale import Scale

SCAVENGER_PORT = 5001
#: What TCP can carry of 25 Mb/s: 1448 bytes of payload in frames of 1514.
LINK_MBPS = 25.0
GOODPUT_MBPS = LINK_MBPS * 1448 / 1514
#: Left out at both ends of a phase.
SETTLE_S = 1.5
#: TCP leaves a starved connection for seconds before it tries again.
RETURN_S = 3.0


@dataclass(frozen=True, slots=True)
class Ran:
    """Flows by name, with the instants at which the first and the last of best effort began, and the first and the last
    of it ended."""

    flows: dict[str, traffic.Flow]
    began: float
    first: float
    last: float
    thinner: float
    ended: float
    end: float
    configuration: dict[str, tuple[str, ...]]


def reserve(bench: Bench, file: Path) -> dict[str, tuple[str, ...]]:
    """Makes the scavenger's stream what it is, and waits until it is that on the routers."""
    (slot,) = bench.reserve(file).values()
    bench.arm(slot, slot.start)
    bench.wait_until(slot.start + 0.5)
    return bench.configuration(slot.start + 0.5)


def mean_mbps(flow: traffic.Flow, start: float, end: float, scale: Scale) -> float | None:
    """Mean payload rate received between two instants, Mb/s as the experiment is written."""
    inside = [s for s in flow.samples() if start + s.interval_s - 0.01 <= s.ended_at <= end + 0.01]
    return scale.own(traffic.mean_bps(inside)) / 1e6 if inside else None


def streams(bench: Bench, file: Path, count: int) -> Ran:
    """The scavenger alone, then `count` best-effort TCP streams one after another, which end together; then alone."""
    configuration = reserve(bench, file)
    alone_s, apart_s, together_s, after_s = (3.0, 2.0, 3.0, 3.0) if bench.smoke else (8.0, 6.0, 12.0, 12.0)
    lasts_s = alone_s + START_S + (count - 1) * (apart_s + START_S) + together_s + after_s
    scavenger = bench.tcp("source-a", "sink-a", SCAVENGER_PORT, lasts_s + START_S)
    flows: dict[str, traffic.Flow] = {"QBSS": scavenger}
    ends: list[float] = []
    leave = scavenger.started_at + lasts_s - after_s
    bench.wait_until(scavenger.started_at + alone_s)
    for number in range(1, count + 1):
        # It begins when both of its ends run, and lasts from then on.
        duration_s = max(1.0, leave - bench.clock.now() - START_S)
        flows[f"best effort {number}"] = bench.tcp("source-b", "sink-a", SCAVENGER_PORT + number, duration_s)
        ends.append(flows[f"best effort {number}"].started_at + duration_s)
        if number < count:
            bench.wait_until(flows[f"best effort {number}"].started_at + apart_s)
    for flow in flows.values():
        flow.wait(lasts_s + 60)
    begins = [flow.started_at for name, flow in flows.items() if name != "QBSS"]
    end = scavenger.started_at + lasts_s
    return Ran(flows, scavenger.started_at, min(begins), max(begins), min(ends), max(ends), end, configuration)


def plot(
    title: str, flows: dict[str, traffic.Flow], began: float, marks: Sequence[tuple[float, str]], scale: Scale
) -> Plot:
    """Throughput of each flow over time, as D7.3's Figures 6 to 8 have it."""
    curves = tuple(
        Curve(
            name,
            tuple(s.ended_at - s.interval_s / 2 - began for s in flow.samples()),
            tuple(scale.own(s.received_bps) / 1e6 for s in flow.samples()),
        )
        for name, flow in flows.items()
    )
    shifted = tuple((at - began, word) for at, word in marks)
    return Plot("throughput", title, "seconds since the first flow began", "payload received, Mb/s", curves, shifted)
