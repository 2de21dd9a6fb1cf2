"""What an operator does about a host key that is not believed: one that was never learnt is no sign of a stranger."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slotcar.rollout.fanout.login import Login

CHANGED = "is not the one that is known; if it was changed on purpose, put the new one into"
UNKNOWN = "is not known yet: compare it with the router's own, and learn it with"
#: Where ssh keeps what a user, and a whole machine, has learnt.
_OF_THE_USER, _OF_THE_MACHINE = "~/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"


def host_key_words(login: Login) -> str:
    """The end of a sentence about a router whose host key is not among the known ones."""
    key = f"the host key of {login.host}:{login.port}"
    if _is_known(login):
        return f"{key} {CHANGED} {login.known_hosts or _OF_THE_USER}"
    file = shlex.quote(str(login.known_hosts)) if login.known_hosts else _OF_THE_USER
    return f"{key} {UNKNOWN} `ssh-keyscan -p {login.port} {shlex.quote(login.host)} >> {file}`"


def _is_known(login: Login) -> bool:
    """Whether a file has any key for this address."""
    import asyncssh  # who says the words alone does without

    files = [login.known_hosts] if login.known_hosts else [Path(_OF_THE_USER).expanduser(), Path(_OF_THE_MACHINE)]
    for file in files:
        try:
            keys = asyncssh.match_known_hosts(str(file), login.host, "", login.port)
        except (OSError, ValueError):  # not there, or not for reading: it says nothing of this address
            continue
        if any(keys):
            return True
    return False
