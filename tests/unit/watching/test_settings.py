"""What an operator sets to have routers tell of changes."""

from __future__ import annotations

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.settings import load_settings


def test_nothing_is_watched_unless_it_is_set() -> None:
    settings = load_settings()
    assert (settings.watch, settings.syslog_listen) == (False, None)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("0.0.0.0:5514", ("0.0.0.0", 5514)),
        ("[::]:514", ("::", 514)),
        ("logs.example.net:5514", ("logs.example.net", 5514)),
        ("", None),
    ],
)
def test_an_address_is_a_host_and_a_port(
    value: str, read: tuple[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOTCAR_SYSLOG_LISTEN", value)
    assert load_settings().syslog_listen == read


@pytest.mark.parametrize(
    "value", ["5514", ":5514", "0.0.0.0", "0.0.0.0:0", "0.0.0.0:65536", "::1:5514", "udp://h:5514", "h:²"]
)
def test_what_is_none_is_refused_with_its_variable(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_SYSLOG_LISTEN", value)
    with pytest.raises(InvalidInput) as refused:
        load_settings()
    assert str(refused.value) == (
        f"SLOTCAR_SYSLOG_LISTEN: is not an address with a port: say one such as 0.0.0.0:5514 or [::]:5514 (got {value!r})"
    )


def test_the_number_of_connections_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_WATCH_MOST", "0")
    with pytest.raises(InvalidInput, match="SLOTCAR_WATCH_MOST: input should be greater than or equal to 1"):
        load_settings()
