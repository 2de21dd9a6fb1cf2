"""Tokens of an issuer at the running API: what is taken, what is refused and why, and when its keys are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc.jwk import ECKey, OctKey

from slotcar.auth import provider
from slotcar.base.settings import Settings
from slotcar.network import load_network
from slotcar.store import open_ledger
from tests.integration.api.conftest import GARNET, Running, Serve, at, body, created, problem
from tests.integration.conftest import copied
from tests.support.clocks import stopped_at
from tests.support.issuers import AUDIENCE, TestIssuer, entry_of, inventory_with, issuing
from tests.support.patience import PATIENCE_S

NOW_S = int(datetime.now(UTC).timestamp())


@pytest.fixture
def home() -> Iterator[TestIssuer]:
    with issuing() as issuer:
        yield issuer


@pytest.fixture
def client(home: TestIssuer, serve: Serve, tmp_path: Path) -> httpx.Client:
    return serve(inventory_with(tmp_path, GARNET, entry_of(home.url)), open=False)


@pytest.fixture(scope="module")
def shared(
    server_url: str, migrated: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[TestIssuer, httpx.Client]]:
    """An issuer and an API for cases that change neither."""
    folder, running = tmp_path_factory.mktemp("issuer"), Running()
    with issuing() as issuer, copied(server_url, migrated) as url, open_ledger(url, folder) as ledger:
        inventory = inventory_with(folder, GARNET, entry_of(issuer.url))
        settings = Settings(state_dir=folder, inventory=inventory, open=False)
        yield issuer, running.start(ledger, load_network(inventory, None), settings)
        running.stop()


def get(client: httpx.Client, token: str, path: str = "/v1/whoami") -> httpx.Response:
    return client.get(path, headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA", "Ed25519"])
def test_whoever_an_issuer_names_is_known(algorithm: str, home: TestIssuer, client: httpx.Client) -> None:
    home.rotate(algorithm, "k")
    who = get(client, home.token(**{"wlcg.groups": ["/cms"]})).json()
    assert (who["name"], who["role"], who["owner"]) == ("ann@home", "requester", "hep")
    assert who["proof"] == f"subject ann of {home.url}"


def test_what_is_done_says_who_and_by_which_proof(home: TestIssuer, client: httpx.Client) -> None:
    client.headers["Authorization"] = f"Bearer {home.token('robot-1', **{'wlcg.groups': ['/cms']})}"
    entry = created(client)
    assert client.post(at(entry, "cancel"), headers={"If-Match": "*"}).status_code == 200
    operator = f"Bearer {home.token('eve', **{'wlcg.groups': ['/noc']})}"
    events = client.get("/v1/events", headers={"Authorization": operator}).json()["items"]
    recorded = {(one["kind"], one["details"]["actor"], one["details"]["proof"]) for one in events}
    proof = f"subject robot-1 of {home.url}"
    assert recorded == {
        ("reservation.committed", "robot-1@home", proof),
        ("reservation.cancelled", "robot-1@home", proof),
    }
    own = client.get("/v1/events").json()["items"]
    assert all("proof" not in one["details"] for one in own), "an owner is told who, and operators by which proof too"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"exp": NOW_S - 3600}, "it is over"),
        ({"exp": None}, "it has no end"),
        ({"exp": "tomorrow"}, "its `exp` is no instant"),
        ({"nbf": NOW_S + 3600}, "it has not begun"),
        ({"iat": NOW_S + 3600}, "it has not begun"),
        ({"aud": "https://other.example.net"}, "it is for https://other.example.net"),
        ({"aud": None}, "it is for None"),
        ({"iss": "https://other.example.net"}, "its issuer is not on this controller's list"),
        ({"nonce": "n"}, "an ID token says who signed in"),
        ({"at_hash": "n"}, "an ID token says who signed in"),
        ({"sub": None}, "it has no `sub`"),
        ({"header": {"typ": "JWT"}}, "its `typ` is jwt"),
        ({"header": {"typ": None}}, "it is no access token"),
        ({"header": {"kid": "another"}}, "no key that it names"),
        ({"header": {"alg": "none"}}, "it is signed by none"),
        ({"header": {"alg": "HS256"}, "key": OctKey.import_key("s" * 32)}, "it is signed by HS256"),
        ({"key": ECKey.generate_key("P-256", {"alg": "ES256"})}, "its signature is not home's"),
    ],
    ids=lambda value: value if isinstance(value, str) else "token",  # what is of this instant differs between workers
)
def test_what_is_not_in_order_is_refused_with_a_reason(
    change: dict[str, Any], why: str, shared: tuple[TestIssuer, httpx.Client]
) -> None:
    home, client = shared
    document = problem(get(client, home.token(**change)), 401, "unauthenticated")
    assert why in document["detail"]


def test_a_clock_that_is_a_little_off_does_no_harm(shared: tuple[TestIssuer, httpx.Client]) -> None:
    home, client = shared
    now = datetime.now(UTC).replace(microsecond=0)
    now_s = int(now.timestamp())
    with stopped_at(now):
        assert get(client, home.token(exp=now_s - 29, iat=now_s - 600)).status_code == 200, "within the leeway of 30 s"
        assert get(client, home.token(iat=now_s + 30, nbf=now_s + 30)).status_code == 200
        assert get(client, home.token(exp=now_s - 30)).status_code == 401
        assert get(client, home.token(nbf=now_s + 31)).status_code == 401


def test_an_audience_may_be_of_several(shared: tuple[TestIssuer, httpx.Client]) -> None:
    home, client = shared
    assert get(client, home.token(aud=["https://other.example.net", AUDIENCE])).status_code == 200


def test_keys_are_fetched_once_and_again_for_a_new_one(
    home: TestIssuer, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "SOONEST_S", 1e9)
    for _ in range(3):
        assert get(client, home.token()).status_code == 200
    assert home.requested == ["/.well-known/openid-configuration", "/keys"]
    for _ in range(5):
        assert get(client, home.token(header={"kid": "made-up"})).status_code == 401
    assert len(home.requested) == 2, "made-up keys have it asked no sooner"
    old = home.token()
    home.rotate("RS256", "second")
    monkeypatch.setattr(provider, "SOONEST_S", 0.0)
    assert get(client, home.token()).status_code == 200
    assert len(home.requested) == 4
    assert get(client, old).status_code == 401, "the issuer has taken its key back"


def test_an_issuer_that_is_down_keeps_nobody_out_who_is_known(
    home: TestIssuer, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = home.token()
    assert get(client, token).status_code == 200
    home.answers = False
    monkeypatch.setattr(provider, "SOONEST_S", 0.0)
    monkeypatch.setattr(provider, "FRESH_S", 0.0)
    before = len(home.requested)
    for _ in range(3):
        assert get(client, token).status_code == 200
    assert get(client, home.token(header={"kid": "made-up"})).status_code == 401
    assert len(home.requested) > before


def test_an_issuer_that_was_never_reached_is_told(home: TestIssuer, client: httpx.Client) -> None:
    home.answers = False
    document = problem(get(client, home.token()), 503, "unavailable")
    assert "the keys of home cannot be had now" in document["detail"]


def test_hashed_tokens_stay(home: TestIssuer, client: httpx.Client, tmp_path: Path) -> None:
    from slotcar.auth.tokens import create_token
    from slotcar.book.rules.roles import Role

    secret = create_token(tmp_path / "tokens.json", "cms", Role.REQUESTER, "hep", datetime.now(UTC))
    assert get(client, secret).json()["proof"] == "token cms"
    assert get(client, "a.b.c").status_code == 401
    assert get(client, "x" * 13_000 + ".b.c").status_code in (401, 431, 400)
    assert home.requested == []


def test_programs_of_another_site_reserve_with_their_own_issuers_tokens(
    home: TestIssuer, serve: Serve, tmp_path: Path
) -> None:
    with issuing() as other:
        entries = [entry_of(home.url), entry_of(other.url, "cern", owners={"atlas": ["/atlas"]}, roles=None)]
        client = serve(inventory_with(tmp_path, GARNET, *entries), open=False)
        client.headers["Authorization"] = f"Bearer {other.token('transfers', **{'wlcg.groups': ['/atlas', '/noc']})}"
        assert client.get("/v1/whoami").json()["role"] == "requester", "what another issuer calls /noc is not ours"
        entry = created(client, "far", owner="atlas")
        assert entry["reservation"]["owner"] == "atlas"
        assert client.post("/v1/reservations", json=body("near", owner="hep")).status_code == 403
        forged = other.token("ann", iss=home.url, **{"wlcg.groups": ["/noc"]})
        assert get(client, forged).status_code == 401, "signed by one issuer in the name of another"


def test_a_stream_ends_with_its_token(home: TestIssuer, client: httpx.Client) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    headers = {"Authorization": f"Bearer {home.token(exp=int(now.timestamp()), iat=int(now.timestamp()) - 600)}"}
    with stopped_at(now), client.stream("GET", "/v1/events/stream", headers=headers, timeout=PATIENCE_S) as answer:
        assert answer.status_code == 200
        with stopped_at(now + timedelta(seconds=30)):  # of its leeway
            assert [line for line in answer.iter_lines() if line.startswith("data")] == []
