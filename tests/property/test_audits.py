"""What holds of audits whatever was measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from slotcar.measuring.audits.histogram import Between, bounds_of, bucket_of, histogram_of, quantile
from slotcar.measuring.audits.judging import AuditVerdict, RateCount, judge, verdict_of
from slotcar.measuring.audits.streams import windows_of
from slotcar.measuring.metrics import delay, loss
from slotcar.store.audits import merged
from tests.support.audits import HOUR_US, sls_of, stream_of, window_of

times = st.integers(0, 60_000_000)
taken = st.lists(st.none() | st.integers(0, 2_000_000), min_size=1, max_size=80)
errors = st.integers(0, 50_000)


@given(times, times)
def test_buckets_follow_each_other_without_gap_and_are_narrow(one: int, other: int) -> None:
    low, high = bounds_of(bucket_of(one))
    assert low <= one <= high
    assert (high - low) * 64 <= low
    assert bounds_of(bucket_of(one) + 1).low == high + 1
    assert (bucket_of(one) <= bucket_of(other)) or one > other


@given(st.lists(times, min_size=1), st.integers(1, 1_000_000))
def test_a_quantile_lies_between_the_bounds_that_are_given(times_us: list[int], part_ppm: int) -> None:
    figure = quantile(histogram_of(times_us), part_ppm)
    rank = max(1, -(-len(times_us) * part_ppm // 1_000_000))
    assert figure is not None
    assert figure.low <= sorted(times_us)[rank - 1] <= figure.high


@given(st.tuples(times, times).map(sorted), errors, times)
def test_a_verdict_is_true_wherever_the_truth_lies(figure: list[int], error: int, bound: int) -> None:
    verdict = verdict_of(Between(*figure), error, bound)
    for truth in (figure[0] - error, figure[1] + error):
        assert verdict is not AuditVerdict.KEPT or truth <= bound
        assert verdict is not AuditVerdict.BROKEN or truth > bound


@given(st.tuples(times, times).map(sorted), errors, errors, times)
def test_a_greater_error_never_decides_what_a_smaller_one_left_open(
    figure: list[int], error: int, more: int, bound: int
) -> None:
    wider = verdict_of(Between(*figure), error + more, bound)
    assert wider in (AuditVerdict.UNKNOWN, verdict_of(Between(*figure), error, bound))


@given(taken, st.integers(0, 80))
def test_a_stream_in_two_parts_adds_up_to_the_whole_but_for_the_pair_between(
    delays_us: list[int | None], cut: int
) -> None:
    whole, _ = windows_of(stream_of(delays_us), sls_of())
    stream = stream_of(delays_us)
    parts = [stream.packets[:cut], stream.packets[cut:]]
    hours = [windows_of(replace(stream, packets=part), sls_of())[0] for part in parts]
    both = merged(*hours)
    assert (both.arrived_packets, both.lost_packets) == (whole.arrived_packets, whole.lost_packets)
    assert both.delays == whole.delays
    missing = Counter(whole.variations)
    missing.subtract(both.variations)
    assert all(count >= 0 for count in missing.values())
    assert missing.total() <= 1


@given(taken)
def test_what_is_kept_of_a_stream_is_what_the_metrics_say(delays_us: list[int | None]) -> None:
    stream = stream_of(delays_us)
    hour, day = windows_of(stream, sls_of())
    packets = delay.one_way(stream.packets, 3_000_000)
    assert (hour.lost_packets, day.lost_packets) == (loss.count(packets),) * 2
    worst = quantile(hour.delays, 1_000_000)
    arrived = [one.delay_us for one in packets if one.delay_us is not None]
    assert (worst is None) == (not arrived)
    assert worst is None or worst.low <= max(arrived) <= worst.high


@given(
    arrived=st.integers(0, 50_000), lost=st.integers(0, 500), measured_us=st.integers(0, HOUR_US),
    clock_error_us=st.none() | errors, remarked=st.integers(0, 2), rate=st.none() | st.builds(
        RateCount, st.integers(0, HOUR_US), st.integers(0, 10**10), st.integers(0, 3)),
)  # fmt: skip
def test_kept_is_said_only_of_what_was_measured_and_is_within(
    arrived: int, lost: int, measured_us: int, clock_error_us: int | None, remarked: int, rate: RateCount | None
) -> None:
    window = window_of(
        (10_000,) * min(arrived, 5), lost_packets=lost, measured_us=measured_us, arrived_packets=arrived,
        clock_error_us=clock_error_us, remarked_packets=remarked,
    )  # fmt: skip
    judged = judge(sls_of(), window, HOUR_US, rate)
    if judged.verdict is AuditVerdict.KEPT:
        assert arrived > 0
        assert remarked == 0
        assert 2 * measured_us >= HOUR_US
        assert clock_error_us is not None
        assert Fraction(lost + 1, arrived + lost) <= Fraction(1_000, 1_000_000)
        assert judged.rate.verdict is not AuditVerdict.BROKEN
    for one in (judged.delay, judged.variation, judged.loss, judged.rate):
        assert one is not None
        assert bool(one.reason) == (one.verdict is AuditVerdict.UNKNOWN)
