"""The loss pattern, by the sample that RFC 3357 §5.5 and §6.5 work through."""

from __future__ import annotations

from fractions import Fraction

import pytest

from slotcar.measuring.metrics import pattern
from tests.support.streams import losses

#: Ten packets, of which the second, fifth, seventh, ninth and tenth are lost.
SAMPLE = losses([0, 1, 0, 0, 1, 0, 1, 0, 1, 1])


def test_the_rfcs_loss_distances() -> None:
    expected = ((0, 0), (0, 1), (0, 0), (0, 0), (3, 1), (0, 0), (2, 1), (0, 0), (2, 1), (1, 1))
    assert pattern.distance_stream(SAMPLE) == expected
    assert pattern.distances(SAMPLE) == (3, 2, 2, 1)
    assert pattern.distances_us(SAMPLE) == (60_000, 40_000, 40_000, 20_000)


def test_the_rfcs_loss_periods() -> None:
    expected = ((0, 0), (1, 1), (0, 0), (0, 0), (2, 1), (0, 0), (3, 1), (0, 0), (4, 1), (4, 1))
    assert pattern.period_stream(SAMPLE) == expected


def test_the_rfcs_statistics() -> None:
    assert pattern.noticeable_rate(SAMPLE, 2) == Fraction(3, 5)
    assert pattern.period_total(SAMPLE) == 4
    assert pattern.lengths(SAMPLE) == (1, 1, 1, 2)
    assert pattern.inter_loss_period_lengths(SAMPLE) == (0, 3, 2, 2)


def test_the_rfcs_burst_is_noticeable_as_a_whole() -> None:
    """RFC 3357 §6.1: packet 50 is lost and three from 125 on; within 99 packets all three are noticeable."""
    lost = {50, 125, 126, 127}
    sample = losses(int(number in lost) for number in range(200))
    assert pattern.noticeable_rate(sample, 99) == Fraction(3, 4)
    assert pattern.noticeable_rate(sample, 74) == Fraction(2, 4)
    assert pattern.lengths(sample) == (1, 3)


@pytest.mark.parametrize("received", [0, 5])
def test_without_loss_there_is_no_pattern(received: int) -> None:
    sample = losses([0] * received)
    assert pattern.lengths(sample) == pattern.distances(sample) == pattern.inter_loss_period_lengths(sample) == ()
    assert pattern.period_total(sample) == 0
    assert pattern.noticeable_rate(sample, 1) is None


def test_all_lost_is_one_period() -> None:
    assert pattern.lengths(losses([1] * 4)) == (4,)


def test_a_loss_constraint_is_positive() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        pattern.noticeable_rate(SAMPLE, 0)
