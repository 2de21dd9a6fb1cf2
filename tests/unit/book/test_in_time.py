"""Names by their time: those of a time are found, whatever lengths there are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slotcar.book.in_time import InTime

TIMES = st.tuples(st.integers(-50, 50), st.integers(1, 60)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(TIMES), TIMES)
def test_exactly_those_that_overlap_are_found(times: list[tuple[int, int]], wanted_time: tuple[int, int]) -> None:
    names = InTime()
    for number, (start, end) in enumerate(times):
        names.add(start, end, str(number))
    overlapping = [str(n) for n, (start, end) in enumerate(times) if start < wanted_time[1] and wanted_time[0] < end]
    assert sorted(names.overlapping(*wanted_time)) == sorted(overlapping)
