"""Worst delays against cases computed by hand and examples that are published."""

from __future__ import annotations

import pytest

from slotcar.admission.delays import Bundle, NoBound, QueuedLine, worst_delays
from slotcar.admission.service_curves import (
    ServiceCurve,
    TokenBucket,
    behind,
    deficit_round_robin,
    in_a_row,
    sending_ns,
    strict_priority,
)

MS = 1_000_000
#: A thousand bytes a millisecond.
SLOW_BPS = 8_000_000
#: What rounding up may add, nanoseconds: a byte for each flow.
ROUNDED_NS = 4_000


def line(curve: ServiceCurve, line_bps: int = 10**15, propagation_ns: int = 0) -> QueuedLine:
    return QueuedLine(curve, line_bps, propagation_ns=propagation_ns)


def flow(*way: str, burst: int, rate_bps: int) -> Bundle:
    return Bundle(way, (burst,) * len(way), (rate_bps,) * len(way))


def test_a_token_bucket_waits_for_its_burst_after_the_latency() -> None:
    """Le Boudec and Thiran, §1.4.1: T + b / R."""
    (worst,) = worst_delays(
        [flow("a", burst=100_000, rate_bps=4_000_000)], {"a": line(ServiceCurve(SLOW_BPS, 5 * MS))}
    )
    assert worst.total_ns == 105 * MS


def test_of_queues_in_a_row_a_burst_is_paid_only_once() -> None:
    """Le Boudec and Thiran, §1.4.3: T1 + T2 + b / min(R1, R2), where each by itself has b / R1 + (b + r T1) / R2."""
    lines = {
        "a": line(ServiceCurve(SLOW_BPS, 5 * MS)),
        "b": line(ServiceCurve(2 * SLOW_BPS, 3 * MS), propagation_ns=MS),
    }
    (worst,) = worst_delays([flow("a", "b", burst=100_000, rate_bps=4_000_000)], lines)
    assert [hop.delay_ns for hop in worst.hops] == [105 * MS, 3 * MS]
    assert worst.total_ns == 109 * MS
    assert worst.queueing_ns == 108 * MS
    assert in_a_row([one.curve for one in lines.values()]) == ServiceCurve(SLOW_BPS, 8 * MS)


def test_behind_a_queue_a_burst_has_grown_by_its_rate_times_the_delay() -> None:
    """Where another flow joins, each queue counts by itself: 100 ms at the first, then 100 + 100 / 2 + 60 kilobytes."""
    flows = [flow("a", "b", burst=100_000, rate_bps=4_000_000), flow("b", burst=60_000, rate_bps=4_000_000)]
    lines = {name: line(ServiceCurve(SLOW_BPS)) for name in "ab"}
    first, second = worst_delays(flows, lines)
    assert first.hops[0].delay_ns == 100 * MS
    assert 210 * MS <= first.hops[1].delay_ns == second.total_ns <= 210 * MS + ROUNDED_NS
    assert first.hops[1].burst_bytes == 210_000


def test_over_a_line_no_more_comes_at_once_than_it_carries() -> None:
    """RFC 2212's delay, (b - M)(p - R) / (R (p - r)) + M / R, b = 110, M = 10 kB; p = 16, R = 8, r = 4 kB a ms."""
    lines = {
        "a": line(ServiceCurve(10**15, output_bytes=10_000), line_bps=16 * SLOW_BPS),
        "b": line(ServiceCurve(8 * SLOW_BPS)),
    }
    other = flow("b", burst=0, rate_bps=0)  # so that the two queues are not one
    worst = worst_delays([flow("a", "b", burst=110_000, rate_bps=4 * SLOW_BPS), other], lines)[0]
    by_hand_ns = (110 - 10) * (16 - 8) * MS // (8 * (16 - 4)) + 10 * MS // 8
    assert by_hand_ns <= worst.hops[1].delay_ns <= by_hand_ns + ROUNDED_NS


def test_what_grows_with_the_others_counts_only_what_stays() -> None:
    """All bursts wait, and only those that go on together are sure to be served."""
    curve = ServiceCurve(1, 2 * MS, grows=True)
    flows = [flow("a", "b", burst=100_000, rate_bps=4_000_000), flow("a", "c", burst=50_000, rate_bps=4_000_000)]
    lines = {"a": line(curve), "b": line(ServiceCurve(SLOW_BPS)), "c": line(ServiceCurve(SLOW_BPS))}
    first, _ = worst_delays(flows, lines)
    assert first.hops[0].delay_ns == 2 * MS + 300 * MS
    assert (100 + 151) * MS <= first.hops[1].delay_ns <= (100 + 151) * MS + ROUNDED_NS


def test_excess_fills_its_queue_whatever_the_bursts_are() -> None:
    lines = {"a": line(ServiceCurve(SLOW_BPS, MS, full_bytes=1_000_000))}
    (worst,) = worst_delays([flow("a", burst=1, rate_bps=1)], lines)
    assert worst.total_ns == 1_001 * MS


def test_more_than_a_queue_is_given_has_no_bound() -> None:
    flows = [flow("a", burst=100_000, rate_bps=6_000_000), flow("a", burst=100_000, rate_bps=6_000_000)]
    with pytest.raises(NoBound, match="more comes to its queue than the 8000000 bit/s"):
        worst_delays(flows, {"a": line(ServiceCurve(SLOW_BPS))})
    admitted = QueuedLine(ServiceCurve(SLOW_BPS), 10**9, admitted_bps=SLOW_BPS)
    assert worst_delays(flows, {"a": admitted})[0].total_ns == 200 * MS


def test_ways_in_a_circle_have_a_bound_where_they_are_empty_enough() -> None:
    """Two flows, each behind the other: D = (2 b + r D) / R, so 2 b / (R - r)."""
    lines = {name: line(ServiceCurve(SLOW_BPS)) for name in "ab"}
    light = [flow("a", "b", burst=100_000, rate_bps=800_000), flow("b", "a", burst=100_000, rate_bps=800_000)]
    first, _ = worst_delays(light, lines)
    assert 200 * MS * 10 // 9 <= first.hops[0].delay_ns <= 226 * MS
    heavy = [flow(*("abcd" * 2)[at : at + 4], burst=100_000, rate_bps=2_000_000) for at in range(4)]
    with pytest.raises(NoBound, match="circle"):
        worst_delays(heavy, {name: line(ServiceCurve(SLOW_BPS)) for name in "abcd"})


def test_strict_priority_waits_for_the_packet_on_the_line_alone() -> None:
    assert strict_priority(12_000_000, 1_500) == ServiceCurve(12_000_000, MS, output_bytes=1_500)
    left = behind(12_000_000, TokenBucket(3_000, 4_000_000), 1_000)
    assert (left.rate_bps, left.latency_ns) == (8_000_000, 4 * MS)
    with pytest.raises(ValueError, match="takes 9 of 9"):
        behind(9, TokenBucket(0, 9), 1)


def test_deficit_round_robin_has_the_latency_of_its_theorem() -> None:
    """Boyer, Stea and Sofack, theorem 1, with Q = l = 500 bytes, F = 1000 of two bands: 750 bytes are missed."""
    curve = deficit_round_robin(ServiceCurve(2 * SLOW_BPS), 500, [500], 500)
    assert (curve.rate_bps, curve.latency_ns) == (SLOW_BPS, 750 * MS // 1_000)


def test_a_packet_goes_on_only_when_it_is_whole() -> None:
    """Le Boudec and Thiran, §1.7.1: of queues in a row all but the last keep the longest packet for its time."""
    lines = {name: line(ServiceCurve(SLOW_BPS)) for name in "abc"}
    packet = Bundle(("a", "b", "c"), (1_000,) * 3, (SLOW_BPS // 8,) * 3, packet_bytes=1_000)
    (worst,) = worst_delays([packet], lines)
    assert [hop.delay_ns for hop in worst.hops] == [MS, MS, MS]


def test_numbers_are_rounded_towards_the_promise() -> None:
    assert sending_ns(1, 3) == -(-8_000_000_000 // 3)
    with pytest.raises(ValueError, match="has a rate"):
        ServiceCurve(0)
