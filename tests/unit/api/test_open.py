"""An API without tokens: open by a setting alone, and on this machine alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar.api.app import create_app
from slotcar.api.serving import OpenToAll, serve
from slotcar.problems import InvalidInput
from slotcar.settings import Settings, load_settings


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
