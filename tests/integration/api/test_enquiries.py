"""What is free over time, and what could be added to a reservation: as it is then admitted, to the bit."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Requests
from slotcar.network.model import Network
from slotcar.planning.enquiry import MOST_STEPS
from slotcar.planning.modification import Modification
from slotcar.reservation import from_mapping
from slotcar.store import Ledger
from tests.integration.api.conftest import GARNET, START, As, at, body, created, problem

HOUR = timedelta(hours=1)
OPERATOR = Caller(name="ops", role=Role.OPERATOR)


def enquiry(api: httpx.Client, **more: Any) -> dict[str, Any]:
    answer = api.post("/v1/enquiries", json=body(name=None, owner=None, rate=None, **more))
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def addable(api: httpx.Client, entry: dict[str, Any]) -> dict[str, Any]:
    answer = api.get(at(entry, "addable"))
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def hour(number: int) -> str:
    return iso(START + number * HOUR)


def test_what_is_free_is_told_over_time(api: httpx.Client) -> None:
    created(api, rate="30 Mbit/s", start=hour(1), duration="PT1H")
    answer = enquiry(api, start=hour(0), duration="PT3H")
    ways = {one["direction"]: one for one in answer["directions"]}
    steps = ways["forward"]["steps"]
    assert [(one["start"], one["end"]) for one in steps] == [(hour(n), hour(n + 1)) for n in range(3)]
    assert min(one["rate_bps"] for one in steps) == ways["forward"]["highest_rate_bps"] == steps[1]["rate_bps"]
    assert steps[0]["rate_bps"] == steps[2]["rate_bps"] > 30_000_000
    assert [one["rate_bps"] for one in ways["reverse"]["steps"]] == [ways["reverse"]["highest_rate_bps"]]
    assert answer["steps"] == steps, "both ways at once may have what the narrower one has"
    assert ways["reverse"]["routers"] == ways["forward"]["routers"][::-1]
    assert not answer["rounded"]
    assert answer["adds_to"] is None
    for number, step in enumerate(steps):
        more = {"rate": f"{step['rate_bps']} bit/s", "destination": f"lbnl-premium:{6000 + number}"}
        created(api, f"exactly-{number}", start=step["start"], duration=None, end=step["end"], **more)


def test_an_answer_has_a_bounded_number_of_steps(api: httpx.Client) -> None:
    """More changes than it tells: each step then has the least of its time."""
    days = {"recurrence": f"FREQ=DAILY;COUNT={MOST_STEPS}"}
    created(api, rate="30 Mbit/s", duration="PT1H", **days)
    few = enquiry(api, duration="P10D", direction="forward")["directions"][0]
    many = enquiry(api, duration=f"P{MOST_STEPS}D", direction="forward")["directions"][0]
    assert (len(few["steps"]), few["rounded"]) == (20, False)
    assert 1 < len(many["steps"]) <= MOST_STEPS
    assert many["rounded"]
    assert {one["rate_bps"] for one in many["steps"]} <= {one["rate_bps"] for one in few["steps"]}
    assert many["steps"][-1]["end"] == hour(24 * MOST_STEPS)


def test_of_many_windows_the_first_are_told(api: httpx.Client) -> None:
    days = {"recurrence": f"FREQ=DAILY;COUNT={MOST_STEPS + 20}", "duration": "PT1H", "direction": "forward"}
    answer = enquiry(api, **days)
    assert len(answer["windows"]) == MOST_STEPS + 20
    assert len(answer["steps"]) == MOST_STEPS
    assert answer["rounded"]


def test_what_can_be_added_is_admitted_and_no_more(api: httpx.Client) -> None:
    entry = created(api)
    created(api, "other", rate="8 Mbit/s", destination="lbnl-premium:5002", start=hour(1), duration="PT30M")
    answer = addable(api, entry)
    assert answer["adds_to"] == entry["handle"]
    [forward] = answer["directions"]
    assert len(forward["steps"]) == 3
    assert answer["windows"] == entry["reservation"]["windows"]
    total = 10_000_000 + forward["highest_rate_bps"]
    too_much = api.patch(at(entry), json={"rate": f"{total + 1000} bit/s"}, headers={"If-Match": "*"})
    problem(too_much, 409, "refused")
    api.patch(at(entry), json={"rate": f"{total} bit/s"}, headers={"If-Match": "*"}).raise_for_status()
    assert addable(api, entry)["directions"][0]["highest_rate_bps"] == 0


def test_a_change_that_waits_for_approval_makes_way_for_what_is_added(
    as_: As, ledger: Ledger, network: Network
) -> None:
    hep = as_("hep", Role.REQUESTER)
    entry = created(hep, rate="5 Mbit/s")
    before = addable(hep, entry)
    gated = Desk(ledger, network, Settings(approval_rate_bps="8 Mbit/s", inventory=GARNET))
    caller = Caller(name="hep", role=Role.REQUESTER, owner="hep")
    waits = Requests(gated).modify(entry["handle"], Modification(rate_bps=20_000_000), caller, START - HOUR)
    assert waits.proposed is not None
    assert addable(hep, entry) == before


def test_only_what_is_ones_own_is_asked_about(as_: As) -> None:
    hep, astro = as_("hep", Role.REQUESTER), as_("astro", Role.REQUESTER, "astro")
    entry = created(hep)
    assert addable(hep, entry)["adds_to"] == entry["handle"]
    problem(astro.get(at(entry, "addable")), 404, "unknown-reservation")
    problem(hep.get(at({"handle": "r-nothing"}, "addable")), 404, "unknown-reservation")
    problem(hep.get(at(entry, "addable"), params={"steps": 3}), 422, "invalid-input")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"volume": "1 GB", "by": "now + 2 h", "rate": None, "start": None, "duration": None}, "found by admission"),
        ({"share": {"weight": 2}, "rate": None}, "found by admission"),
    ],
    ids=["volume", "share"],
)
def test_rates_that_admission_finds_are_not_added_to(api: httpx.Client, more: dict[str, Any], words: str) -> None:
    answer = api.get(at(created(api, **more), "addable"))
    assert words in problem(answer, 409, "not-possible")["detail"]


def test_nothing_is_added_to_what_is_over(api: httpx.Client) -> None:
    entry = created(api)
    api.post(at(entry, "cancel")).raise_for_status()
    assert "is cancelled" in problem(api.get(at(entry, "addable")), 409, "not-possible")["detail"]


def test_who_has_left_by_now_is_in_nobodys_way(ledger: Ledger, network: Network, tmp_path: Path) -> None:
    """A reservation that runs may be raised as far as what is to come of it has room."""
    desk = Desk(ledger, network, Settings(state_dir=tmp_path, inventory=GARNET))

    def reserve(name: str, rate: str, port: int, start: datetime, length: str) -> str:
        flow = body(name, rate=rate, destination=f"lbnl-premium:{port}", start=iso(start), duration=length)
        return Requests(desk).create(from_mapping(flow, START), OPERATOR, START).handle

    runs = reserve("runs", "10 Mbit/s", 5001, START, "PT1H")
    reserve("earlier", "20 Mbit/s", 5002, START, "PT10M")
    now = START + timedelta(minutes=30)
    answer = Requests(desk).addable(runs, OPERATOR, now)
    assert [window.start for window in answer.windows] == [now]
    [forward] = answer.directions
    assert forward.rate_bps > 25_000_000
    raised = Requests(desk).modify(runs, Modification(rate_bps=10_000_000 + forward.rate_bps), OPERATOR, now)
    assert raised.reservation.peak_rate_bps == 10_000_000 + forward.rate_bps
