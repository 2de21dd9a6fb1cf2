"""`profile`: what follows from a kind of application, what is said beside it, and what is refused, in words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.vocabulary import Profile, Service
from slotcar.reservation import from_mapping, json_schema, load_text
from slotcar.reservation.model import Reservation, TimeBound
from slotcar.reservation.profiles import KINDS

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
ENDS = {
    "name": "one", "owner": "hep", "source": "anl", "destination": "lbnl:5001", "protocol": "tcp", "start": "now",
    "duration": "1 h",
}  # fmt: skip
RATE = {"rate": "2 Mbit/s"}


def read(profile: str, **more: Any) -> Reservation:
    return from_mapping({**ENDS, "profile": profile, **more}, NOW)


def test_each_kind_has_its_service_burst_and_bounds() -> None:
    interactive = read("interactive", **RATE)
    assert (interactive.service, interactive.rtt_us) == (Service.IP_PREMIUM, 100_000)
    assert (interactive.delay, interactive.jitter) == (TimeBound(at_most_us=100_000), TimeBound(at_most_us=50_000))
    transactions = read("transactions", **RATE)
    assert (transactions.service, transactions.rtt_us, transactions.delay) == (Service.ASSURED_RATE, 100_000, None)
    bulk = read("bulk", duration=None, volume="2 TB", by="2027-03-02T06:00:00Z")
    assert (bulk.service, bulk.rtt_us) == (Service.ASSURED_RATE, 400_000)
    assert read("test").service is Service.QBSS


def test_the_four_kinds_are_those_of_the_reference_and_have_its_phbs() -> None:
    assert [(name, kind.phb) for name, kind in KINDS.items()] == [
        (Profile.INTERACTIVE, "EF"), (Profile.TRANSACTIONS, "AF"), (Profile.BULK, "AF"), (Profile.TEST, "LBE"),
    ]  # fmt: skip


def test_what_is_said_holds_and_null_takes_a_bound_back() -> None:
    own = read("interactive", **RATE, rtt="20 ms", delay="30 ms", jitter=None)
    assert (own.rtt_us, own.delay, own.jitter) == (20_000, TimeBound(at_most_us=30_000), None)
    assert read("bulk", **RATE, service="assured-rate").service is Service.ASSURED_RATE


def test_it_is_kept_with_the_reservation_and_without_one_nothing_is() -> None:
    document = read("test").to_document()
    assert document["profile"] == "test"
    assert Reservation.from_document(document).profile is Profile.TEST
    assert "profile" not in from_mapping({**ENDS, **RATE, "service": "ip-premium"}, NOW).to_document()


@pytest.mark.parametrize(
    ("profile", "more", "key", "words"),
    [
        ("interactive", RATE | {"service": "qbss"}, "service", "leave one of them out; of qbss are test"),
        ("bulk", RATE | {"service": "best-effort"}, "service", "is assured-rate (got best-effort); leave one of them"),
        ("interactive", {"duration": None, "volume": "1 TB", "by": "2027-03-02T06:00:00Z"}, "volume", "cannot come later"),
        ("interactive", {"share": "weight=2"}, "share", "say a rate of its own"),
        ("transactions", RATE | {"protocol": "udp"}, "protocol", "a transaction is to be reliable: say tcp"),
        ("transactions", {"duration": None, "volume": "1 TB", "by": "2027-03-02T06:00:00Z"}, "by", "or take `bulk`"),
        ("bulk", RATE | {"delay": "20 ms"}, "delay", "have no urgency in a bulk transfer"),
        ("test", RATE, "rate", "qbss promises nothing but what others leave"),
        ("interactiv", RATE, "profile", "interactive"),
        (7, RATE, "profile", "interactive"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_a_kind_is_refused_in_words(
    profile: Any, more: dict[str, Any], key: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(profile, **more)
    problems = {one.key: str(one) for one in refused.value.problems}
    assert key in problems, problems
    assert words in problems[key]


def test_one_of_service_and_profile_is_needed_in_the_reader_and_in_the_schema() -> None:
    with pytest.raises(InvalidInput, match="service: is missing"):
        from_mapping({**ENDS, **RATE}, NOW)

    def valid(**more: Any) -> bool:
        file = {"version": 1, "reservations": [{**ENDS, **RATE, **more}]}
        return bool(jsonschema.Draft202012Validator(json_schema()).is_valid(json.loads(json.dumps(file))))

    assert valid(profile="bulk")
    assert valid(service="ip-premium")
    assert valid(service="ip-premium", profile=None)
    assert not valid()
    assert not valid(profile="fast")


def test_a_file_has_it_in_its_defaults() -> None:
    defaults = {key: value for key, value in ENDS.items() if key != "name"}
    file = {"version": 1, "defaults": {**defaults, "profile": "bulk"}, "reservations": [{"name": "a", **RATE}]}
    (reservation,) = load_text(json.dumps(file), "a.json", NOW)
    assert (reservation.profile, reservation.service) == (Profile.BULK, Service.ASSURED_RATE)
