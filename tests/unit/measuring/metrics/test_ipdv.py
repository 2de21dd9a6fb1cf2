"""IPDV of consecutive packets, worked by hand: RFC 3393 prints no sample."""

from __future__ import annotations

from fractions import Fraction

import pytest

from slotcar.measuring.metrics import ipdv
from tests.support.streams import stream

#: Delays 10, 12, 9, lost, 9, 15, 15 ms: pairs +2, -3, undefined twice, +6, 0.
MS = 1_000
SAMPLE = stream(10 * MS, 12 * MS, 9 * MS, None, 9 * MS, 15 * MS, 15 * MS)


def test_a_pair_is_the_second_less_the_first_and_undefined_beside_a_lost_packet() -> None:
    assert ipdv.consecutive(SAMPLE) == (2 * MS, -3 * MS, None, None, 6 * MS, 0)


def test_the_distribution_rises_at_each_value() -> None:
    quarters = [Fraction(count, 4) for count in (1, 2, 3, 4)]
    assert ipdv.distribution(SAMPLE) == tuple(zip((-3 * MS, 0, 2 * MS, 6 * MS), quarters, strict=True))
    assert ipdv.distribution(stream(1, 1, 1, 4)) == ((0, Fraction(2, 3)), (3, Fraction(1)))


def test_percentile_and_its_inverse() -> None:
    assert ipdv.percentile(SAMPLE, 50) == 0
    assert ipdv.percentile(SAMPLE, 51) == 2 * MS
    assert ipdv.percentile(SAMPLE, 100) == 6 * MS
    assert ipdv.inverse_percentile(SAMPLE, 0) == Fraction(1, 2)
    with pytest.raises(ValueError, match="of 0 to 100"):
        ipdv.percentile(SAMPLE, -1)


def test_jitter_is_the_mean_of_absolute_values() -> None:
    assert ipdv.absolute(SAMPLE) == (0, 2 * MS, 3 * MS, 6 * MS)
    assert ipdv.jitter(SAMPLE) == Fraction(11 * MS, 4)
    assert [ipdv.jitter_percentile(SAMPLE, percent) for percent in (50, 75, 76)] == [2 * MS, 3 * MS, 6 * MS]


def test_deviation_and_peak_to_peak_are_of_delays() -> None:
    assert ipdv.deviation(stream(2, 4, None, 4, 4, 5, 5, 7, 9)) == 2.0
    assert ipdv.peak_to_peak(SAMPLE) == 6 * MS


@pytest.mark.parametrize("packets", [(), (5,), (5, None, 5), (None, None)])
def test_where_no_pair_is_defined_there_is_no_value(packets: tuple[int | None, ...]) -> None:
    sample = stream(*packets)
    assert ipdv.jitter(sample) is None
    assert ipdv.percentile(sample, 50) is None
    assert ipdv.jitter_percentile(sample, 50) is None
    assert ipdv.inverse_percentile(sample, 0) is None
    assert ipdv.distribution(sample) == ()


def test_nothing_arrived_has_no_spread() -> None:
    assert ipdv.deviation(stream(None)) is None
    assert ipdv.peak_to_peak(stream(None)) is None
