"""Rounded steps say nothing that is not so: no level of a part is above its highest or below its least; both are met."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission.resource_id import sls_resource
from slotcar.base.timebase import Window
from slotcar.views.capacity import Course

CAPACITY = 100
levels = st.lists(st.tuples(st.integers(1, 50), st.integers(0, CAPACITY)), min_size=1, max_size=60)


@given(levels, st.integers(1, 40))
def test_every_part_has_the_levels_that_it_says(drawn: list[tuple[int, int]], most: int) -> None:
    """`drawn`: how long each level lasts, and the level."""
    ends = np.cumsum([length for length, _ in drawn])
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    reserved = np.array([level for _, level in drawn], dtype=np.int64)
    course = Course(
        sls_resource("x"), CAPACITY, Window.of_us(0, int(ends[-1])), (starts, reserved, CAPACITY - reserved)
    )
    steps, rounded = course.steps(most)
    assert len(steps) <= max(most, 1)
    assert rounded == (starts.size > most)
    exact = [level for length, level in drawn for _ in range(length)]
    edges = [step.start_us for step in steps] + [int(ends[-1])]
    assert edges[0] == 0
    for step, (first, beyond) in zip(steps, pairwise(edges), strict=True):
        within = exact[first:beyond] or [exact[min(first, len(exact) - 1)]]
        assert (step.reserved_bps, step.least_bps) == (max(within), min(within))
        assert step.free_bps == CAPACITY - step.reserved_bps
