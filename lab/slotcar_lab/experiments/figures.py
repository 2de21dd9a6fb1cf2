"""Figures of streams in phases, in the units that rows and plots show. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from slotcar.measuring.metrics import delay, ipdv, loss, throughput
from slotcar.measuring.metrics.model import Delay
from slotcar_lab.experiments.scale import Scale

#: A packet that is not there after so long is lost (RFC 7679 §3.2, Tmax): far beyond what any queue here can hold.
WAITING_US = 3_000_000
MILLISECOND = 1_000
MEGA = 1e6


@dataclass(frozen=True, slots=True)
class Phase:
    """Part of a run in which nothing changes: `[start, end)`, seconds since the epoch by this machine's clock."""

    name: str
    start: float
    end: float

    @property
    def start_us(self) -> int:
        return int(self.start * 1e6)

    @property
    def end_us(self) -> int:
        return int(self.end * 1e6)


def during(stream: Iterable[Delay], phase: Phase) -> tuple[Delay, ...]:
    """The packets that were sent in the phase."""
    return tuple(packet for packet in stream if phase.start_us <= packet.sent_us < phase.end_us)


def rate_mbps(stream: Sequence[Delay], payload_bytes: int, phase: Phase, scale: Scale) -> float:
    """Payload received in the phase, Mb/s as the experiment is written (RFC 2647 §3.17)."""
    return scale.own(throughput.received_bps(stream, payload_bytes, phase.start_us, phase.end_us)) / MEGA


def sent_mbps(stream: Sequence[Delay], payload_bytes: int, phase: Phase, scale: Scale) -> float:
    """Payload sent in the phase, Mb/s as the experiment is written."""
    return scale.own(len(during(stream, phase)) * payload_bytes * 8 / (phase.end - phase.start)) / MEGA


def median_ms(stream: Sequence[Delay]) -> float | None:
    """Median one-way delay of those that arrived, ms: shown beside the loss ratio."""
    return _ms(delay.median(tuple(packet for packet in stream if not packet.lost)))


def percentile_ms(stream: Sequence[Delay], percent: int) -> float | None:
    """A percentile of the one-way delay of those that arrived, ms."""
    return _ms(delay.percentile(tuple(packet for packet in stream if not packet.lost), percent))


def jitter_ms(stream: Sequence[Delay]) -> float | None:
    """Mean absolute IPDV of consecutive packets, ms (RFC 3393 §4.5)."""
    return _ms(ipdv.jitter(stream))


def jitter_percentile_ms(stream: Sequence[Delay], percent: int) -> float | None:
    """A percentile of the absolute IPDV, ms (RFC 2330 §11.3)."""
    return _ms(ipdv.jitter_percentile(stream, percent))


def loss_percent(stream: Sequence[Delay]) -> float | None:
    """Lost of sent, per cent (RFC 7680 §4.1)."""
    ratio = loss.ratio(stream)
    return None if ratio is None else float(100 * ratio)


def rate_series(
    stream: Sequence[Delay], payload_bytes: int, whole: Phase, scale: Scale, interval_s: float = 0.5
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Seconds since the phase's start and Mb/s received as the experiment is written, in each interval."""
    intervals = throughput.series(stream, payload_bytes, whole.start_us, whole.end_us, int(interval_s * 1e6))
    return (
        tuple((one.start_us - whole.start_us) / 1e6 + interval_s / 2 for one in intervals),
        tuple(scale.own(one.received_bps) / MEGA for one in intervals),
    )


def delay_series(stream: Sequence[Delay], whole: Phase) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Seconds since the phase's start and ms of delay, of each packet that arrived."""
    packets = [packet for packet in during(stream, whole) if packet.delay_us is not None]
    return (
        tuple((packet.sent_us - whole.start_us) / 1e6 for packet in packets),
        tuple((packet.delay_us or 0) / MILLISECOND for packet in packets),
    )


def loss_series(
    stream: Sequence[Delay], whole: Phase, interval_s: float = 0.5
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Seconds since the phase's start and per cent lost, in each interval of sending."""
    count = int((whole.end - whole.start) / interval_s)
    sent, lost = [0] * count, [0] * count
    for packet in during(stream, whole):
        index = int((packet.sent_us - whole.start_us) / 1e6 / interval_s)
        if index < count:
            sent[index] += 1
            lost[index] += packet.lost
    inside = [index for index in range(count) if sent[index]]
    return (
        tuple((index + 0.5) * interval_s for index in inside),
        tuple(100 * lost[index] / sent[index] for index in inside),
    )


def cumulative(values: Iterable[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Empirical distribution: each value, ascending, with the per cent of values that are not greater."""
    ordered = sorted(values)
    return tuple(ordered), tuple(100 * (index + 1) / len(ordered) for index in range(len(ordered)))


def _ms(value: Fraction | int | None) -> float | None:
    return None if value is None else float(value) / MILLISECOND
