"""Sessions: opened with a token, kept by a cookie that no script reads, and over with the token."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from slotcar.auth.sessions import IDLE, Sessions
from slotcar.auth.signing_in import MOST
from slotcar.auth.tokens import TokenStore, create_token, digest, revoke_token
from slotcar.book.rules.roles import Role
from slotcar.store import Ledger
from slotcar.store.sign_ins import PendingSignIn, SignInStore
from slotcar.web.signing_in import own_address
from tests.integration.web.conftest import Site

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def sessions(ledger: Ledger, tmp_path: Path) -> Sessions:
    return Sessions(ledger.sessions, TokenStore(tmp_path / "tokens.json"))


@pytest.fixture
def token(tmp_path: Path) -> str:
    return create_token(tmp_path / "tokens.json", "cms", Role.REQUESTER, "hep", NOW, NOW + timedelta(days=2))


def test_a_session_stands_for_its_token(sessions: Sessions, token: str, tmp_path: Path) -> None:
    assert sessions.sign_in("slotcar_wrong", NOW) is None
    session_id = sessions.sign_in(token, NOW, "Europe/Zurich")
    assert session_id is not None
    signed = sessions.find(session_id, NOW)
    assert signed is not None
    assert (signed.caller.name, signed.caller.role, signed.caller.owner) == ("cms", Role.REQUESTER, "hep")
    assert signed.session.zone == "Europe/Zurich"
    assert sessions.find(session_id + "x", NOW) is None
    revoke_token(tmp_path / "tokens.json", "cms")
    create_token(tmp_path / "tokens.json", "cms", Role.OPERATOR, "hep", NOW)
    assert sessions.find(session_id, NOW) is None, "a new token of the same name is another one"
    assert sessions.store.of_token("cms") == ()


def test_only_a_hash_is_kept(sessions: Sessions, token: str, database_url: str) -> None:
    session_id = sessions.sign_in(token, NOW)
    assert session_id is not None
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT * FROM web_session").fetchall()
    assert session_id not in str(rows)
    assert token not in str(rows)
    assert rows[0][0] == digest(session_id)
    assert len(session_id) >= 43, "256 bits"


def test_a_session_is_over_when_nobody_has_come_for_long(sessions: Sessions, token: str) -> None:
    session_id = sessions.sign_in(token, NOW) or ""
    later = NOW + IDLE - timedelta(minutes=1)
    assert sessions.find(session_id, later) is not None
    assert sessions.find(session_id, later + IDLE - timedelta(minutes=1)) is not None, "each visit counts"
    assert sessions.find(session_id, later + 2 * IDLE) is None
    again = sessions.sign_in(token, NOW) or ""
    assert sessions.find(again, NOW + timedelta(days=3)) is None, "the token has expired"


def test_old_sessions_are_forgotten(sessions: Sessions, token: str) -> None:
    sessions.sign_in(token, NOW)
    sessions.sign_in(token, NOW + timedelta(minutes=5))
    sessions.sign_in(token, NOW + IDLE + timedelta(minutes=2))
    assert len(sessions.store.of_token("cms")) == 2


def test_the_cookie_is_for_this_site_and_no_script(site: Site) -> None:
    client = site.client()
    answer = client.post("/sign-in", data={"token": site.tokens["operator"], "next": "/usage?by=sls"})
    assert answer.headers["location"] == "/usage?by=sls"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("slotcar-session=")
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= {part.strip() for part in cookie.split(";")}
    assert "Secure" not in cookie
    tls = site.client().post(
        "/sign-in", data={"token": site.tokens["operator"]},
        headers={"X-Forwarded-Proto": "https", "Origin": site.base_url.replace("http:", "https:")},
    )  # fmt: skip
    assert tls.headers["set-cookie"].startswith("__Host-slotcar-session=")
    assert "Secure" in tls.headers["set-cookie"]


def test_a_second_sign_in_ends_the_session_before(site: Site) -> None:
    client = site.signed_in("operator")
    before = client.cookies["slotcar-session"]
    assert client.post("/sign-in", data={"token": "slotcar_wrong"}).status_code == 403
    assert client.get("/reservations").status_code == 200, "a sign-in that fails ends nothing"
    assert client.post("/sign-in", data={"token": site.tokens["requester"]}).status_code == 303
    assert client.get("/reservations").status_code == 200
    thief = site.client()
    thief.cookies.set("slotcar-session", before)
    assert thief.get("/reservations").status_code == 303, "nobody could end it any more"


def test_a_wrong_token_is_told(site: Site) -> None:
    answer = site.client().post("/sign-in", data={"token": "slotcar_wrong", "next": "//example.com"})
    assert (answer.status_code, "This is not a token of this controller" in answer.text) == (403, True)
    assert 'name="next" value="/"' in answer.text
    assert "set-cookie" not in answer.headers


def test_the_cookie_counts_for_pages_alone(site: Site) -> None:
    operator = site.signed_in("operator")
    assert operator.get("/reservations").status_code == 200
    for path in ("/v1/reservations", "/v1/whoami"):
        assert operator.get(path).status_code == 401


def test_a_session_that_was_ended_is_led_to_the_sign_in(site: Site) -> None:
    operator, other = site.signed_in("operator"), site.signed_in("operator")
    assert operator.post("/sign-out").headers["location"] == "/sign-in"
    assert operator.get("/", follow_redirects=False).headers["location"] == "/sign-in?next=%2F"
    assert other.get("/").status_code == 200
    part = site.client().get("/home/now", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-redirect"]) == (401, "/sign-in")
    third = site.signed_in("operator")
    assert "another" in third.get("/account").text
    assert third.post("/account/end-sessions").status_code == 303
    assert other.get("/").status_code == 303


def test_one_zone_a_session(site: Site) -> None:
    operator, other = site.signed_in("operator"), site.signed_in("operator")
    operator.post("/account/zone", data={"zone": "America/New_York"})
    assert "Times in America/New_York, UTC-0" in operator.get("/").text
    assert "Times in UTC" in other.get("/").text
    wrong = operator.post("/account/zone", data={"zone": "Mars/Olympus"})
    assert (wrong.status_code, "is no time zone" in wrong.text) == (422, True)


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("/usage?by=sls", "/usage?by=sls"), ("//example.com", "/"), ("/\\example.com", "/"), ("https://example.com", "/"),
        ("", "/"), ("/a\nb", "/"), ("javascript:alert(1)", "/"),
    ],
)  # fmt: skip
def test_a_sign_in_leads_back_to_this_site_alone(address: str, own: str) -> None:
    assert own_address(address) == own


def test_who_signs_in_says_in_which_zone_times_are_shown(site: Site) -> None:
    client = site.client()
    assert re.search(r'<input name="zone"[^>]* value="UTC"', client.get("/sign-in").text), (
        "a browser without a script says nothing"
    )
    data = {"token": site.tokens["operator"], "zone": "Europe/Zurich"}
    assert client.post("/sign-in", data=data).status_code == 303
    assert "Europe/Zurich, UTC+0" in client.get("/").text
    refused = site.client().post("/sign-in", data=data | {"zone": "Europe/Nowhere"})
    assert (refused.status_code, "is no time zone" in refused.text) == (422, True)
    assert "data-own-zone" not in refused.text, "the script would fill in the same again"


def test_of_too_many_sign_ins_the_oldest_give_way(ledger: Ledger) -> None:
    """And those that are over before: somebody who begins many keeps nobody out who has just begun."""
    store, minute = SignInStore(ledger.sign_ins.engine, most=3), timedelta(minutes=1)

    def begin(number: int) -> None:
        begun_at = NOW + number * minute
        pending = PendingSignIn(digest(str(number)), "state", "home", "nonce", "verifier", "/", "UTC", begun_at)
        store.add(pending, begun_at - MOST)

    for number in range(5):
        begin(number)
    assert [store.take(digest(str(number))) is not None for number in (0, 1)] == [False, False]
    assert store.take(digest("4")) is not None
    begin(5)
    begin(30)
    assert [store.take(digest(str(number))) is not None for number in (2, 3, 5, 30)] == [False, False, False, True]


def test_a_token_with_scopes_opens_no_session(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    narrow = create_token(file, "reader", Role.REQUESTER, "hep", NOW, scopes=["reservations:read"])
    sessions = Sessions(ledger.sessions, TokenStore(file))
    assert sessions.sign_in(narrow, NOW) is None
