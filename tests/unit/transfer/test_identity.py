"""Who an end is and which others it knows, under several who change the folder at once."""

from __future__ import annotations

import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slotcar_transfer import identity as identities
from slotcar_transfer.identity import Identity


def test_of_two_that_make_a_key_at_once_both_have_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        fingerprints = set(pool.map(lambda _: Identity(tmp_path).make("one"), range(8)))
    assert len(fingerprints) == 1
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600


def test_an_end_is_known_once_all_of_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, one = Identity(tmp_path / "other"), Identity(tmp_path / "one")
    other.make("other")
    known_names: list[list[str]] = []
    replace = identities.replace_private_file

    def replace_and_look(file: Path, text: str) -> None:
        replace(file, text)
        known_names.append([peer.name for peer in one.peers()])

    monkeypatch.setattr(identities, "replace_private_file", replace_and_look)
    one.trust("other", other.certificate.read_text(), "192.0.2.1")
    assert known_names == [[], ["other"]]
