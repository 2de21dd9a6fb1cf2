"""What a user writes for a place, a deadline and a rate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from slotcar_transfer.errors import TransferError
from slotcar_transfer.places import Location, deadline_of, location_of, rate_of, reserved_until

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("data/run:7", Location("data/run:7")),
        ("/data", Location("/data")),
        ("lbnl:run-7", Location("run-7", "lbnl")),
        ("lbnl:/run-7/", Location("/run-7/", "lbnl")),
        ("lbnl:", Location("", "lbnl")),
        ("https://s/x?a=b", Location("https://s/x?a=b", "http")),
    ],
)
def test_a_place(text: str, location: Location) -> None:
    assert location_of(text) == location


@pytest.mark.parametrize(
    ("text", "after"),
    [("now + 3 h", 10_801), ("90 min", 5_401), ("1.5 h", 5_401), ("2027-03-01T14:00:00+01:00", 3_600)],
)
def test_a_deadline(text: str, after: int) -> None:
    assert deadline_of(text, NOW) == NOW + timedelta(seconds=after)


@pytest.mark.parametrize("text", ["soon", "2027-03-01T14:00:00", "2027-03-01T11:00:00Z", "-3 h", "", "3 weeks"])
def test_what_is_no_deadline_is_said_so(text: str) -> None:
    with pytest.raises(TransferError, match="--by"):
        deadline_of(text, NOW)


def test_what_is_reserved_ends_before_the_deadline_and_never_much() -> None:
    assert reserved_until(NOW + timedelta(minutes=10), NOW) == NOW + timedelta(minutes=9, seconds=30)
    assert reserved_until(NOW + timedelta(days=1), NOW) == NOW + timedelta(days=1) - timedelta(minutes=1)


def test_a_rate() -> None:
    assert rate_of("1.5 Gbit/s") == 1_500_000_000
    for text in ("400", "400 Mb", "-1 bit/s"):
        with pytest.raises(TransferError, match="is not a rate"):
            rate_of(text)


@pytest.mark.parametrize("text", ["", ":x"])
def test_no_place(text: str) -> None:
    with pytest.raises(TransferError):
        location_of(text)
