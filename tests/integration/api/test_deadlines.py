"""Volumes by a deadline over HTTP: reserved, refused with numbers, reported on, and moved for others."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Role
from tests.integration.api.conftest import START, As, Body, at, body, created, live, problem

HOUR = timedelta(hours=1)
#: GARNET carries 45 Mb/s of ip-premium to ESnet; half of it for an hour.
HALF = "9 GB"


def volume(name: str, size: str = HALF, hours: int = 1, **more: object) -> Body:
    by = START + hours * HOUR
    return body(name, rate=None, duration=None, volume=size, by=by.isoformat(), **more)


def reserved(api: httpx.Client, name: str, size: str = HALF, hours: int = 1, **more: object) -> Body:
    answer = api.post("/v1/reservations", json=volume(name, size, hours, **more))
    assert answer.status_code == 201, answer.text
    document: Body = answer.json()
    return document


def test_a_volume_gets_a_profile_and_both_are_told(api: httpx.Client) -> None:
    entry = reserved(api, "bulk")
    reservation = entry["reservation"]
    assert reservation["need"] == {
        "volume_bytes": 9_000_000_000, "by": iso(START + HOUR), "start": iso(START), "at_most_bps": None,
        "at_least_bps": 0, "shape": "steady",
    }  # fmt: skip
    assert reservation["slots"] == [
        {"start": iso(START), "end": iso(START + HOUR), "forward_bps": 20_000_000, "reverse_bps": 0}
    ]
    assert entry["progress"] is None
    assert entry["demands"][0]["rate_bps"] > 20_000_000, "headers are counted"
    assert api.get(at(entry)).json() == entry


def test_a_refusal_has_the_numbers_of_a_transfer(api: httpx.Client) -> None:
    created(api, rate="35 Mbit/s", duration="PT1H")
    document = problem(api.post("/v1/reservations", json=volume("bulk")), 409, "refused")
    numbers = document["refusal"]["transfer"]
    assert numbers["asked_bytes"] == 9_000_000_000
    assert 0 < numbers["most_bytes"] < 9_000_000_000
    assert numbers["tightest"] == "if:anl-7507-1:ATM1/0/0:out:ip-premium"
    assert document["refusal"]["highest_rate_bps"] is None
    most = reserved(api, "most", f"{numbers['most_bytes']} B")
    api.post(at(most, "cancel")).raise_for_status()
    by = numbers["earliest_deadline"]
    assert api.post("/v1/reservations", json=volume("by-then") | {"by": by}).status_code == 201


@pytest.mark.parametrize(
    ("wrong", "key", "words"),
    [
        ({"by": None}, "by", "is missing: a volume has a deadline"),
        ({"volume": "900 TB"}, "volume", "can ever carry by"),
        ({"at_least": "20 Mbit/s", "at_most": "10 Mbit/s"}, "at_least", "is above at_most"),
        ({"rate": "1 Mbit/s"}, "rate", "does not go with a volume"),
    ],
)
def test_bad_input_names_its_key(api: httpx.Client, wrong: Body, key: str, words: str) -> None:
    request = {name: value for name, value in (volume("bulk") | wrong).items() if value is not None}
    document = problem(api.post("/v1/reservations", json=request), 422, "invalid-input")
    assert [one["key"] for one in document["errors"]] == [key]
    assert words in document["errors"][0]["message"]


def test_progress_is_reported_by_its_owner_and_nobody_else(as_: As) -> None:
    owner, other = (as_(name, Role.REQUESTER, name) for name in ("hep", "eo"))
    entry = reserved(owner, "bulk", owner=None)
    problem(other.post(at(entry, "progress"), json={"remaining": "1 GB"}), 404, "unknown-reservation")
    document = owner.post(at(entry, "progress"), json={"remaining": "4.5 GB"}).json()
    assert document["progress"] | {"at": ""} == {
        "remaining_bytes": 4_500_000_000, "at": "", "needed_bps": 10_000_000, "missing_bytes": 0
    }  # fmt: skip
    assert [one["forward_bps"] for one in document["reservation"]["slots"]] == [10_000_000]
    grows = problem(owner.post(at(entry, "progress"), json={"remaining": "5 GB"}), 409, "not-possible")
    assert "5 GB of hep/bulk cannot remain" in grows["detail"]
    problem(owner.post(at(entry, "progress"), json={"remaining": "5"}), 422, "invalid-input")
    fixed = created(owner, "fixed", owner=None)
    refused = problem(owner.post(at(fixed, "progress"), json={"remaining": "0 B"}), 409, "not-possible")
    assert "has a fixed rate" in refused["detail"]
    assert owner.post(at(entry, "progress"), json={"remaining": "0 B"}).json()["state"] == "cancelled"
    problem(
        owner.patch(at(reserved(owner, "next", owner=None)), json={"rate": "1 Mbit/s"}, headers={"If-Match": '"1"'}),
        409, "not-possible",
    )  # fmt: skip


def test_a_transfer_moves_for_a_fixed_request_and_a_plan_says_so(api: httpx.Client) -> None:
    bulk = reserved(api, "bulk", hours=2, shape="earliest")
    fixed = body("fixed", rate="35 Mbit/s", duration="PT1H")
    plan = api.post("/v1/plans", json={"version": 1, "reservations": [fixed]}, params={"set": "t"}).json()
    (step,) = plan["steps"]
    assert step["note"] == "moves 1 deadline transfer to make room"
    touched = {boundary["at"] for boundary in plan["boundaries"]}
    created(api, "fixed", rate="35 Mbit/s", duration="PT1H")
    moved = next(one for one in live(api) if one["handle"] == bulk["handle"])
    assert moved["version"] == 2
    first, before = moved["reservation"]["slots"][0], bulk["reservation"]["slots"][0]
    assert first["forward_bps"] < before["forward_bps"], "what the fixed request leaves in its hour"
    assert {moved["reservation"]["slots"][0]["start"], iso(START)} <= touched
    events = api.get("/v1/events", params={"kind": "reservation.moved", "reservation": bulk["handle"]}).json()["items"]
    assert [event["details"]["name"] for event in events] == ["bulk"]
