"""What is behind the committed rate is made up for, and no more than that rate is sent since the beginning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar_transfer.pacing import CATCH_UP_S, MOST_BEHIND_S, Pace
from tests.support.examples import examples

RATE_BPS = 8_000_000
LOOK_S = 0.1


def test_a_pace_that_is_kept_stays_the_rate() -> None:
    pace = Pace(0, 0.0)
    for number in range(1, 10):
        pace = pace.after(RATE_BPS, number * 100_000, number * LOOK_S)
        assert pace.wanted_bps(RATE_BPS) == pytest.approx(RATE_BPS, rel=1e-6)


@given(st.lists(st.floats(0.86, 1.0), min_size=30, max_size=60))
@examples(100, 1000)
def test_late_timers_cost_nothing_in_the_end(shares: list[float]) -> None:
    """Of each pace the kernel gives a share."""
    pace, sent, due = Pace(0, 0.0), 0.0, 0.0
    for number, share in enumerate(shares, start=1):
        sent += pace.wanted_bps(RATE_BPS) / 8 * LOOK_S * share
        due += RATE_BPS / 8 * LOOK_S
        pace = pace.after(RATE_BPS, int(sent), number * LOOK_S)
        assert sent <= due + 1, "a policer with any bucket would let it through"
    assert due - sent <= RATE_BPS / 8 * MOST_BEHIND_S + 1


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 10**7)), max_size=20), st.integers(8, 10**10))
@examples(100, 1000)
def test_the_pace_is_never_under_the_rate_nor_more_than_a_fifth_above(
    looks: list[tuple[float, int]], rate_bps: int
) -> None:
    """However long nothing was to be sent, and however much was sent at once."""
    pace = Pace(0, 0.0)
    for after_s, more_bytes in looks:
        pace = pace.after(rate_bps, pace.sent_bytes + more_bytes, pace.at_s + after_s)
        assert rate_bps <= pace.wanted_bps(rate_bps) <= rate_bps * (1 + MOST_BEHIND_S / CATCH_UP_S) + 1
