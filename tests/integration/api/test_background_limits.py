"""What an operator's gate and quotas make of background reservations: they count with what they can get (ADR 55)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest

from slotcar.book.rules.quotas import Usage
from slotcar.store import Ledger
from tests.integration.api.conftest import Body, Serve, at, body, problem
from tests.support.postgres import migrate

GATE = "10 Mbit/s"


def background(name: str, port: int, **bounds: Any) -> Body:
    return body(name, rate=None, duration="PT1H", share=bounds, destination=f"lbnl-premium:{port}")


def file_of(document: Body) -> Body:
    return {"version": 1, "reservations": [document]}


def entry_of(api: httpx.Client, document: Body) -> Body:
    answer = api.post("/v1/reservations", json=document)
    assert answer.status_code == 201, answer.text
    entry: Body = answer.json()
    return entry


@pytest.mark.parametrize(
    ("bounds", "state"),
    [
        ({"weight": 1}, "awaiting-approval"),
        ({"at_least": "1 Mbit/s"}, "awaiting-approval"),
        ({"at_most": "10000001 bit/s"}, "awaiting-approval"),
        ({"at_least": "1 Mbit/s", "at_most": GATE, "weight": 9}, "committed"),
    ],
)
def test_the_gate_sees_what_it_can_get_in_a_plan_and_when_it_is_asked_for(
    serve: Serve, bounds: dict[str, Any], state: str
) -> None:
    api = serve(approval_rate_bps=GATE)
    planned = api.post("/v1/plans", json=file_of(background("b", 5001, **bounds)))
    (step,) = planned.json()["steps"]
    assert (step["action"], bool(step["waits"])) == ("create", state == "awaiting-approval")
    assert entry_of(api, background("b", 5001, **bounds))["state"] == state


def test_a_raise_of_what_it_can_get_waits(serve: Serve) -> None:
    api = serve(approval_rate_bps=GATE)
    entry = entry_of(api, background("b", 5001, at_most=GATE))

    def applied(**bounds: Any) -> Body:
        planned = api.post("/v1/plans", json=file_of(background("b", 5001, **bounds))).json()
        api.post("/v1/applies", json=planned).raise_for_status()
        document: Body = api.get(at(entry)).json()
        return document

    assert applied(at_most="9 Mbit/s", weight=5)["proposed"] is None
    assert applied(at_most="11 Mbit/s", weight=5)["proposed"] is not None
    longer = {"duration": "PT9H"}
    changed = api.patch(at(entry), json=longer, headers={"If-Match": "*"})
    assert (changed.status_code, changed.json()["proposed"]) == (200, None), "it is not above the gate"


def test_a_volume_quota_counts_what_it_can_get(serve: Serve, ledger: Ledger, database_url: str) -> None:
    api = serve(owner_quotas={"hep": {"volume": "5 GB"}})
    refused = problem(api.post("/v1/reservations", json=background("b", 5001)), 409, "quota-exceeded")
    assert "a background reservation counts with its at_most" in refused["detail"]
    entry_of(api, background("b", 5001, at_most=GATE))
    usage = ledger.usage("hep", datetime.now(UTC))
    assert usage == Usage(1, 1, 0, 36_000_000_000)
    problem(api.post("/v1/reservations", json=background("c", 5002, at_most="2 Mbit/s")), 409, "quota-exceeded")
    planned = api.post("/v1/plans", json=file_of(background("c", 5002, at_most="2 Mbit/s")))
    problem(planned, 409, "quota-exceeded")
    with psycopg.connect(database_url, autocommit=True) as connection:
        for revision, volume_bits in (("0015", 0), ("head", usage.volume_bits)):
            migrate(database_url, revision)
            stored = connection.execute("SELECT volume_bits FROM entry").fetchall()
            assert stored == [(volume_bits,)], f"at {revision} its floor, and what it can get after it"
