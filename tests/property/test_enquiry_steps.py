"""Steps that are told of what is free: never more of them than asked for, and never more rate than there is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission.free import Free
from slotcar.admission.rates import RateStep, excess
from slotcar.admission.steady import coarse
from tests.support.examples import examples

BASE_US = 1_800_000_000_000_000


@examples(50, 200)
@given(st.lists(st.tuples(st.integers(1, 10**11), st.integers(0, 9)), min_size=1, max_size=60), st.integers(1, 40))
def test_a_rounded_answer_tells_less_and_never_more(parts: list[tuple[int, int]], most: int) -> None:
    steps, time_us = [], BASE_US
    for length_us, rate_bps in parts:
        steps.append(RateStep(time_us, time_us + length_us, rate_bps))
        time_us += length_us
    free = Free.of(steps)
    rounded = coarse(free, most)
    assert len(rounded.starts_us) <= max(1, most)
    assert (int(rounded.starts_us[0]), rounded.end_us) == (BASE_US, time_us)
    assert not excess(rounded.profile(), free.profile())
    if len(steps) <= most:
        assert rounded is free
