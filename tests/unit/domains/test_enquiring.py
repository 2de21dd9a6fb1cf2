"""What is free over time in a row of domains."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from slotcar.base.timebase import Window
from slotcar.domains.enquiring import FreeBehind, RateThroughout, Steps, at_most, joined_with, least
from slotcar.domains.errors import NotAuthentic

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


def steps(*parts: tuple[int, int, int]) -> Steps:
    """From and to in hours, and a rate."""
    return tuple(
        RateThroughout(Window(NOW + timedelta(hours=start), NOW + timedelta(hours=end)), rate)
        for start, end, rate in parts
    )


def test_at_each_instant_the_least_is_free() -> None:
    one, other = steps((0, 2, 10), (2, 4, 5)), steps((0, 1, 3), (1, 3, 20), (3, 4, 4))
    assert least(one, other) == steps((0, 1, 3), (1, 2, 10), (2, 3, 5), (3, 4, 4))
    assert least(one, one) == one
    assert least(steps((0, 1, 5), (6, 7, 5)), steps((0, 7, 9))) == steps((0, 1, 5), (6, 7, 5))


def test_where_the_other_says_nothing_nothing_is_free() -> None:
    assert least(steps((0, 4, 10)), steps((1, 2, 3))) == steps((0, 1, 0), (1, 2, 3), (2, 4, 0))


def test_what_one_does_not_tell_is_as_the_other_has_it() -> None:
    behind = FreeBehind({"forward": steps((0, 4, 3))}, unknown_beyond=("esnet",))
    joined = joined_with("anl", {"forward": steps((0, 4, 10)), "reverse": steps((0, 4, 7))}, behind)
    assert joined.steps == {"forward": steps((0, 4, 3)), "reverse": steps((0, 4, 7))}
    assert joined.unknown_beyond == ("esnet",)
    assert at_most(steps((0, 1, 9), (1, 2, 4)), 5) == steps((0, 1, 5), (1, 2, 4))
    assert at_most(steps((0, 1, 9)), None) == steps((0, 1, 9))


def test_what_is_told_is_read_again_and_rubbish_is_refused_by_name() -> None:
    free = FreeBehind({"together": steps((0, 1, 3))}, rounded=True, unknown_beyond=("lbnl",))
    assert FreeBehind.from_text(free.to_text(), "esnet") == free
    text_of_free = free.to_text()
    wrong = (
        text_of_free.replace(", 3]", ", -3]"),
        text_of_free.replace(", 3]", ", 1e999]"),
        text_of_free.replace('["lbnl"]', "[7]"),
    )
    shapeless = ("", "[]", "{}", '{"steps": {"x": [["2027-03-01", "2027-03-02", 1]]}, "unknown_beyond": []}')
    for text in (*shapeless, *wrong):
        with pytest.raises(NotAuthentic, match="what esnet tells of what is free cannot be read"):
            FreeBehind.from_text(text, "esnet")
