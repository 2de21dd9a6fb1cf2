"""A real provider's tokens: a program's, a person's by the device flow from the command line, renewed, and refused."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from slotcar.auth import provider as auth_provider
from slotcar.cli.place import choose_context
from slotcar_client import Slotcar, signing_in
from slotcar_client.signing_in import DeviceCode, NotSignedIn, TokenKeeper, begin, offered_issuers, wait
from tests.integration.api.conftest import GARNET, Serve, created
from tests.support.command_line import Cli, in_this_process
from tests.support.issuers import entry_of, inventory_with
from tests.support.patience import PATIENCE_S
from tests.support.provider import Provider, confirm_device, new_key

CLI_CLIENT = {"client_id": "cli", "scopes": ["openid", "offline_access", "slotcar"]}


@pytest.fixture
def home() -> Iterator[Provider]:
    provider = Provider(groups={"transfers": ["/cms"], "ann": ["/cms"], "eve": ["/noc"]})
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture
def client(home: Provider, serve: Serve, tmp_path: Path) -> httpx.Client:
    entry = entry_of(home.url, cli=CLI_CLIENT, scope="slotcar")
    return serve(inventory_with(tmp_path, GARNET, entry), open=False)


def status_of(client: httpx.Client, token: str) -> int:
    return client.get("/v1/whoami", headers={"Authorization": f"Bearer {token}"}).status_code


def signed_in(home: Provider, client: httpx.Client, person: str) -> signing_in.KeptTokens:
    api = str(client.base_url)
    (at,) = offered_issuers(api)
    code = begin(at)
    confirm_device(code.whole_address, person)
    return wait(code, api, sleep=lambda _s: None)


def test_a_program_reserves_with_its_own_token(home: Provider, client: httpx.Client) -> None:
    client.headers["Authorization"] = f"Bearer {home.program_token()}"
    who = client.get("/v1/whoami").json()
    assert (who["name"], who["owner"], who["proof"]) == ("transfers@home", "hep", f"subject transfers of {home.url}")
    assert created(client)["reservation"]["owner"] == "hep"
    assert client.get("/v1/network").status_code == 403


def test_a_token_without_the_scope_or_for_another_audience_is_refused(
    home: Provider, client: httpx.Client, serve: Serve, tmp_path: Path
) -> None:
    assert status_of(client, home.program_token(scope="")) == 401
    (tmp_path / "other").mkdir()
    other = serve(inventory_with(tmp_path / "other", GARNET, entry_of(home.url, audience="https://other")), open=False)
    assert status_of(other, home.program_token()) == 401


def test_rotated_and_swapped_keys_and_a_provider_that_is_down(
    home: Provider, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = home.program_token()
    assert status_of(client, old) == 200
    monkeypatch.setattr(auth_provider, "SOONEST_S", 0.0)
    home.stop()
    monkeypatch.setattr(auth_provider, "FRESH_S", 0.0)
    assert status_of(client, old) == 200, "who is known goes on while the provider is down"
    home.keys = [new_key("second")]
    home.start()
    assert status_of(client, home.program_token()) == 200
    assert status_of(client, old) == 401, "a key that was taken back"
    impostor = Provider(keys=[new_key("second")], port=home.port, groups=home.groups)
    home.stop()
    impostor.start()
    try:
        swapped = impostor.program_token()
        monkeypatch.setattr(auth_provider, "SOONEST_S", 1e9)
        assert status_of(client, swapped) == 401, "of the name of a key that is known, and another's"
    finally:
        impostor.stop()


def test_an_id_token_opens_nothing(home: Provider, client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[dict[str, str]] = []
    posted = signing_in._post

    def kept(address: str, form: dict[str, str]) -> object:
        status, answer = posted(address, form)
        answers.append(dict(answer))
        return status, answer

    monkeypatch.setattr(signing_in, "_post", kept)
    tokens = signed_in(home, client, "ann")
    assert status_of(client, tokens.access_token) == 200
    assert status_of(client, answers[-1]["id_token"]) == 401


def test_a_token_that_is_over_is_renewed_and_else_refused(
    home: Provider, client: httpx.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    home.stop()
    monkeypatch.setattr(signing_in, "LEFT_S", 600)
    home.access_token_s = signing_in.LEFT_S
    home.start()
    tokens = signed_in(home, client, "ann")
    keeper = TokenKeeper(str(client.base_url))
    keeper.keep(tokens)
    with Slotcar(str(client.base_url), keeper.token) as slotcar:
        assert slotcar.whoami()["name"] == "ann@home"
    renewed = keeper.read()
    assert renewed is not None
    assert renewed.access_token != tokens.access_token
    home.stop()
    assert keeper.token() == renewed.access_token, "while it lasts, and the provider is down"
    monkeypatch.setattr("time.time", lambda: renewed.expires_at_s + 1)
    with pytest.raises(NotSignedIn):
        keeper.token()


def test_a_code_that_is_denied_slowed_down_or_over(home: Provider, client: httpx.Client) -> None:
    api = str(client.base_url)
    (at,) = offered_issuers(api)
    code = begin(at)
    confirm_device(code.whole_address, "ann", deny=True)
    with pytest.raises(NotSignedIn, match="denied in the browser"):
        wait(code, api, sleep=lambda _s: None)
    home.stop()
    home.device_code_s = 1
    home.start()
    code = begin(at)
    with pytest.raises(NotSignedIn, match="the code is over"):
        wait(code, api)


@pytest.mark.parametrize(
    ("errors", "slept"),
    [(["authorization_pending", "slow_down", "authorization_pending", "access_denied"], [5, 5, 10, 10])],
)
def test_the_issuer_says_how_often_it_is_asked(
    errors: list[str], slept: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """oidc-provider says `slow_down` to nobody."""
    left = iter(errors)
    monkeypatch.setattr(signing_in, "_post", lambda *_: (400, {"error": next(left)}))
    at = signing_in.OfferedIssuer("home", "https://issuer", "cli", ())
    code = DeviceCode(at, "https://issuer/token", "d", "u", "a", "w", 5, 600)
    waited: list[float] = []
    with pytest.raises(NotSignedIn):
        wait(code, "https://api", waited.append)
    assert waited == slept


@pytest.fixture
def cli(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Cli]:
    for name in ("SLOTCAR_TOKEN", "SLOTCAR_DATABASE_URL", "SLOTCAR_INVENTORY", "SLOTCAR_CONTEXT", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "kept"))
    monkeypatch.setenv("SLOTCAR_API", str(client.base_url))
    yield in_this_process(monkeypatch, capfd)
    choose_context(None)


def test_login_whoami_and_logout(home: Provider, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun = signing_in.begin

    def confirmed(at: signing_in.OfferedIssuer) -> DeviceCode:
        code = begun(at)
        threading.Thread(target=confirm_device, args=(code.whole_address, "eve"), daemon=True).start()
        return code

    monkeypatch.setattr(signing_in, "begin", confirmed)
    assert "has no issuer nowhere" in cli("login", "--issuer", "nowhere").err
    done = cli("login")
    assert done.code == 0, done.err
    assert f"Open {home.url}/device and type" in done.out
    (file,) = (tmp_path / "kept" / "slotcar" / "signed-in").glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    who = cli("whoami", "--format", "json").data
    assert (who["name"], who["role"], who["proof"]) == ("eve@home", "operator", f"subject eve of {home.url}")
    assert cli("limits").code == 0
    file.chmod(0o644)
    assert "can be read by others" in cli("whoami").err
    file.write_text("{")
    file.chmod(0o600)
    assert "say slotcar login again" in cli("whoami").err
    assert cli("login").code == 0, "what cannot be read is in nobody's way"
    assert json.loads(file.read_text())["issuer_name"] == "home"
    kept = json.loads(file.read_text())
    signed_out = cli("logout")
    assert ("Signed out" in signed_out.out, "alone" in signed_out.err) == (True, False), signed_out.err
    form = {"grant_type": "refresh_token", "refresh_token": kept["refresh_token"], "client_id": "cli"}
    renewed = httpx.post(f"{home.url}/token", data=form, timeout=PATIENCE_S, trust_env=False)
    assert renewed.status_code == 400, "it was revoked"
    file.write_text(json.dumps(kept | {"revocation_endpoint": None}))
    file.chmod(0o600)
    assert "forgotten here alone" in cli("logout").err
    assert cli("whoami").code != 0
    assert "Nobody was signed in" in cli("logout").out
