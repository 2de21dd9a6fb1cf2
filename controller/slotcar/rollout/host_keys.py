"""Files of host keys: each is read once for all devices; and what an operator does about a key that is not believed.

One that was never learnt is no sign of a stranger.
"""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from slotcar.rollout.fanout.login import Login

CHANGED = "is not the one that is known; if it was changed on purpose, put the new one into"
UNKNOWN = "is not known yet: compare it with the router's own, and learn it with"
#: Where ssh keeps what a user, and a whole machine, has learnt.
_OF_THE_USER, _OF_THE_MACHINE = "~/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"
T = TypeVar("T")
_reading = threading.Lock()


def read_once(load: Callable[[str], T], file: Path) -> T:
    """What `load` makes of a file, which nobody may change: made once for all logins of this process, and anew where the
    file is another one by now. If each of many devices read it, that would take the square of their number.

    Raises:
        OSError: it cannot be read. What `load` raises.
    """
    state = file.stat()
    with _reading:  # whoever comes meanwhile waits for it
        loaded: T = _loaded(load, str(file), (state.st_ino, state.st_mtime_ns, state.st_size))
        return loaded


@lru_cache(maxsize=8)
def _loaded(load: Callable[[str], Any], file: str, _version: tuple[int, ...]) -> Any:
    return load(file)


def file_of(login: Login) -> Path | None:
    """The file with the keys that a login believes; None where the user has none that can be read."""
    if login.known_hosts:
        return login.known_hosts
    users = Path(_OF_THE_USER).expanduser()
    return users if users.is_file() and os.access(users, os.R_OK) else None


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
            keys = asyncssh.match_known_hosts(read_once(asyncssh.read_known_hosts, file), login.host, "", login.port)
        except (OSError, ValueError):  # not there, or not for reading: it says nothing of this address
            continue
        if any(keys):
            return True
    return False
