"""How a Linux router is logged in to, to watch it."""

from __future__ import annotations

from typing import Any

import pytest

from slotcar.watching.linux import ssh_command
from slotcar.watching.model import Unwatched, watch_words

KEY: dict[str, Any] = {
    "ansible_host": "192.0.2.1",
    "ansible_user": "slotcar",
    "ansible_ssh_private_key_file": "/keys/id",
}


def test_it_is_as_ansible_logs_in_and_shares_no_connection() -> None:
    variables = KEY | {
        "ansible_connection": "ssh",
        "ansible_port": 2201,
        "ansible_ssh_timeout": 30,
        "ansible_ssh_args": "-o ControlMaster=auto -o ControlPersist=10m",
        "ansible_ssh_common_args": '-o UserKnownHostsFile="/a folder/known_hosts" -F /dev/null',
    }
    command = ssh_command(variables)
    assert command[-3:-1] == ["--", "192.0.2.1"]
    assert "tc monitor" in command[-1]
    words = " ".join(command)
    for expected in ("Port=2201", "User=slotcar", "ConnectTimeout=30", "BatchMode=yes", "-i /keys/id", "-F /dev/null"):
        assert expected in words
    assert "UserKnownHostsFile=/a folder/known_hosts" in command
    # Of what is said twice, ssh takes the first.
    assert words.index("ControlMaster=no") < words.index("ControlMaster=auto")


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"ansible_connection": "local"}, "over ssh only"),
        ({"ansible_ssh_private_key_file": None, "ansible_password": "secret"}, "with a key only"),
        ({"ansible_host": None}, "no ansible_host"),
        ({"ansible_host": "-oProxyCommand=x"}, "no ansible_host"),
    ],
)
def test_what_cannot_be_watched_is_told(variables: dict[str, Any], why: str) -> None:
    with pytest.raises(Unwatched, match=why) as refused:
        ssh_command(KEY | variables)
    assert "secret" not in str(refused.value)


def test_who_tells_is_counted_in_words() -> None:
    assert watch_words(["watching", "watching", "broken", "unwatched"]) == (
        "2 of 4 devices tell of changes, 1 broken, 1 unwatched"
    )
    assert watch_words(["watching"]) == "1 of 1 device tells of changes"
