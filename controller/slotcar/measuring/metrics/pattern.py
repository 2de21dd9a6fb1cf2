"""The pattern of loss: RFC 3357. D7.3 §9.1.3 uses its loss distance, loss period and loss length.

Unit: packets, by sequence number; of `distances_us` microseconds. Sampling: every packet of the stream, in the order of
sending, from the first that was sent: what was lost before it is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from slotcar.measuring.metrics.model import Delay


def distance_stream(stream: Sequence[Delay]) -> tuple[tuple[int, int], ...]:
    """Type-P-One-Way-Loss-Distance-Stream (RFC 3357 §5): `(loss distance, loss)` of each packet.

    The distance of a lost packet is its sequence number less that of the one lost before it; 0 of the first one lost
    and of every packet that arrived.
    """
    distance_and_loss, previous = [], None
    for packet in stream:
        distance_and_loss.append(
            (packet.sequence - previous if packet.lost and previous is not None else 0, int(packet.lost))
        )
        previous = packet.sequence if packet.lost else previous
    return tuple(distance_and_loss)


def period_stream(stream: Sequence[Delay]) -> tuple[tuple[int, int], ...]:
    """Type-P-One-Way-Loss-Period-Stream (RFC 3357 §5): `(loss period, loss)` of each packet.

    A loss period begins with a lost packet whose predecessor arrived, and is numbered from 1; 0 stands beside a packet
    that arrived.
    """
    period_and_loss, period, was_lost = [], 0, False
    for packet in stream:
        period += packet.lost and not was_lost
        period_and_loss.append((period if packet.lost else 0, int(packet.lost)))
        was_lost = packet.lost
    return tuple(period_and_loss)


def distances(stream: Sequence[Delay]) -> tuple[int, ...]:
    """The loss distances of the lost packets but the first, in packets: what a distribution is drawn of."""
    return tuple(second.sequence - first.sequence for first, second in pairwise(_lost(stream)))


def distances_us(stream: Sequence[Delay]) -> tuple[int, ...]:
    """The same distances in time of sending, in microseconds, as D7.3 Figure 17 has them (in seconds there)."""
    return tuple(second.sent_us - first.sent_us for first, second in pairwise(_lost(stream)))


def noticeable_rate(stream: Sequence[Delay], delta: int) -> Fraction | None:
    """Type-P-One-Way-Loss-Noticeable-Rate (RFC 3357 §6.1): the share of losses at most `delta` packets after another.

    The first loss has none before it and is not noticeable. None where nothing is lost.

    Args:
        delta: the loss constraint, in packets.

    Raises:
        ValueError: `delta` is not positive.
    """
    if delta <= 0:
        raise ValueError(f"the loss constraint must be positive (got {delta})")
    lost = sum(packet.lost for packet in stream)
    return Fraction(sum(distance <= delta for distance in distances(stream)), lost) if lost else None


def period_total(stream: Sequence[Delay]) -> int:
    """Type-P-One-Way-Loss-Period-Total (RFC 3357 §6.2): how many loss periods there are."""
    return max((period for period, _ in period_stream(stream)), default=0)


def lengths(stream: Sequence[Delay]) -> tuple[int, ...]:
    """Type-P-One-Way-Loss-Period-Lengths (RFC 3357 §6.3): of each loss period in order, how many packets it lost.

    D7.3 §9.1.3 says loss length.
    """
    lengths_in_packets = [0] * period_total(stream)
    for period, lost in period_stream(stream):
        if lost:
            lengths_in_packets[period - 1] += 1
    return tuple(lengths_in_packets)


def inter_loss_period_lengths(stream: Sequence[Delay]) -> tuple[int, ...]:
    """Type-P-One-Way-Inter-Loss-Period-Lengths (RFC 3357 §6.4): of each loss period, the loss distance of its first.

    In packets; 0 for the first loss period.
    """
    first_distances: list[int] = []
    for (distance, _), (period, lost) in zip(distance_stream(stream), period_stream(stream), strict=True):
        if lost and period > len(first_distances):
            first_distances.append(distance)
    return tuple(first_distances)


def _lost(stream: Sequence[Delay]) -> list[Delay]:
    return [packet for packet in stream if packet.lost]
