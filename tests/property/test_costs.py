"""Closeness as ADR 76 defines it; and estimates that say the truth nine times in ten."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from slotcar.measuring.costs.closeness import formula_ppm
from slotcar.measuring.costs.estimates import MILLION, Sample, estimate
from slotcar.store.measurements import MeasuredWay

RTT_US, RATE_BPS, LOSS_PPM = st.integers(0, 10**7), st.integers(1, 10**12), st.integers(0, MILLION)
WEIGHT = st.integers(0, MILLION)
WAY = MeasuredWay("a", "b", "c", "d")
NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)


def maybe(values: st.SearchStrategy[int]) -> st.SearchStrategy[int | None]:
    return st.none() | values


@given(maybe(RTT_US), maybe(RATE_BPS), maybe(LOSS_PPM), WEIGHT)
def test_closeness_is_within_0_and_1_and_0_for_what_is_not_reached_alone(
    rtt_us: int | None, rate_bps: int | None, loss_ppm: int | None, alpha_ppm: int
) -> None:
    near = formula_ppm(rtt_us, rate_bps, loss_ppm, alpha_ppm)
    assert 0 <= near <= MILLION
    assert (near == 0) == (loss_ppm == MILLION)
    assert formula_ppm(rtt_us, 0, loss_ppm, alpha_ppm) == 0


@given(RTT_US, RTT_US, maybe(RATE_BPS), maybe(LOSS_PPM), WEIGHT)
def test_a_longer_round_trip_is_never_nearer(
    one: int, other: int, rate_bps: int | None, loss_ppm: int | None, alpha_ppm: int
) -> None:
    near, far = (formula_ppm(rtt, rate_bps, loss_ppm, alpha_ppm) for rtt in sorted((one, other)))
    assert near >= far


@given(maybe(RTT_US), RATE_BPS, RATE_BPS, maybe(LOSS_PPM), WEIGHT)
def test_more_throughput_is_never_farther(
    rtt_us: int | None, one: int, other: int, loss_ppm: int | None, alpha_ppm: int
) -> None:
    far, near = (formula_ppm(rtt_us, rate, loss_ppm, alpha_ppm) for rate in sorted((one, other)))
    assert near >= far


@given(maybe(RTT_US), maybe(RATE_BPS), LOSS_PPM, LOSS_PPM, WEIGHT)
def test_more_loss_is_never_nearer(
    rtt_us: int | None, rate_bps: int | None, one: int, other: int, alpha_ppm: int
) -> None:
    near, far = (formula_ppm(rtt_us, rate_bps, loss, alpha_ppm) for loss in sorted((one, other)))
    assert near >= far


@given(RTT_US, RTT_US, RATE_BPS, RATE_BPS)
def test_alpha_says_which_of_the_two_counts(rtt_us: int, other_us: int, rate_bps: int, other_bps: int) -> None:
    assert formula_ppm(rtt_us, rate_bps, None, 0) == formula_ppm(rtt_us, other_bps, None, 0)
    assert formula_ppm(rtt_us, rate_bps, None, MILLION) == formula_ppm(other_us, rate_bps, None, MILLION)


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=50))
def test_an_estimate_is_within_its_intervals(values: list[int]) -> None:
    known = estimate([Sample(value, NOON, "iperf3", WAY) for value in values], "probes", "hosts")
    assert known.middle68.low <= known.value <= known.middle68.high
    if known.nine_in_ten is not None:
        assert known.nine_in_ten.low <= max(values)
        assert known.nine_in_ten.high >= min(values)


def test_nine_in_ten_of_further_samples_are_where_it_is_said() -> None:
    """Of throughputs that many influences make, each a factor; from few samples and from many."""
    draw = random.Random(7)
    for size in (3, 5, 20):
        held = 0
        for _ in range(2000):
            *before, after = (int(4e8 * draw.lognormvariate(0, 0.3)) for _ in range(size + 1))
            interval = estimate([Sample(value, NOON, "x", WAY) for value in before], "transfers", "hosts").nine_in_ten
            assert interval is not None
            held += interval.low <= after <= interval.high
        assert 0.88 <= held / 2000 <= 0.92, size
