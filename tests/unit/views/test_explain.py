"""Differences in the words that an operator wrote."""

from __future__ import annotations

from typing import Any

import pytest

from slotcar.views.documents import reservation_document
from slotcar.views.explain import difference_sentence
from tests.support.requests import reservation


@pytest.mark.parametrize(
    ("key", "before", "after", "sentence"),
    [
        ("rate_bps", 20_000_000, 21_500_000, "rate: 20 Mbit/s -> 21.5 Mbit/s"),
        ("rtt_us", None, 50_000, "rtt: none -> 50 ms"),
        ("packet_size_bytes", 1500, 9000, "packet_size: 1.5 kB -> 9 kB"),
        ("service", "qbss", "ip-premium", "service: qbss -> ip-premium"),
        ("destination", {"host": "b", "port": None}, {"host": "b", "port": 5001}, "destination: b -> b:5001"),
        ("labels", {}, {"run": "3"}, "labels: none -> run=3"),
        ("via", [], ["r1", "r2"], "via: any way -> r1, r2"),
        ("recurrence", None, "FREQ=DAILY;COUNT=3", "recurrence: none -> FREQ=DAILY;COUNT=3"),
    ],
)
def test_a_difference_is_told_as_the_file_writes_it(key: str, before: Any, after: Any, sentence: str) -> None:
    assert difference_sentence(key, before, after) == sentence


def test_windows_are_heard_from_their_first_and_their_number() -> None:
    one = [{"start": "2027-03-01T21:00:00Z", "end": "2027-03-01T23:00:00Z"}]
    two = [*one, {"start": "2027-03-02T21:00:00Z", "end": "2027-03-02T23:00:00Z"}]
    assert difference_sentence("windows", one, two) == (
        "windows: 2027-03-01T21:00:00Z to 2027-03-01T23:00:00Z"
        " -> 2027-03-01T21:00:00Z to 2027-03-01T23:00:00Z, 2 times until 2027-03-02T23:00:00Z"
    )


def test_every_key_of_a_reservation_has_words() -> None:
    for key, value in reservation_document(reservation()).items():
        sentence = difference_sentence(key, value, value)
        assert "{" not in sentence, f"{key} is told as a data structure"
        assert "_bps" not in sentence
        assert "_us" not in sentence
