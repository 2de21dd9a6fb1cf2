"""Times by buckets that are narrow for short times and wide for long ones: sums of them say a quantile. Pure.

Up to 127 us each is a bucket of its own; above it a bucket is a 64th of its time wide at the most, so that a quantile is
known as an interval. A day of a packet each 100 ms is some hundred numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

MILLION = 1_000_000
_BITS = 6


class Between(NamedTuple):
    """A figure that is known to lie between two, both included."""

    low: int
    high: int


def bucket_of(time_us: int) -> int:
    """The number of the bucket of a time; what is below 0 lies in the first.

    >>> [bucket_of(time_us) for time_us in (-5, 0, 127, 128, 129, 130)]
    [0, 0, 127, 128, 128, 129]
    """
    time_us = max(0, time_us)
    shift = max(0, time_us.bit_length() - _BITS - 1)
    return (shift << _BITS) + (time_us >> shift)


def bounds_of(bucket: int) -> Between:
    """The least and the greatest time in a bucket.

    >>> bounds_of(129)
    Between(low=130, high=131)
    """
    shift = max(0, (bucket >> _BITS) - 1)
    low = (bucket - (shift << _BITS)) << shift
    return Between(low, low + (1 << shift) - 1)


def histogram_of(times_us: Iterable[int]) -> dict[int, int]:
    return dict(Counter(map(bucket_of, times_us)))


def quantile(histogram: Mapping[int, int], part_ppm: int) -> Between | None:
    """The least time that so many of a million do not exceed (RFC 2330 §11.3); None of nothing."""
    rank = max(1, -(-sum(histogram.values()) * part_ppm // MILLION))
    counted = 0
    for bucket in sorted(histogram):
        counted += histogram[bucket]
        if counted >= rank:
            return bounds_of(bucket)
    return None
