"""One-way delay: RFC 7679.

Unit: microseconds. Sampling: every packet of the stream that was sent, periodic or Poisson as its sender was
(RFC 7679 §4, RFC 3432 for periodic streams); nothing is left out here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil

from slotcar.measuring.metrics.model import Delay, Stamp


def one_way(stamps: Iterable[Stamp], waiting_us: int) -> tuple[Delay, ...]:
    """The stream of singletons, one for each packet, in the order of sending (RFC 7679 §3 and §4).

    Of a packet that arrived more than once the first copy counts (RFC 7679 §3.5); the order of arrival plays no part.

    Args:
        stamps: of each packet at least one, in any order.
        waiting_us: the loss threshold Tmax of RFC 7679 §3.2: what takes longer is lost, its delay undefined.

    Raises:
        ValueError: `waiting_us` is not positive, or two stamps of one packet disagree on when it was sent.
    """
    if waiting_us <= 0:
        raise ValueError(f"the waiting time must be positive (got {waiting_us} us)")
    packets: dict[int, Delay] = {}
    for stamp in stamps:
        delay_us = None if stamp.received_us is None else stamp.received_us - stamp.sent_us
        if delay_us is not None and delay_us > waiting_us:
            delay_us = None
        known = packets.get(stamp.sequence)
        if known is None:
            packets[stamp.sequence] = Delay(stamp.sequence, stamp.sent_us, delay_us)
            continue
        if known.sent_us != stamp.sent_us:
            raise ValueError(f"packet {stamp.sequence} was sent at two times ({known.sent_us} and {stamp.sent_us} us)")
        if delay_us is not None and (known.delay_us is None or delay_us < known.delay_us):
            packets[stamp.sequence] = Delay(stamp.sequence, stamp.sent_us, delay_us)
    return tuple(packets[sequence] for sequence in sorted(packets))


def percentile(stream: Sequence[Delay], percent: int | Fraction) -> int | None:
    """Type-P-One-way-Delay-Percentile (RFC 7679 §5.1), in microseconds.

    The least value that at least `percent` of the sample do not exceed (RFC 2330 §11.3): always one that was measured.
    A lost packet counts as infinitely late, so None says that the percentile is infinite, or that the sample is empty.

    Raises:
        ValueError: `percent` is not in 0 to 100.
    """
    if not 0 <= percent <= 100:
        raise ValueError(f"a percentile is of 0 to 100 per cent (got {percent})")
    values = _ascending(stream)
    rank = max(1, ceil(Fraction(percent) * len(stream) / 100))
    return values[rank - 1] if rank <= len(values) else None


def median(stream: Sequence[Delay]) -> Fraction | None:
    """Type-P-One-way-Delay-Median (RFC 7679 §5.2), in microseconds.

    Of an even number of values the mean of the two in the middle (RFC 2330 §11.3), so it may be a half. A lost packet
    counts as infinitely late: None where that makes the median infinite, or the sample is empty.
    """
    values, middle = _ascending(stream), len(stream) // 2
    if not stream or middle >= len(values):
        return None
    if len(stream) % 2:
        return Fraction(values[middle])
    return Fraction(values[middle - 1] + values[middle], 2)


def minimum(stream: Sequence[Delay]) -> int | None:
    """Type-P-One-way-Delay-Minimum (RFC 7679 §5.3), in microseconds; None where nothing arrived."""
    return min(_ascending(stream), default=None)


def inverse_percentile(stream: Sequence[Delay], threshold_us: int) -> Fraction | None:
    """Type-P-One-way-Delay-Inverse-Percentile (RFC 7679 §5.4): the share of all packets within the threshold, 0 to 1.

    A lost packet is not within it. None where the sample is empty.
    """
    if not stream:
        return None
    return Fraction(sum(value <= threshold_us for value in _ascending(stream)), len(stream))


def mean(stream: Sequence[Delay]) -> Fraction | None:
    """The mean delay of the packets that arrived, in microseconds; None where nothing did.

    RFC 7679 has no mean, since a lost packet would make it infinite: this is the finite mean of RFC 6049 §4.2, to
    be given together with the loss ratio. The EMERGE paper's plots of latency are of this kind.
    """
    values = _ascending(stream)
    return Fraction(sum(values), len(values)) if values else None


def _ascending(stream: Sequence[Delay]) -> list[int]:
    return sorted(packet.delay_us for packet in stream if packet.delay_us is not None)
