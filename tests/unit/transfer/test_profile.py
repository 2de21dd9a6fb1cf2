"""What a sender goes by: rates over time, slower ahead of a lower one, and when the rest is moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from slotcar_transfer.profile import Profile, Step
from tests.support.examples import examples

T0 = datetime(2027, 3, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def slot(start: int, end: int, rate_bps: int) -> dict[str, object]:
    return {"start": at(start).isoformat(), "end": at(end).isoformat(), "forward_bps": rate_bps, "reverse_bps": 0}


PROFILE = Profile.of_slots([slot(0, 10, 8_000_000), slot(10, 20, 2_000_000), slot(30, 40, 4_000_000)])


def test_slots_that_touch_have_no_gap_and_others_do() -> None:
    assert [PROFILE.rate_at(at(one)) for one in (-1, 0, 9.9, 10, 20, 30, 40)] == [
        0, 8_000_000, 8_000_000, 2_000_000, 0, 4_000_000, 0,
    ]  # fmt: skip


def test_it_is_slower_before_a_lower_rate_and_no_sooner_faster() -> None:
    ahead = timedelta(seconds=1)
    assert PROFILE.safe_rate(at(8.9), ahead) == 8_000_000
    assert PROFILE.safe_rate(at(9.0), ahead) == 2_000_000
    assert PROFILE.safe_rate(at(29.5), ahead) == 0


def test_the_promised_end() -> None:
    assert PROFILE.moved_by(5_000_000, T0) == at(5)
    assert PROFILE.moved_by(12_500_000, T0) == at(20)
    assert PROFILE.moved_by(13_000_000, T0) == at(31)
    assert PROFILE.moved_by(18_000_000, T0) is None
    assert PROFILE.moved_by(0, at(100)) == at(100)


def test_it_crosses_the_wire_as_it_is() -> None:
    assert Profile.of_rows(PROFILE.rows()) == PROFILE


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 10**9)), min_size=1, max_size=12), st.integers(0, 10**10))
@examples(100, 2000)
def test_what_moves_by_the_promised_end_is_what_remained(lengths: list[tuple[int, int]], remaining: int) -> None:
    steps, begin = [], 0
    for seconds, rate_bps in lengths:
        steps.append(Step(at(begin), rate_bps))
        begin += seconds
    profile = Profile((*steps, Step(at(begin), 0)))
    end = profile.moved_by(remaining, T0)
    all_bits = sum(seconds * rate_bps for seconds, rate_bps in lengths)
    if end is None:
        assert all_bits < remaining * 8
        return
    moved, place = 0.0, 0
    for seconds, rate_bps in lengths:
        moved += max(0.0, min(seconds, (end - at(place)).total_seconds())) * rate_bps
        place += seconds
    assert abs(moved - remaining * 8) <= 1 + 2e-6 * max(one[1] for one in lengths) * len(lengths)
