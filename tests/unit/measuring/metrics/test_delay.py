"""One-way delay and loss, by the samples that RFC 7679 §5 and RFC 7680 §4 print, and by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from slotcar.measuring.metrics import delay, loss
from slotcar.measuring.metrics.model import Stamp
from tests.support.streams import losses, stream

MS = 1_000
#: RFC 7679 §5.1's Stream1 and §5.2's Stream2.
STREAM_1 = stream(100 * MS, 110 * MS, None, 90 * MS, 500 * MS)
STREAM_2 = stream(100 * MS, 110 * MS, None, 90 * MS)


def test_the_rfcs_percentile() -> None:
    assert delay.percentile(STREAM_1, 50) == 110 * MS


def test_the_rfcs_median() -> None:
    assert delay.median(STREAM_2) == 105 * MS
    assert delay.median(STREAM_1) == 110 * MS


def test_the_rfcs_minimum() -> None:
    assert delay.minimum(STREAM_1) == 90 * MS


def test_the_rfcs_inverse_percentile() -> None:
    assert delay.inverse_percentile(STREAM_2, 103 * MS) == Fraction(1, 2)


def test_the_rfcs_loss_ratio() -> None:
    assert loss.ratio(losses([0, 0, 1, 0, 0])) == Fraction(1, 5)
    assert loss.one_way(STREAM_1) == (0, 0, 1, 0, 0)


@pytest.mark.parametrize(("percent", "expected"), [(0, 90), (20, 90), (21, 100), (80, 500), (81, None), (100, None)])
def test_a_lost_packet_is_infinitely_late(percent: int, expected: int | None) -> None:
    assert delay.percentile(STREAM_1, percent) == (None if expected is None else expected * MS)


def test_a_median_is_infinite_where_half_is_lost() -> None:
    assert delay.median(stream(5, None)) is None
    assert delay.median(stream(5, 6, None, None)) is None
    assert delay.median(stream(5, 6, None)) == 6
    assert delay.median(stream(5, 8)) == Fraction(13, 2)


def test_the_mean_is_of_what_arrived() -> None:
    assert delay.mean(STREAM_1) == 200 * MS


def test_of_copies_the_first_to_arrive_counts_whatever_order_they_are_told_in() -> None:
    copies = [Stamp(7, 1_000, 1_900), Stamp(7, 1_000, 1_400), Stamp(7, 1_000, None), Stamp(7, 1_000, 1_500)]
    for stamps in (copies, copies[::-1]):
        (packet,) = delay.one_way(stamps, 10_000)
        assert packet.delay_us == 400
        assert packet.received_us == 1_400


def test_a_stream_is_in_the_order_of_sending() -> None:
    overtaken = [Stamp(1, 10, 30), Stamp(0, 0, 40), Stamp(2, 20, 50)]
    assert [(packet.sequence, packet.delay_us) for packet in delay.one_way(overtaken, 100)] == [
        (0, 40),
        (1, 20),
        (2, 30),
    ]


def test_what_outlasts_the_waiting_time_is_lost() -> None:
    stamps = [Stamp(0, 0, 5_000), Stamp(1, 100, 5_101)]
    assert [packet.delay_us for packet in delay.one_way(stamps, 5_000)] == [5_000, None]
    assert loss.count(delay.one_way(stamps, 5_000)) == 1


def test_an_empty_sample_has_no_statistics() -> None:
    for statistic in (delay.median, delay.minimum, delay.mean, loss.ratio):
        assert statistic(()) is None
    assert delay.percentile((), 50) is None
    assert delay.inverse_percentile((), 50) is None
    assert loss.count(()) == 0


def test_mistakes_are_told() -> None:
    with pytest.raises(ValueError, match="waiting time must be positive"):
        delay.one_way([], 0)
    with pytest.raises(ValueError, match="packet 3 was sent at two times"):
        delay.one_way([Stamp(3, 1, 2), Stamp(3, 9, 12)], 100)
    with pytest.raises(ValueError, match="of 0 to 100"):
        delay.percentile(STREAM_1, 101)
