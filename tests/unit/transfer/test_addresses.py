"""Where another end serves: `HOST` or `HOST:PORT`, everywhere that an address is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slotcar_transfer.cli import app
from slotcar_transfer.errors import BadName, TransferError
from slotcar_transfer.identity import Identity
from slotcar_transfer.manifest import listed
from slotcar_transfer.places import host_and_port


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("far", ("far", 7010)), ("127.0.0.1:8664", ("127.0.0.1", 8664)), ("[::1]:8664", ("::1", 8664)),
        ("2001:db8::1", ("2001:db8::1", 7010)), ("far.example.net:1", ("far.example.net", 1)),
    ],
)  # fmt: skip
def test_an_address_may_have_a_port(text: str, place: tuple[str, int]) -> None:
    assert host_and_port(text, 7010) == place


@pytest.mark.parametrize("text", ["", "far:", "far:0", "far:65536", "far:x", ":7010", "a:b:c", "far 1", "far:1:2"])
def test_what_is_no_address_is_told(text: str) -> None:
    with pytest.raises(TransferError, match=r"is not HOST\[:PORT\]"):
        host_and_port(text, 7010)


def trusted(tmp_path: Path, *options: str) -> str:
    Identity(tmp_path / "far").make("far")
    certificate = str(Identity(tmp_path / "far").certificate)
    result = CliRunner().invoke(app, ["trust", "far", certificate, "--home", str(tmp_path / "near"), *options])
    return result.output


def test_trust_understands_a_port_in_the_address(tmp_path: Path) -> None:
    assert "far is known: 127.0.0.1:8664, far in the inventory" in trusted(tmp_path, "--address", "127.0.0.1:8664")
    assert "known: ::1:8664," in trusted(tmp_path, "--address", "[::1]:8664", "--port", "8664")
    assert "known: 10.0.0.1:99," in trusted(tmp_path, "--address", "10.0.0.1", "--port", "99")
    assert "known: far:7010," in trusted(tmp_path)
    assert "name two ports" in trusted(tmp_path, "--address", "far:1", "--port", "2")
    assert "is not HOST[:PORT]" in trusted(tmp_path, "--address", "far:99999")


def test_all_names_that_are_not_utf_8_are_told_at_once(tmp_path: Path) -> None:
    for name in (b"good", b"bad-\xff", b"sub/worse-\xe9", b"wrong-\xfe/inside"):
        file = tmp_path / os.fsdecode(name)
        file.parent.mkdir(exist_ok=True)
        file.touch()
    with pytest.raises(BadName) as refused:
        listed(tmp_path)
    words = r"the names 'bad-\udcff', 'sub/worse-\udce9', 'wrong-\udcfe' are not UTF-8"
    assert str(refused.value) == words
    for number in range(30):
        (tmp_path / os.fsdecode(b"%d-\xff" % number)).touch()
    with pytest.raises(BadName, match=r"and 13 more are not UTF-8"):
        listed(tmp_path)
