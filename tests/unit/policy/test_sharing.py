"""Hours of shares as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.units import UnitError
from slotcar.policy.sharing import ALL_HOURS, hours_of, hours_text


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("18-20", (18, 19, 20)),
        ("22-1", (22, 23, 0, 1)),
        ("0, 5", (0, 5)),
        ("7", (7,)),
        ("5-5", (5,)),
        ("23-0,12", (23, 0, 12)),
    ],
)
def test_hours_may_go_over_midnight(text: str, hours: tuple[int, ...]) -> None:
    assert hours_of(text) == hours


@pytest.mark.parametrize("text", ["", "24", "18-25", "a", "5-", "-5", "1,,2", "18:00", "99999999999"])
def test_what_says_no_hours_is_an_error(text: str) -> None:
    with pytest.raises(UnitError, match="no hour of a day from 0 to 23"):
        hours_of(text)


@given(st.sets(st.sampled_from(ALL_HOURS), min_size=1, max_size=23))
def test_hours_are_written_as_they_are_read(hours: set[int]) -> None:
    assert set(hours_of(hours_text(sorted(hours)))) == hours


def test_all_hours_are_not_named() -> None:
    assert hours_text(ALL_HOURS) == ""
