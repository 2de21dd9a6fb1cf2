"""Who is waited for in an attempt that is not decided is said by what was heard, and not by the clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.domains import protocol
from slotcar.domains.model import Connection, NextSays, Own

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


def begun(behind: str | None = "esnet", *, by_agent: bool = False) -> Connection:
    ends = NOW + timedelta(hours=1)
    return protocol.begun("c", "anl", (None, behind), "v1", ends, NOW, by_agent=by_agent)


@pytest.mark.parametrize(
    ("connection", "words"),
    [
        (begun(), "anl does not hold its segment yet"),
        (replace(begun(), own=Own.HELD, next_says=NextSays.NONE), "esnet has not answered yet"),
        (
            replace(begun(), own=Own.KEPT, next_says=NextSays.HELD),
            "esnet holds its segment, and has not said yet that it is committed",
        ),
        (replace(begun(), own=Own.KEPT, next_says=NextSays.COMMITTED), "anl has not committed its segment yet"),
        (replace(begun(None), own=Own.HELD), "anl has not committed its segment yet"),
        (replace(begun(by_agent=True), own=Own.HELD), "nobody has shown esnet's ticket yet"),
    ],
)
def test_what_is_waited_for_is_what_was_not_heard(connection: Connection, words: str) -> None:
    assert protocol.awaited(connection) == words
