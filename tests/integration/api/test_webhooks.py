"""Webhooks over the API and on the command line: from a secret in a file to a message that is signed with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.book.rules.roles import Role
from slotcar.store import Ledger
from slotcar.store.webhooks import Backlog
from tests.integration.api.conftest import GARNET, As, Serve, body, problem
from tests.integration.notify.conftest import dispatching, tell
from tests.support.controllers import Controller
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.receiver import SECRET, Receiver


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "webhook-secret"
    file.write_text(SECRET + "\n")
    return file


def webhook_document(url: str, secret_file: Path, *kinds: str) -> dict[str, Any]:
    return {"url": url, "secret": f"file:{secret_file}", "kinds": list(kinds)}


def test_one_is_added_tested_listed_and_removed(serve: Serve, secret_file: Path) -> None:
    api = serve()
    with Receiver() as receiver:
        added = api.post("/v1/webhooks", json=webhook_document(receiver.url, secret_file, "push."))
        assert added.status_code == 201, added.text
        hook = added.json()
        assert (hook["url"], hook["kinds"], hook["waiting"], hook["dead"]) == (receiver.url, ["push."], 0, 0)
        assert api.get("/v1/webhooks").json()["items"] == [hook]
        tested = api.post(f"/v1/webhooks/{hook['id']}/test").json()
        assert tested == {"delivered": True, "status": 204, "message": ""}
        (got,) = receiver.got
        assert got.signed_by(SECRET)
        assert json.loads(got.body)["type"] == "webhook.test"
    assert "could not be reached" in api.post(f"/v1/webhooks/{hook['id']}/test").json()["message"]
    assert api.delete(f"/v1/webhooks/{hook['id']}").json()["id"] == hook["id"]
    assert api.get("/v1/webhooks").json() == {"items": []}
    for method, path in (("POST", "/test"), ("DELETE", ""), ("GET", "/dead-letters")):
        problem(api.request(method, f"/v1/webhooks/{hook['id']}{path}"), 404, "unknown-webhook")


def test_what_is_wrong_is_named(serve: Serve, secret_file: Path) -> None:
    api = serve()
    good = webhook_document("https://example.net/", secret_file)
    for change, words in (
        ({"url": "ftp://example.net/"}, "http and https only"),
        ({"kinds": ["reservtion."]}, "no event's kind begins with reservtion."),
        ({"secret": SECRET}, "not the secret itself"),
        ({"secret": "file:/nowhere/at/all"}, "cannot be read"),
    ):
        document = problem(api.post("/v1/webhooks", json=good | change), 422, "invalid-input")
        assert words in document["detail"]
        assert SECRET not in json.dumps(document)
    assert problem(api.post("/v1/webhooks", json=good | {"retries": 3}), 422, "invalid-input")["errors"]
    assert api.get("/v1/webhooks").json() == {"items": []}
    hook = api.post("/v1/webhooks", json=good).json()["id"]
    answer = api.post(f"/v1/webhooks/{hook}/redeliver", json={"sequences": [7]})
    assert "7 is not a dead letter" in problem(answer, 409, "wrong-webhook")["detail"]


def test_dead_letters_are_listed_and_wait_again(serve: Serve, secret_file: Path, ledger: Ledger) -> None:
    api, status = serve(), [500]
    with Receiver(lambda _got: status[0]) as receiver, dispatching(ledger):
        hook = api.post("/v1/webhooks", json=webhook_document(receiver.url, secret_file)).json()["id"]
        for handle in ("r-a", "r-b"):
            tell(ledger, handle)
        wait_for(lambda: ledger.webhooks.backlogs().get(hook, Backlog()).dead == 2, "them to be given up")
        first, second = (
            api.get(f"/v1/webhooks/{hook}/dead-letters", params={"limit": 1, "after": after}).json()
            for after in (0, 1)
        )
        assert (first["next"], second["next"]) == ("1", None), "it goes on where the first page ends"
        assert [page["items"][0]["event"]["sequence"] for page in (first, second)] == [1, 2]
        (letter,) = first["items"]
        assert (letter["attempts"], letter["last_error"]) == (3, "answered 500")
        (listed,) = api.get("/v1/webhooks").json()["items"]
        assert (listed["dead"], listed["last_error"]) == (2, "answered 500")
        status[0] = 200
        assert api.post(f"/v1/webhooks/{hook}/redeliver", json={"sequences": [1, 2]}).json() == {"waiting": 2}
        wait_for(lambda: not ledger.webhooks.backlogs(), "it to be delivered")
    assert api.get(f"/v1/webhooks/{hook}/dead-letters").json() == {"items": [], "next": None}


def test_auditors_have_nothing_to_do_with_them(as_: As, secret_file: Path) -> None:
    api = as_("somebody", Role.AUDITOR)
    problem(api.get("/v1/webhooks"), 403, "not-allowed")
    problem(api.post("/v1/webhooks", json=webhook_document("https://example.net/", secret_file)), 403, "not-allowed")
    for method, path in (("POST", "/test"), ("DELETE", ""), ("GET", "/dead-letters")):
        problem(api.request(method, f"/v1/webhooks/wh-0{path}"), 403, "not-allowed")


@pytest.mark.slow
def test_a_running_controller_delivers_while_it_leads(
    database_url: str, tmp_path: Path, secret_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`slotcar serve` over routers that nobody answers for: it leads, and tells of the reservation that it admits."""
    monkeypatch.setenv("SLOTCAR_LAB_PORT_BASE", "0")
    inventory = GARNET.parent / "lab"
    with (
        Receiver() as receiver,
        Controller(tmp_path, inventory, SLOTCAR_DATABASE_URL=database_url) as controller,
        httpx.Client(base_url=f"http://127.0.0.1:{controller.port}", timeout=PATIENCE_S) as api,
    ):
        hook = api.post("/v1/webhooks", json=webhook_document(receiver.url, secret_file, "reservation.")).json()
        entry = api.post("/v1/reservations", json=body()).raise_for_status().json()
        wait_for(lambda: bool(receiver.got), "the reservation's event")
        assert receiver.got[0].signed_by(SECRET)
        assert receiver.got[0].data["handle"] == entry["handle"]
        shown = f"{hook}{api.get('/v1/webhooks').text}{controller.log.read_text(errors='replace')}"
    dump = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(dump) as connection:
        kept = str(connection.execute("SELECT to_jsonb(w) FROM webhook w").fetchall())
        kept += str(connection.execute("SELECT to_jsonb(e) FROM event e").fetchall())
    for place in (shown, kept):
        assert hook["id"] in place or "reservation.committed" in place
        assert SECRET.removeprefix("whsec_") not in place
