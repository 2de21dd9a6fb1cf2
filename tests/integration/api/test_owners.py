"""Owners are told of their own reservations: events, the stream of them, the timeline, and webhooks; of others nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.auth.tokens import create_token
from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.rules import request_limits
from slotcar.book.rules.roles import Role
from slotcar.notify.errors import SecretUnusable
from slotcar.notify.signing import DerivedSecrets
from slotcar.store import Ledger
from tests.integration.api.conftest import START, As, Body, Serve, at, created, problem
from tests.integration.notify.conftest import dispatching
from tests.support.controllers import NO_TLS
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.receiver import Receiver

Clients = Callable[..., dict[str, httpx.Client]]
THEIRS = {"owner": None, "destination": "lbnl-premium:5002"}

#: A page without boundaries.
NOTHING = {"items": [], "next": None}


@pytest.fixture
def hep(as_: As) -> httpx.Client:
    return as_("hep", Role.REQUESTER)


@pytest.fixture
def astro(as_: As) -> httpx.Client:
    return as_("astro", Role.REQUESTER, "astro")


def handles(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["handle"] for one in answer.json()["items"]]


def test_an_owner_reads_the_events_of_its_own(hep: httpx.Client, astro: httpx.Client, ledger: Ledger) -> None:
    mine, theirs = created(hep, labels={"run": "7"}), created(astro, **THEIRS)
    second = created(hep, "second", destination="lbnl-premium:5003")
    ledger.append_event("push.verified", datetime.now(UTC), device="anl-7507-1", details={"secret": "of devices"})
    ledger.append_event("push.withheld", datetime.now(UTC), handle=mine["handle"], details={"devices": ["anl-7507-1"]})
    own = [mine["handle"], second["handle"], mine["handle"]]
    assert handles(hep.get("/v1/events")) == own
    assert handles(hep.get("/v1/events", params={"newest": "true"})) == own[::-1]
    assert handles(hep.get("/v1/events", params={"name": "second"})) == own[1:2]
    assert handles(hep.get("/v1/events", params={"label": "run=7"})) == [own[0], own[2]]
    assert handles(hep.get("/v1/events", params={"label": "run=8"})) == []
    assert handles(hep.get("/v1/events", params={"reservation": mine["handle"], "kind": "push."})) == own[2:]
    assert handles(astro.get("/v1/events")) == [theirs["handle"]]
    for params in ({"owner": "astro"}, {"name": "cms", "owner": "astro"}):
        assert handles(hep.get("/v1/events", params=params)) == []
    problem(hep.get("/v1/events", params={"reservation": theirs["handle"]}), 404, "unknown-reservation")
    problem(hep.get("/v1/events", params={"device": "anl-7507-1"}), 403, "not-allowed")


def test_events_are_paged_the_newest_first_and_between_two_times(api: httpx.Client) -> None:
    """Filters of the log of everybody, as an operator has it; another test may have written before."""
    before = iso(datetime.now(UTC))
    names = [
        created(api, f"n{number}", rate="1 Mbit/s", destination=f"lbnl-premium:61{number:02}") for number in range(5)
    ]
    wanted: dict[str, Any] = {"newest": "true", "limit": 2, "from": before, "kind": "reservation.committed"}
    handles, after = [], 0
    while page := api.get("/v1/events", params=wanted | {"after": after}).json():
        if not page["items"]:
            break
        handles += [one["handle"] for one in page["items"]]
        after = page["next"]
    assert handles == [one["handle"] for one in names][::-1]
    assert api.get("/v1/events", params={"until": before, "from": before}).json()["items"] == []
    answer = api.get("/v1/events", params={"newest": "true"}, headers={"Accept": "text/event-stream"})
    assert "newest: cannot be used with an event stream" in problem(answer, 422, "invalid-input")["detail"]


def test_reservations_are_listed_the_newest_first_and_between_two_times(api: httpx.Client) -> None:
    later = START + timedelta(days=2)
    early, late = created(api, "early"), created(api, "late", start=iso(later))
    live: dict[str, Any] = {"state": "committed"}
    assert handles(api.get("/v1/reservations", params=live | {"newest": "true"})) == [late["handle"], early["handle"]]
    page = api.get("/v1/reservations", params=live | {"newest": "true", "limit": 1}).json()
    following = api.get("/v1/reservations", params=live | {"newest": "true", "limit": 1, "after": page["next"]})
    assert handles(following) == [early["handle"]]
    assert handles(api.get("/v1/reservations", params=live | {"from": iso(later)})) == [late["handle"]]
    assert handles(api.get("/v1/reservations", params=live | {"until": iso(later)})) == [early["handle"]]
    assert handles(api.get("/v1/reservations", params=live | {"name": "late"})) == [late["handle"]]


@pytest.mark.parametrize(
    "path", ["/v1/reservations", "/v1/events", "/v1/events/stream", "/v1/timeline", "/v1/webhooks", "/v1/controller"]
)
def test_a_parameter_that_is_not_known_is_an_error_everywhere(api: httpx.Client, path: str) -> None:
    document = problem(api.get(path, params={"nmae": "cms"}), 422, "invalid-input")
    assert document["errors"][0]["key"] == "nmae"


def test_an_owner_follows_its_own(hep: httpx.Client, astro: httpx.Client) -> None:
    with hep.stream("GET", "/v1/events/stream", params={"after": 0}) as stream:
        lines = stream.iter_lines()
        theirs = created(astro, **THEIRS)
        mine = created(hep)
        events = data_of(lines)
        assert next(events)["handle"] == mine["handle"]
        astro.post(at(theirs, "cancel")).raise_for_status()
        hep.post(at(mine, "cancel")).raise_for_status()
        cancelled = next(events)
        assert (cancelled["handle"], cancelled["kind"]) == (mine["handle"], "reservation.cancelled")


def data_of(lines: Iterator[str]) -> Iterator[Body]:
    for line in lines:
        if line.startswith("data:"):
            yield json.loads(line.removeprefix("data:"))


@pytest.mark.slow
def test_an_owners_timeline_has_its_own_boundaries_devices_and_counts(
    hep: httpx.Client, astro: httpx.Client, as_: As, ledger: Ledger
) -> None:
    mine, theirs = created(hep), created(astro, "other", **THEIRS)
    later = created(astro, "later", **THEIRS | {"start": iso(START + timedelta(hours=5))})
    assert theirs["reservation"]["windows"] == mine["reservation"]["windows"]
    for device, words in (("esnet-7507", "astro has a line here"), ("lbnl-7507", "")):
        details = {"at": iso(START), "devices": [device], "message": words, "lag_us": 4000}
        ledger.append_event("boundary.failed", datetime.now(UTC), device=device, details=details)
    ledger.append_event("boundary.failed", datetime.now(UTC), device="cern-gsr", details={"at": iso(START)})
    items = hep.get("/v1/timeline").json()["items"]
    assert [(one["starting"], one["ending"], one["active"]) for one in items] == [
        (["hep/cms"], [], 1), ([], ["hep/cms"], 0),
    ]  # fmt: skip
    own = {hop["device"] for path in mine["paths"] for hop in path["hops"]}
    first = {one["device"]: one for one in items[0]["devices"]}
    assert set(first) <= own
    assert (first["esnet-7507"]["phase"], first["esnet-7507"]["message"]) == ("failed", "")
    assert hep.get("/v1/timeline", params={"name": "other"}).json() == NOTHING
    problem(hep.get("/v1/timeline", params={"reservation": later["handle"]}), 404, "unknown-reservation")
    assert hep.get("/v1/timeline", params={"device": "nowhere"}).json() == NOTHING
    operator = as_("ops", Role.OPERATOR).get("/v1/timeline", params={"owner": "astro"}).json()["items"]
    assert [one["starting"] for one in operator] == [["astro/other"], [], ["astro/later"], []]
    assert operator[0]["active"] == 2
    assert "astro has a line here" in json.dumps(operator)


def test_a_time_that_ends_before_it_begins_has_no_boundaries(api: httpx.Client) -> None:
    assert api.get("/v1/timeline", params={"until": "2000-01-01T00:00:00Z"}).json() == NOTHING


def test_a_timeline_comes_in_pages(hep: httpx.Client) -> None:
    created(hep, recurrence="FREQ=DAILY;COUNT=9", duration="PT1H")
    params: dict[str, Any] = {"until": iso(START + timedelta(days=10))}
    whole = hep.get("/v1/timeline", params=params).json()
    assert (len(whole["items"]), whole["next"]) == (18, None)
    items: list[Any] = []
    for _ in range(4):
        page = hep.get("/v1/timeline", params=params | {"limit": 5}).json()
        items += page["items"]
        params["from"] = page["next"]
    assert (items, page["next"]) == (whole["items"], None)


def test_a_requesters_timeline_reads_so_many_reservations_and_no_more(
    hep: httpx.Client, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_limits, "MOST_ENTRIES", 2)
    for number in range(3):
        created(hep, f"one-{number}", destination=f"lbnl-premium:{6000 + number}", rate="1 Mbit/s")
    detail = problem(hep.get("/v1/timeline"), 422, "invalid-input")["detail"]
    assert "until: there are more than 2 reservations in this time; ask for a shorter time" in detail
    assert hep.get("/v1/timeline", params={"until": iso(START - timedelta(minutes=1))}).json() == NOTHING
    assert len(as_("ops", Role.OPERATOR).get("/v1/timeline").json()["items"]) == 2


def test_the_owner_of_a_background_reservation_sees_its_rate_change(hep: httpx.Client, astro: httpx.Client) -> None:
    """Others are read for it, and nothing is told of them."""
    created(hep, share={"weight": 2}, rate=None)
    created(astro, "other", **THEIRS | {"start": iso(START + timedelta(minutes=30)), "duration": "PT30M"})
    items = hep.get("/v1/timeline").json()["items"]
    assert [one["changing"] for one in items] == [[], ["hep/cms"], ["hep/cms"], []]
    assert "astro" not in json.dumps(items)


# -- webhooks ------------------------------------------------------------------------------------------------------


@pytest.fixture
def clients(serve: Serve, tmp_path: Path) -> Iterator[Clients]:
    """Starts one API with settings of the test's choice; a client for each of two owners and for an operator."""
    opened: dict[str, httpx.Client] = {}

    def start(**settings: Any) -> dict[str, httpx.Client]:
        anyone, now = serve(open=False, **settings), datetime.now(UTC)
        for name, role in (("hep", Role.REQUESTER), ("astro", Role.REQUESTER), ("ops", Role.OPERATOR)):
            token = create_token(tmp_path / "tokens.json", name, role, name, now)
            headers = {"Authorization": f"Bearer {token}"}
            opened[name] = httpx.Client(base_url=anyone.base_url, timeout=PATIENCE_S, headers=headers, verify=NO_TLS)
        return opened

    yield start
    for client in opened.values():
        client.close()


def test_an_owners_webhook_gets_its_own_events_signed_by_a_secret_that_is_said_once(
    clients: Clients, ledger: Ledger, tmp_path: Path
) -> None:
    who = clients(webhook_hosts="127.0.0.1")
    derived = DerivedSecrets(tmp_path / "webhook-key")
    with Receiver() as receiver, dispatching(ledger, derived=derived):
        hook = who["hep"].post("/v1/webhooks", json={"url": receiver.url, "kinds": ["reservation."]}).json()
        secret = hook["signing_secret"]
        assert (hook["owner"], hook["secret"]) == ("hep", "derived")
        created(who["astro"], **THEIRS)
        mine = created(who["hep"])
        ledger.append_event("push.verified", datetime.now(UTC), device="anl-7507-1")
        who["hep"].post(at(mine, "cancel")).raise_for_status()
        wait_for(lambda: len(receiver.got) == 2, "the events of its own reservation")
        assert [json.loads(one.body)["data"]["handle"] for one in receiver.got] == [mine["handle"]] * 2
        assert all(one.signed_by(secret) for one in receiver.got)
        assert who["hep"].post(f"/v1/webhooks/{hook['id']}/test").json()["delivered"]
    (listed,) = who["hep"].get("/v1/webhooks").json()["items"]
    assert (listed["signing_secret"], listed["waiting"], listed["dead"]) == (None, 0, 0)
    assert (tmp_path / "webhook-key").stat().st_mode & 0o777 == 0o600
    assert who["astro"].get("/v1/webhooks").json() == {"items": []}
    for method, path in (("DELETE", ""), ("POST", "/test"), ("GET", "/dead-letters")):
        problem(who["astro"].request(method, f"/v1/webhooks/{hook['id']}{path}"), 404, "unknown-webhook")
    assert [one["id"] for one in who["ops"].get("/v1/webhooks").json()["items"]] == [hook["id"]]
    with pytest.raises(SecretUnusable, match="SLOTCAR_WEBHOOK_KEY_FILE"):
        DerivedSecrets(tmp_path / "another-key").keys(hook["id"], derived.place(hook["id"]))


@pytest.mark.in_short("-document0-are sent to no host")
@pytest.mark.parametrize(
    ("hosts", "document", "words"),
    [
        ("", {}, "are sent to no host"),
        ("hooks.example.org", {}, "to one of hooks.example.org (SLOTCAR_WEBHOOK_HOSTS), not to example.net"),
        ("example.net", {"secret": "file:/etc/passwd"}, "leave it out"),
        ("example.net", {"url": "http://example.net@127.0.0.1/"}, "a user or a password"),
        ("example.net", {"url": "http://127.0.0.1:8470/"}, "not to 127.0.0.1"),
    ],
)
def test_an_owner_names_neither_any_address_nor_any_file_of_the_controller(
    clients: Clients, hosts: str, document: Body, words: str
) -> None:
    hep = clients(webhook_hosts=hosts)["hep"]
    answer = hep.post("/v1/webhooks", json={"url": "https://example.net/"} | document)
    assert answer.status_code in (409, 422)
    assert words in answer.json()["detail"]


@pytest.mark.slow
def test_an_owner_has_few_webhooks(clients: Clients) -> None:
    who = clients(webhook_hosts="example.net")
    url = {"url": "https://example.net/"}
    for _ in range(5):
        assert who["hep"].post("/v1/webhooks", json=url).status_code == 201
    assert (
        "5 webhooks of owner hep" in problem(who["hep"].post("/v1/webhooks", json=url), 409, "wrong-webhook")["detail"]
    )
    assert who["astro"].post("/v1/webhooks", json=url).status_code == 201
    assert who["ops"].post("/v1/webhooks", json=url).json()["signing_secret"].startswith("whsec_")


def test_settings_of_webhooks_are_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_WEBHOOK_HOSTS", "Hooks.example.org, [::1]")
    assert Settings().webhook_hosts == ("Hooks.example.org", "[::1]")
