"""A host key that was never learnt is told otherwise than one that is another than before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncssh
import pytest

from slotcar.rollout.fanout.login import Login
from slotcar.rollout.host_keys import CHANGED, UNKNOWN, host_key_words, read_once
from slotcar.rollout.playbook import why_unreachable

KEY = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()


@pytest.mark.parametrize(
    ("known", "host", "port", "is_known"),
    [
        ("", "192.0.2.1", 22, False),
        ("192.0.2.9 KEY", "192.0.2.1", 22, False),
        ("192.0.2.1 KEY", "192.0.2.1", 22, True),
        ("192.0.2.1 KEY", "192.0.2.1", 2222, True),  # asyncssh believes it at any port
        ("[192.0.2.1]:2222 KEY", "192.0.2.1", 2222, True),
        ("edge.example.net KEY", "edge.example.net", 22, True),
        ("edge.example.net KEY", "core.example.net", 22, False),
        ("@revoked edge.example.net KEY", "edge.example.net", 22, True),
        ("no line of this kind", "edge.example.net", 22, False),
    ],
)
def test_what_is_known_is_told(tmp_path: Path, known: str, host: str, port: int, is_known: bool) -> None:
    file = tmp_path / "known hosts"
    file.write_text(known.replace("KEY", KEY))
    words = host_key_words(Login(host, port, "slotcar", known_hosts=file))
    assert words.startswith(f"the host key of {host}:{port} is not")
    assert ("is not the one that is known; if it was changed on purpose" in words) is is_known
    learns = f"learn it with `ssh-keyscan -p {port} {host} >> '{file}'`"
    assert (learns in words) is not is_known


def test_a_file_that_is_not_there_knows_nobody(tmp_path: Path) -> None:
    assert "is not known yet" in host_key_words(Login("192.0.2.1", 22, "slotcar", known_hosts=tmp_path / "none"))


def test_a_file_is_read_once_for_all_logins_and_anew_where_it_changed(tmp_path: Path) -> None:
    """Each of 1,000 routers reads a file of 1,000 keys."""
    file, loaded = tmp_path / "known_hosts", []

    def load(name: str) -> str:
        loaded.append(name)
        return Path(name).read_text()

    file.write_text("one")
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: read_once(load, file), range(50))) == {"one"}
    assert len(loaded) == 1
    file.write_text("another")
    assert read_once(load, file) == "another"
    assert len(loaded) == 2
    with pytest.raises(FileNotFoundError):
        read_once(load, tmp_path / "none")


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("Failed to connect to the host via ssh: Host key verification failed.", UNKNOWN),
        (
            "Failed to connect to the host via ssh: @@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@ Host key for"
            " 192.0.2.1 has changed and you have requested strict checking. Host key verification failed.",
            CHANGED,
        ),
        (
            "Failed to connect to the host via ssh: ssh: connect to host 192.0.2.1 port 22: Connection refused",
            "it cannot be reached over ssh: connect to host 192.0.2.1 port 22: Connection refused",
        ),
    ],
)
def test_what_ssh_says_of_a_linux_router_is_told_likewise(printed: str, words: str) -> None:
    assert words in why_unreachable(printed)
