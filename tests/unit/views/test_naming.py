"""A name that is not there gets those that may be meant."""

from __future__ import annotations

import pytest

from slotcar.views.naming import near_reservations
from tests.support.requests import reservation
from tests.unit.views.test_timeline import entry

ENTRIES = [entry(1, (0, 60)), entry(2, (0, 60))]
OWNER = reservation("n1").owner


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
    assert near_reservations(which, ENTRIES).startswith(words)


def test_where_there_is_none_that_is_said() -> None:
    assert near_reservations("n1", []) == "there is none yet"
