"""IP packet delay variation: RFC 3393.

Unit: microseconds, with a sign. Sampling: the selection function of consecutive packets (RFC 3393 §4.5): each
packet with the one that was sent right before it. A pair of which one is lost is undefined and no value of the sample;
the loss ratio tells of those (RFC 3393 §4.1). A constant offset between the two clocks plays no part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, sqrt

from slotcar.measuring.metrics.model import Delay


def consecutive(stream: Sequence[Delay]) -> tuple[int | None, ...]:
    """Type-P-One-way-ipdv of consecutive packets (RFC 3393 §2): of n packets, n - 1 pairs in the order of sending.

    ddT is the second packet's delay less the first's: positive where the second was held longer. None is undefined.
    """
    return tuple(
        None if first.delay_us is None or second.delay_us is None else second.delay_us - first.delay_us
        for first, second in pairwise(stream)
    )


def distribution(stream: Sequence[Delay]) -> tuple[tuple[int, Fraction], ...]:
    """The empirical distribution of ipdv (RFC 3393 §4.2): each value in microseconds, ascending, with F(value).

    F is the share, above 0 and at most 1, of the defined values that are not greater (RFC 2330 §11.3).
    """
    counts = sorted(Counter(defined(stream)).items())
    totals = list(accumulate(count for _, count in counts))
    return tuple((value, Fraction(total, totals[-1])) for (value, _), total in zip(counts, totals, strict=True))


def percentile(stream: Sequence[Delay], percent: int | Fraction) -> int | None:
    """Type-P-One-way-ipdv-percentile (RFC 3393 §4.3), in microseconds; None where no pair is defined.

    Raises:
        ValueError: `percent` is not in 0 to 100.
    """
    return _percentile(defined(stream), percent)


def inverse_percentile(stream: Sequence[Delay], threshold_us: int) -> Fraction | None:
    """Type-P-One-way-ipdv-inverse-percentile (RFC 3393 §4.4): the share of defined values that are not greater."""
    values = defined(stream)
    return Fraction(sum(value <= threshold_us for value in values), len(values)) if values else None


def absolute(stream: Sequence[Delay]) -> tuple[int, ...]:
    """Type-P-One-way-ipdv-jitter (RFC 3393 §4.5): the absolute values of consecutive packets' ipdv, ascending."""
    return tuple(sorted(abs(value) for value in defined(stream)))


def jitter(stream: Sequence[Delay]) -> Fraction | None:
    """The mean of `absolute`, in microseconds; None where no pair is defined.

    What this project reports where a paper says jitter. D7.3 §3.2.1 means the variation between consecutive packets by
    IPDV; the EMERGE paper quotes a bound of 7 ms and does not define it. `deviation` is the other thing that it may
    have meant, and is the greater one where delay drifts slowly.
    """
    values = absolute(stream)
    return Fraction(sum(values), len(values)) if values else None


def jitter_percentile(stream: Sequence[Delay], percent: int | Fraction) -> int | None:
    """A percentile of `absolute` (RFC 2330 §11.3), in microseconds; None where no pair is defined.

    Raises:
        ValueError: `percent` is not in 0 to 100.
    """
    return _percentile(absolute(stream), percent)


def deviation(stream: Sequence[Delay]) -> float | None:
    """The standard deviation of the delays of the packets that arrived, in microseconds; None where nothing did."""
    delays = [packet.delay_us for packet in stream if packet.delay_us is not None]
    if not delays:
        return None
    mean = Fraction(sum(delays), len(delays))
    return sqrt(sum((delay - mean) ** 2 for delay in delays) / len(delays))


def peak_to_peak(stream: Sequence[Delay]) -> int | None:
    """Type-P-One-way-peak-to-peak-ipdv (RFC 3393 §4.6): the greatest delay less the least, in microseconds.

    The interval of its selection function is the whole stream. None where nothing arrived.
    """
    delays = [packet.delay_us for packet in stream if packet.delay_us is not None]
    return max(delays) - min(delays) if delays else None


def defined(stream: Sequence[Delay]) -> list[int]:
    """The defined values of `consecutive`, ascending, in microseconds."""
    return sorted(value for value in consecutive(stream) if value is not None)


def _percentile(values: Sequence[int], percent: int | Fraction) -> int | None:
    """Of ascending values."""
    if not 0 <= percent <= 100:
        raise ValueError(f"a percentile is of 0 to 100 per cent (got {percent})")
    return values[max(1, ceil(Fraction(percent) * len(values) / 100)) - 1] if values else None
