"""What holds of the metrics whatever was measured."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slotcar.measuring.metrics import delay, ipdv, loss, pattern, throughput
from slotcar.measuring.metrics.model import Delay, Stamp
from tests.support.streams import WAITING_US, stream

delays = st.lists(st.none() | st.integers(0, 1_000_000), max_size=60)
percents = st.integers(0, 100)


def stamped(taken: Sequence[int | None], offset_us: int = 0) -> list[Stamp]:
    return [
        Stamp(number, number * 1_000, None if one is None else number * 1_000 + one + offset_us)
        for number, one in enumerate(taken)
    ]


def values(packets: Sequence[Delay]) -> list[int | None]:
    return [packet.delay_us for packet in packets]


@settings(deadline=None)
@given(delays, st.randoms(use_true_random=False))
def test_order_and_later_copies_change_nothing(taken: list[int | None], chance: random.Random) -> None:
    stamps = stamped(taken)
    copies = stamps + [Stamp(s.sequence, s.sent_us, s.received_us + 5) for s in stamps if s.received_us is not None]
    chance.shuffle(copies)
    assert values(delay.one_way(copies, WAITING_US)) == taken


@settings(deadline=None)
@given(delays, st.integers(-500_000, 500_000))
def test_a_shifted_clock_shifts_delay_and_neither_ipdv_nor_loss(taken: list[int | None], offset_us: int) -> None:
    plain, shifted = stream(*taken), delay.one_way(stamped(taken, offset_us), WAITING_US)
    assert values(shifted) == [None if one is None else one + offset_us for one in taken]
    assert ipdv.consecutive(shifted) == ipdv.consecutive(plain)
    assert pattern.lengths(shifted) == pattern.lengths(plain)
    for statistic in (delay.minimum, delay.median, delay.mean):
        before, after = statistic(plain), statistic(shifted)
        assert after == (None if before is None else before + offset_us)


@settings(deadline=None)
@given(st.lists(st.integers(0, 1_000_000), min_size=1, max_size=60))
def test_ipdv_telescopes(taken: list[int]) -> None:
    pairs = ipdv.consecutive(stream(*taken))
    assert None not in pairs
    assert sum(pair for pair in pairs if pair is not None) == taken[-1] - taken[0]


@settings(deadline=None)
@given(delays)
def test_a_lost_packet_undoes_its_pairs_and_no_other(taken: list[int | None]) -> None:
    undefined = [pair is None for pair in ipdv.consecutive(stream(*taken))]
    assert undefined == [None in pair for pair in pairwise(taken)]


@settings(deadline=None)
@given(delays)
def test_losses_are_the_sum_of_loss_lengths(taken: list[int | None]) -> None:
    sample = stream(*taken)
    lengths, distances = pattern.lengths(sample), pattern.distances(sample)
    assert sum(lengths) == loss.count(sample) == taken.count(None)
    assert len(lengths) == pattern.period_total(sample) == len(pattern.inter_loss_period_lengths(sample))
    assert all(length > 0 for length in lengths)
    assert len(distances) == max(0, loss.count(sample) - 1)
    assert sum(distance > 1 for distance in distances) == max(0, len(lengths) - 1)


@settings(deadline=None)
@given(delays, st.integers(1, 70))
def test_noticeable_losses_grow_with_the_constraint(taken: list[int | None], delta: int) -> None:
    sample = stream(*taken)
    assume(None in taken)
    rate, wider = pattern.noticeable_rate(sample, delta), pattern.noticeable_rate(sample, delta + 1)
    assert rate is not None
    assert wider is not None
    assert 0 <= rate <= wider < 1


@settings(deadline=None)
@given(delays, percents)
def test_a_percentile_and_its_inverse_belong_together(taken: list[int | None], percent: int) -> None:
    sample = stream(*taken)
    value = delay.percentile(sample, percent)
    if value is None:
        arrived = len(taken) - taken.count(None)
        assert arrived == 0 or 100 * arrived < percent * len(taken)
        return
    share, below = delay.inverse_percentile(sample, value), delay.inverse_percentile(sample, value - 1)
    assert share is not None
    assert below is not None
    assert share >= Fraction(percent, 100)
    assert below < max(Fraction(percent, 100), Fraction(1, len(taken)))


@settings(deadline=None)
@given(delays)
def test_the_distribution_of_ipdv_is_one(taken: list[int | None]) -> None:
    steps = ipdv.distribution(stream(*taken))
    shares = [share for _, share in steps]
    assert [value for value, _ in steps] == sorted({value for value, _ in steps})
    assert shares == sorted(set(shares))
    assert not steps or shares[-1] == 1
    assert all(ipdv.inverse_percentile(stream(*taken), value) == share for value, share in steps)


@settings(deadline=None)
@given(delays, st.integers(500, 300_000))
def test_a_series_counts_every_arrival_once(taken: list[int | None], interval_us: int) -> None:
    sample = stream(*taken, every_us=1_000)
    end_us = -(-2_000_000 // interval_us) * interval_us
    counted = sum(one.received_packets for one in throughput.series(sample, 100, 0, end_us, interval_us))
    assert counted == len(taken) - taken.count(None)
