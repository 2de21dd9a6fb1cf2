"""Allocations as lines: whatever their words are, each is read as it was written, and none becomes another's."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slotcar.base.texts import lines_of
from slotcar.managers import Allocation, ManagerError, Place, Request, ResourceManager, option_words
from slotcar.platforms.allocations import Allocations, allocation_of, change_lines, line_of, split_change
from tests.support.examples import examples

WORDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
ALLOCATIONS = st.builds(
    Allocation.of,
    WORDS,
    st.just("licence"),
    st.dictionaries(st.one_of(st.just(""), WORDS), st.integers(0, 10**15), min_size=1, max_size=3),
    st.dictionaries(WORDS, st.one_of(st.just(""), WORDS), max_size=3),
)


@given(one=ALLOCATIONS)
@example(one=Allocation.of("h", "licence", {"-": 1, "": 2}, {"pool": "two words"}))
@example(
    one=Allocation.of("h", "licence", {"a@b=c": 1}, {"po@ol": "a\nenable licence other matlab=4", "p%20": "%0a\u2028"})
)
@examples(50, 500)
def test_an_allocation_is_one_line_and_is_read_as_it_was(one: Allocation) -> None:
    line = line_of(one)
    assert lines_of(f"{line}\n") == [line]
    assert allocation_of(line) == one
    (disabled,), (enabled,) = (
        change_lines(Allocations((one,)), Allocations()),
        change_lines(Allocations(), Allocations((one,))),
    )
    assert split_change([disabled, enabled]) == (("disable", one), ("enable", one))


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (
            Allocation.of("h", "cpu", {"": 4000}, {"bind": "unit:user@1000.service"}),
            "cpu h -=4000 bind@unit:user@1000.service",
        ),
        (
            Allocation.of("h", "storage", {"vdb:read": 5}, {"accounts": "mover,hep"}),
            "storage h vdb:read=5 accounts@mover,hep",
        ),
    ],
)
def test_words_that_are_words_are_written_as_they_are(one: Allocation, line: str) -> None:
    """As archives of older pushes have them."""
    assert line_of(one) == line


class _Request(Request):
    """What is asked of nothing."""


class _Manager(ResourceManager):
    """Its options are what a test says."""

    kind, unit, request = "licence", "seats", _Request
    given: object = None

    def capacities(self, place: Place) -> dict[str, int]:
        return {}

    def amounts(self, request: Request, capacities: object) -> dict[str, int]:
        return {}

    def options(self, request: Request) -> dict[str, str]:
        return self.given  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"pool": "a b"}, "pool is 'a b' and has to be one word"),
        ({"pool": ""}, "pool is '' and has to be one word"),
        ({"pool": 4}, "pool is 4 and has to be one word"),
        ({"pool": "a\u00a0b"}, "has to be one word"),
        ({"pool": "\x1b[2J"}, "has to be one word"),
        ({"Pool": "a"}, "has the option 'Pool'; a key is of small letters"),
        ({"po ol": "a"}, "has the option 'po ol'; a key is of small letters"),
    ],
)
def test_options_that_are_no_words_are_refused(options: object, complaint: str) -> None:
    manager = _Manager()
    manager.given = options
    with pytest.raises(ManagerError, match=complaint.replace("[", r"\[")):
        option_words(manager, _Request())


def test_options_that_are_words_are_given_on() -> None:
    manager = _Manager()
    manager.given = {"pool": "München/4:a=b,c@d"}
    assert option_words(manager, _Request()) == {"pool": "München/4:a=b,c@d"}
