"""What the page shows of a whole controller: resources over time, boundaries, devices, revisions, use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import Window, iso
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.overview import Overview, ResourcePage
from slotcar.desk.requests import Requests
from slotcar.network.model import Network
from slotcar.reservation import from_mapping
from slotcar.store import EntryFilter, Ledger
from slotcar.store.pages import MOST_COUNTED
from tests.integration.api.conftest import GARNET, START, As, Serve, at, body, created, problem
from tests.support.statements import statements_of

SLS = "sls:anl-esnet-ip-premium"
OPERATOR = Caller("ops", Role.OPERATOR)


def test_a_resource_over_a_day(serve: Serve) -> None:
    api = serve()
    entry = created(api)
    window = {"from": iso(START - timedelta(minutes=30)), "until": iso(START + timedelta(hours=4))}
    item = api.get("/v1/resources", params={"resource": SLS, "points": 100, **window}).json()["items"][0]
    amount = next(one["rate_bps"] for one in entry["demands"] if one["resource"] == SLS)
    assert [(step["reserved_bps"], step["free_bps"]) for step in item["steps"]] == [
        (0, 45_000_000), (amount, 45_000_000 - amount), (0, 45_000_000),
    ]  # fmt: skip
    assert (item["reserved_bps"], item["free_bps"], item["rounded"]) == (amount, 45_000_000 - amount, False)
    assert item["tightest"] == {"start": iso(START), "end": iso(START + timedelta(hours=2))}
    assert api.get("/v1/resources", params={"resource": SLS, "points": 1, **window}).json()["items"][0]["rounded"]


@pytest.mark.slow
def test_all_resources_come_in_pages(serve: Serve) -> None:
    api = serve()
    names, after = [], ""
    while after is not None:
        page = api.get("/v1/resources", params={"limit": 7, "after": after}).json()
        names += [one["resource"] for one in page["items"]]
        after = page["next"]
    assert names == sorted(set(names))
    assert names == [
        one["resource"] for part in ("if:", "sls:") for one in all_of(api) if one["resource"].startswith(part)
    ]
    of_esnet = api.get("/v1/resources", params={"domain": "esnet"}).json()["items"]
    assert {one["device"] for one in of_esnet} == {"esnet-7507"}


def all_of(api: httpx.Client) -> list[dict[str, Any]]:
    first = api.get("/v1/resources").json()
    second = api.get("/v1/resources", params={"after": first["next"]}).json() if first["next"] else {"items": []}
    return [*first["items"], *second["items"]]


def test_wrong_questions_are_refused(serve: Serve) -> None:
    api = serve()
    assert "GET /v1/resources" in problem(api.get("/v1/resources?resource=sls:x"), 404, "unknown-resource")["detail"]
    problem(api.get("/v1/resources?device=nowhere"), 404, "unknown-device")
    late = {"from": iso(START), "until": iso(START)}
    for path in ("/v1/resources", "/v1/boundaries", "/v1/usage"):
        assert "is not after `from`" in problem(api.get(path, params=late), 422, "invalid-input")["detail"]
    problem(api.get("/v1/boundaries/tomorrow"), 422, "invalid-input")
    problem(api.get("/v1/revisions?before=x"), 422, "invalid-input")
    long = {"from": "2020-01-01T00:00:00Z", "until": "2027-01-01T00:00:00Z"}
    assert "24 months" in problem(api.get("/v1/usage", params=long), 422, "invalid-input")["detail"]


def test_reservations_are_searched_and_counted(serve: Serve) -> None:
    api = serve()
    more = {"rate": "1 Mbit/s", "labels": {"kind": "test"}}
    entries = [created(api, f"run-{n}", **more, destination=f"lbnl-premium:{5000 + n}") for n in range(3)]
    created(api, "sure_run", rate="1 Mbit/s", destination="lbnl-premium:5010")
    params = {"search": "HEP/RUN-", "counted": True, "newest": True, "limit": 3}
    document = api.get("/v1/reservations", params=params).json()
    # Words are found by their beginnings, wherever they stand.
    assert ([one["reservation"]["name"] for one in document["items"]], document["count"]) == (
        ["sure_run", "run-2", "run-1"],
        4,
    )
    page = api.get("/v1/reservations", params={**params, "search": "run", "label": "kind=test", "limit": 2}).json()
    assert [one["reservation"]["name"] for one in page["items"]] == ["run-2", "run-1"]
    assert page["count"] == 3
    for search, names in (
        (entries[0]["handle"], {"run-0"}), ("su", {"sure_run"}), ("hep run 1", {"run-1"}), ("HEP/sure_RUN", {"sure_run"}),
        ("ure", set()), (entries[0]["handle"][:8], set()), ("%", set()), ("'", set()),
        ("zz & run", set()), ("\u00b2", set()),
    ):  # fmt: skip
        document = api.get("/v1/reservations", params={"search": search}).json()
        assert ({one["reservation"]["name"] for one in document["items"]}, document["count"]) == (names, None)


@pytest.mark.slow
def test_boundaries_are_counted_in_order(serve: Serve) -> None:
    api = serve()
    created(api, "one")
    schedule = [
        {"start": iso(START), "end": iso(START + timedelta(hours=1)), "rate": "2 Mbit/s"},
        {"start": iso(START + timedelta(hours=1)), "end": iso(START + timedelta(hours=3)), "rate": "1 Mbit/s"},
    ]
    created(api, "two", schedule=schedule, rate=None, start=None, duration=None, destination="lbnl-premium:5002")
    created(api, "held", hold="PT5M", rate="1 Mbit/s", destination="lbnl-premium:5003")
    document = api.get("/v1/boundaries").json()
    assert [(one["at"], one["starting"], one["ending"], one["changing"]) for one in document["items"]] == [
        (iso(START), 2, 0, 0),
        (iso(START + timedelta(hours=1)), 0, 0, 1),
        (iso(START + timedelta(hours=2)), 0, 1, 0),
        (iso(START + timedelta(hours=3)), 0, 1, 0),
    ]
    boundaries, since = [], None
    while True:
        page = api.get("/v1/boundaries", params={"limit": 1, **({"from": since} if since else {})}).json()
        boundaries += page["items"]
        since = page["next"]
        if since is None:
            break
    assert boundaries == document["items"]


def test_a_boundary_has_its_devices_and_one_diff(serve: Serve) -> None:
    api = serve()
    created(api)
    document = api.get(f"/v1/boundaries/{iso(START)}").json()
    assert document["item"]["starting"] == ["hep/cms"]
    devices = {one["device"] for one in document["item"]["devices"]}
    assert devices == {"anl-7507-1", "anl-7507-2", "esnet-7507", "lbnl-7507"}
    lines = {line for group in document["groups"] for hunk in group["hunks"] for line in hunk["lines"]}
    assert any("slotcar hep/cms forward" in line for line in lines)
    nothing = api.get(f"/v1/boundaries/{iso(START + timedelta(minutes=1))}").json()
    assert (nothing["item"], nothing["groups"]) == (None, [])


def test_a_requester_sees_its_own_alone(as_: As) -> None:
    operator, mine = as_("ops", Role.OPERATOR), as_("cms", Role.REQUESTER)
    created(operator, "mine", rate="1 Mbit/s")
    created(operator, "theirs", rate="1 Mbit/s", owner="astro", destination="lbnl-premium:6123")
    end = START + timedelta(days=1)
    whole = operator.get("/v1/boundaries").json()["items"]
    assert [one["starting"] for one in whole] == [2, 0]
    assert [one["starting"] for one in mine.get("/v1/boundaries").json()["items"]] == [1, 0]
    boundary = mine.get(f"/v1/boundaries/{iso(START)}")
    assert boundary.json()["groups"] is None
    assert boundary.json()["item"]["starting"] == ["hep/mine"]
    assert "astro" not in boundary.text
    assert "6123" not in boundary.text
    used = {"from": iso(START), "until": iso(end)}
    assert {one["name"] for one in operator.get("/v1/usage", params=used).json()["items"]} == {"astro", "hep"}
    assert {one["name"] for one in mine.get("/v1/usage", params=used).json()["items"]} == {"hep"}
    problem(mine.get("/v1/usage", params=used | {"owner": "astro"}), 403, "not-allowed")
    assert mine.get("/v1/reservations", params={"counted": True}).json()["count"] == 1


def test_use_is_rate_times_time(serve: Serve) -> None:
    """Over the border of two months; what was cancelled counts until it was, and a hold not at all."""
    api = serve()
    year = datetime.now(UTC).year + 1
    border = datetime(year, 3, 1, tzinfo=UTC)
    over_the_border = {"start": iso(border - timedelta(hours=1)), "duration": "PT3H", "rate": "10 Mbit/s"}
    created(api, "one", **over_the_border, direction="both")
    cancelled = created(api, "two", **over_the_border, destination="lbnl-premium:5002")
    created(api, "held", **over_the_border, destination="lbnl-premium:5003", hold="PT5M")
    api.post(at(cancelled, "cancel")).raise_for_status()
    period = {"from": iso(datetime(year, 2, 1, tzinfo=UTC)), "until": iso(datetime(year, 4, 1, tzinfo=UTC))}

    def used(by: str) -> dict[tuple[str, str], int]:
        items = api.get("/v1/usage", params=period | {"by": by}).json()["items"]
        return {(one["month"][-2:], one["name"]): one["bits"] for one in items}

    hour = 3600 * 10_000_000
    assert used("owner") == {("02", "hep"): 2 * hour, ("03", "hep"): 4 * hour}
    assert used("domain") == {
        (month, name): times * hour for month, times in (("02", 2), ("03", 4)) for name in ("anl", "esnet", "lbnl")
    }
    sls = used("sls")
    assert {name for _, name in sls} == {
        "anl-esnet-ip-premium", "esnet-lbnl-ip-premium", "lbnl-esnet-ip-premium", "esnet-anl-ip-premium",
    }  # fmt: skip
    demand = next(one for one in api.get("/v1/reservations?name=one").json()["items"][0]["demands"]
                  if one["resource"] == SLS)  # fmt: skip
    assert sls["03", "anl-esnet-ip-premium"] == 2 * 3600 * demand["rate_bps"]


def test_use_of_an_sls_follows_amounts_that_change(serve: Serve) -> None:
    api = serve()
    schedule = [
        {"start": iso(START), "end": iso(START + timedelta(hours=1)), "rate": "2 Mbit/s"},
        {"start": iso(START + timedelta(hours=1)), "end": iso(START + timedelta(hours=3)), "rate": "1 Mbit/s"},
    ]
    entry = created(api, schedule=schedule, rate=None, start=None, duration=None)
    amounts = next(one["amounts"] for one in entry["demands"] if one["resource"] == SLS)
    period = {"from": iso(START - timedelta(days=1)), "until": iso(START + timedelta(days=1)), "by": "sls"}
    items = api.get("/v1/usage", params=period).json()["items"]
    total = sum(one["bits"] for one in items if one["name"] == SLS[4:])
    assert total == amounts[0] * 3600 + amounts[1] * 7200


@pytest.fixture
def overview(ledger: Ledger, network: Network, tmp_path: Path) -> Overview:
    return Overview(Desk(ledger, network, Settings(state_dir=tmp_path, inventory=GARNET)))


def fill(overview: Overview, first: int, count: int) -> None:
    now = datetime.now(UTC)
    for number in range(first, first + count):
        start = iso(START + timedelta(hours=3 * (number % 20)))
        document = body(f"n{number}", rate="1 Mbit/s", destination=f"lbnl-premium:{5000 + number}", start=start)
        Requests(overview.desk).create(from_mapping(document, now), OPERATOR, now)


def asked_of(overview: Overview) -> dict[str, list[str]]:
    """By question, what the ledger was asked for it. Once before, so that the slot tables are loaded."""
    now, desk = datetime.now(UTC), overview.desk
    month = Window(now, now + timedelta(days=30))
    questions = {
        "resources": lambda: overview.resources(ResourcePage(), month, OPERATOR, now),
        "boundaries": lambda: overview.boundaries(now, month.end, 50, OPERATOR),
        "boundary": lambda: overview.boundary(START, OPERATOR, now),
        "device states": lambda: overview.device_states(OPERATOR, None, now),
        "revisions": lambda: overview.revisions(None, 50, OPERATOR),
        "use": lambda: overview.usage("owner", month, OPERATOR),
        "use of domains": lambda: overview.usage("domain", month, OPERATOR),
        "use of SLSs": lambda: overview.usage("sls", month, OPERATOR),
        "reservations": lambda: Entries(desk).list(EntryFilter(since=now, newest=True, limit=50), OPERATOR),
        "counted": lambda: Entries(desk).page(EntryFilter(since=now, newest=True, limit=50), OPERATOR),
    }
    overview.resources(ResourcePage(), month, OPERATOR, now)
    sent = {}
    for name, ask in questions.items():
        with statements_of(desk.ledger) as statements:
            ask()
        sent[name] = statements
    return sent


def test_each_answer_takes_a_fixed_number_of_statements(overview: Overview) -> None:
    """However many reservations there are; pages of them have a limit."""
    fill(overview, 0, 3)
    few = {name: len(listed) for name, listed in asked_of(overview).items()}
    fill(overview, 3, 60)
    many = asked_of(overview)
    assert {name: len(listed) for name, listed in many.items()} == few
    assert max(few.values()) <= 8, many
    assert Entries(overview.desk).page(EntryFilter(), OPERATOR).count == 63 <= MOST_COUNTED
