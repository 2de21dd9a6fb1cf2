"""Pages behind a TLS proxy: its word counts where the operator has named it, and what is wrong is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from slotcar.auth.tokens import create_token
from slotcar.book.rules.roles import Role
from slotcar.web.app import create_app
from tests.integration.api.conftest import Serve, serve
from tests.support.controllers import NO_TLS
from tests.support.patience import PATIENCE_S

__all__ = ["serve"]
#: Of this machine, and so a peer that a test can be.
PROXY, OTHER = "127.0.0.2", "127.0.0.3"


@contextmanager
def signed_in(api: httpx.Client, token: str, peer: str, **forwarded: str) -> Iterator[tuple[httpx.Client, str]]:
    """A client that comes from `peer` with these headers, and the cookie that it was given."""
    headers = {"Origin": str(api.base_url).rstrip("/")} | {
        f"X-Forwarded-{name.title()}": value for name, value in forwarded.items()
    }
    transport = httpx.HTTPTransport(verify=NO_TLS, local_address=peer)
    with httpx.Client(base_url=api.base_url, headers=headers, transport=transport, timeout=PATIENCE_S) as client:
        answer = client.post("/sign-in", data={"token": token})
        assert answer.status_code == 303
        yield client, answer.headers["set-cookie"]


@pytest.fixture
def token(tmp_path: Path) -> str:
    return create_token(tmp_path / "tokens.json", "ops", Role.OPERATOR, "ops", datetime.now(UTC))


def warnings(api: httpx.Client, token: str | None = None) -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = api.get("/readyz", headers=headers)
    assert answer.status_code == 200, "it makes nothing unready"
    return "\n".join(check["message"] for check in answer.json()["checks"] if check["name"] == "proxy")


@pytest.mark.parametrize("trusted", [PROXY, "10.0.0.0/8, 127.0.0.2/32"])
def test_the_cookie_goes_over_tls_alone_behind_a_proxy_that_the_operator_named(
    serve: Serve, token: str, trusted: str
) -> None:
    api = serve(open=False, trusted_proxies=trusted, how={"application": create_app})
    with signed_in(api, token, PROXY, proto="https", **{"for": "192.0.2.7"}) as (_, cookie):
        assert cookie.startswith("__Host-slotcar-session=")
        assert "Secure" in cookie
    assert warnings(api, token) == ""


def test_the_word_of_others_does_not_count_and_is_told(serve: Serve, token: str) -> None:
    api = serve(open=False, trusted_proxies=PROXY, how={"application": create_app})
    with signed_in(api, token, OTHER, proto="https", **{"for": "192.0.2.7"}) as (_, cookie):
        assert cookie.startswith("slotcar-session=")
        assert "Secure" not in cookie
    message = warnings(api, token)
    assert f"no trusted proxy are not believed (last of {OTHER})" in message
    assert "name it in SLOTCAR_TRUSTED_PROXIES" in message
    assert OTHER not in warnings(api), "whose, only who may see devices is told"


def test_credentials_in_clear_beyond_this_machine_are_told(serve: Serve, token: str) -> None:
    api = serve(open=False, trusted_proxies=PROXY, how={"application": create_app})
    assert api.get("/v1/whoami", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert warnings(api, token) == "", "from this machine it crosses no network"
    with signed_in(api, token, PROXY, **{"for": "192.0.2.7"}) as (client, cookie):
        assert "Secure" not in cookie, "the proxy does not say that there is TLS"
        assert client.get("/").status_code == 200
    assert "cross a network in clear (last of 192.0.2.7)" in warnings(api, token)
