"""One-way packet loss: RFC 7680.

Unit: packets, and their share of those sent. Sampling: every packet of the stream. A packet is lost where its delay is
undefined by the waiting time that `delay.one_way` was given; a duplicate or late copy changes nothing (RFC 7680 §2.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from slotcar.measuring.metrics.model import Delay


def one_way(stream: Sequence[Delay]) -> tuple[int, ...]:
    """Type-P-One-way-Packet-Loss of each packet in the order of sending (RFC 7680 §2.4): 0 received, 1 lost."""
    return tuple(int(packet.lost) for packet in stream)


def count(stream: Sequence[Delay]) -> int:
    """How many packets are lost."""
    return sum(one_way(stream))


def ratio(stream: Sequence[Delay]) -> Fraction | None:
    """Type-P-One-way-Packet-Loss-Ratio (RFC 7680 §4.1): lost of sent, 0 to 1; None where the sample is empty."""
    return Fraction(count(stream), len(stream)) if stream else None
