"""What a probe handed in and cannot be is refused by its key, in words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.timebase import iso
from slotcar.measuring.audits.reading import stream_of
from slotcar.network.model import Network
from slotcar_client.wire import verbs
from tests.support.audits import BEGIN
from tests.support.networks import line_network

NOW = BEGIN + timedelta(minutes=2)


def network() -> Network:
    """One SLS of it with figures."""
    whole = line_network(2)
    name = min(whole.sls)
    sls = whole.sls[name].model_copy(update={"delay_us": 20_000})
    return whole.model_copy(update={"sls": {**whole.sls, name: sls}})


def verb(**more: Any) -> verbs.RecordStream:
    given = {
        "sls": min(network().sls), "source": "near", "destination": "far", "start": iso(BEGIN), "interval_us": 100_000,
        "packets": [[0, 0, 9], [1, 100_000, None], [3, 300_000, 9]],
    }  # fmt: skip
    return verbs.RecordStream(**{**given, **more})


def test_a_stream_is_read() -> None:
    read = stream_of(verb(unstamped=1, remarked=3), network(), NOW)
    assert [one.sequence for one in read.packets] == [0, 1, 3]


@pytest.mark.parametrize(
    ("more", "key", "words"),
    [
        ({"sls": "x-no-more"}, "sls", "is no SLS of the inventory"),
        ({"start": iso(NOW + timedelta(seconds=1))}, "start", "is in the future"),
        ({"start": "2030-06-03T12:00:00"}, "start", "is no time with its zone"),
        ({"start": "0001-01-01T00:00:00Z"}, "start", "hours are kept for 62 days"),
        ({"packets": [[0, 121_000_000, 9]]}, "packets", "were sent in the future"),
        ({"packets": [], "unanswered": 6_000}, "unanswered", "were sent in the future"),
        ({"packets": [[0, 5, 9], [1, 4, 9]]}, "packets[1]", "was sent before the one before it"),
        ({"packets": [[0, 5, 9], [0, 6, 9]]}, "packets[1]", "has no greater number"),
        ({"packets": [], "unanswered": 1, "unstamped": 1}, "unstamped", "no packet did by which it is known when"),
        ({"remarked": 3}, "remarked", "is more than arrived"),
        ({"untold": 4, "unstamped": 1}, "untold", "is more than arrived"),
        ({"destination": "near"}, "destination", "is the source itself"),
        ({"source": ""}, "source", "is missing"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        stream_of(verb(**more), network(), NOW)
    (problem,) = refused.value.problems
    assert problem.key == key
    assert words in str(problem)
