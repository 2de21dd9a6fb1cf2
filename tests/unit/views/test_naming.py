"""A name that is not there gets those that may be meant."""

from __future__ import annotations

import pytest

from slotcar.views.naming import Named, near_reservations

OWNER = "hep"
KNOWN = [Named(OWNER, "n1", "h1"), Named(OWNER, "n2", "h2")]


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("n1", f"did you mean {OWNER}/n1 (h1)"),
        (f"{OWNER}/m1", f"did you mean {OWNER}/n1 (h1) or {OWNER}/n2 (h2)?"),
        (OWNER[:3], f"did you mean {OWNER}/n1 (h1)"),
        ("quite-another", f"there is {OWNER}/n1, {OWNER}/n2"),
    ],
)
def test_what_is_near_is_named(which: str, words: str) -> None:
    assert near_reservations(which, KNOWN).startswith(words)


def test_where_there_is_none_that_is_said() -> None:
    assert near_reservations("n1", []) == "there is none yet"
