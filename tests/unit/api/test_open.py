"""An API without tokens: open by a setting alone, and on this machine alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.api.app import create_app
from slotcar.api.serving import OpenToAll, serve
from slotcar.base.problems import InvalidInput
from slotcar.base.settings import Settings, load_settings
from slotcar.recovery.readiness import Result, _of_the_api


def test_an_open_api_does_not_listen_to_other_machines(tmp_path: Path) -> None:
    with pytest.raises(OpenToAll, match="SLOTCAR_OPEN=true"):
        serve(Settings(state_dir=tmp_path, listen_host="0.0.0.0", open=True), create_app)


def test_it_is_not_open_unless_that_is_said() -> None:
    assert (load_settings().open, load_settings().hosts) == (False, ())


@pytest.mark.parametrize("wrong", ["https://a.example.net", "a.example.net:8470", "*", "a b"])
def test_hosts_are_names_alone(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_HOSTS", "a.example.net, [::2]")
    assert load_settings().hosts == ("a.example.net", "[::2]")
    monkeypatch.setenv("SLOTCAR_HOSTS", wrong)
    with pytest.raises(InvalidInput, match="SLOTCAR_HOSTS"):
        load_settings()


@pytest.mark.parametrize("wrong", ["proxy.example.net", "*", "10.0.0.7:443", "10.0.0.1/24"])
def test_trusted_proxies_are_addresses_and_networks(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().trusted_proxies == ("127.0.0.1", "::1")
    monkeypatch.setenv("SLOTCAR_TRUSTED_PROXIES", "10.0.0.7, 2001:db8::/64")
    assert load_settings().trusted_proxies == ("10.0.0.7", "2001:db8::/64")
    monkeypatch.setenv("SLOTCAR_TRUSTED_PROXIES", wrong)
    with pytest.raises(InvalidInput, match="SLOTCAR_TRUSTED_PROXIES"):
        load_settings()


def test_a_controller_for_other_machines_without_a_proxy_is_warned_of() -> None:
    def warned(**settings: object) -> bool:
        return any(one.result is Result.WARNING for one in _of_the_api(Settings(**settings)))

    assert not warned()
    assert warned(listen_host="0.0.0.0")
    assert warned(listen_host="0.0.0.0", trusted_proxies="127.0.0.0/8")
    assert not warned(listen_host="0.0.0.0", trusted_proxies="127.0.0.1, 10.0.0.7")
