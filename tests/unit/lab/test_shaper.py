"""A sender that is late: what it hands over, and what leaves it for the wire."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slotcar_lab.agent.datagrams import HEADROOM
from slotcar_lab.agent.traffic import Ceiling, Shaper

PACKETS_PS, BUCKET = 500.0, (4, 0.02)


def test_what_is_late_beyond_the_ceiling_is_never_sent_and_counted() -> None:
    shaper = Shaper()
    assert shaper.waiting(7.9, sent=0, most=10) == 7
    assert shaper.waiting(40.0, sent=7, most=10) == 10, "23 of 33 are given up"
    assert shaper.unsent == 23
    assert shaper.waiting(41.0, sent=17, most=10) == 1, "and do not come back"
    assert shaper.unsent == 23


def test_a_bucket_is_seconds_of_the_rate_of_the_moment_and_some_packets_at_the_least() -> None:
    ceiling = Ceiling(PACKETS_PS, 8, BUCKET)
    assert [ceiling.at(rate) for rate in (PACKETS_PS, 300.0, 90.0)] == [10, 6, 4]
    assert Ceiling(PACKETS_PS, 8, None).at(90.0) == 18, "without one it catches up as before"


@given(st.lists(st.floats(0.001, 0.5), min_size=1, max_size=60))
def test_whenever_it_is_woken_it_is_never_above_its_rate_by_more_than_its_bucket(naps_s: list[float]) -> None:
    """The kernel sends what it was handed `HEADROOM` times as fast as the rate, and a policer with the rate and the bucket
    lets all of it pass: with the ceiling of a sender without a bucket it does not."""
    most = Ceiling(PACKETS_PS, 8, BUCKET).at(PACKETS_PS)
    shaper, now_s, sent, free_s = Shaper(), 0.0, 0, 0.0
    tokens, last_s = float(most), 0.0
    for nap_s in naps_s:
        now_s += nap_s
        count = shaper.waiting(now_s * PACKETS_PS, sent, most)
        for _ in range(count):
            free_s = max(free_s, now_s) + 1 / (HEADROOM * PACKETS_PS)
            tokens = min(float(most), tokens + (free_s - last_s) * PACKETS_PS)
            last_s = free_s
            assert tokens >= 1 - 1e-6, "a packet that the policer drops"
            tokens -= 1
        sent += count
    assert sent + shaper.unsent == int(now_s * PACKETS_PS)
