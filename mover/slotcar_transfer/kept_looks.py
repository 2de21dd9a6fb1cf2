"""Looks at a host's connections, kept as JSON lines: by `slotcar connections --keep`, and by a transfer of its own ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from slotcar_transfer.errors import TransferError
from slotcar_transfer.tcp_state import TcpState

#: Between two looks of a transfer.
LOOK_S = 1.0
_OWN = Path("/proc/self/fd")


def look_of(states: Iterable[TcpState], at: datetime) -> dict[str, Any]:
    return {"at": at.isoformat(), "connections": [one.document() for one in states]}


def add(look: dict[str, Any], to: Path) -> None:
    with to.open("a", encoding="utf-8") as file:
        file.write(json.dumps(look) + "\n")


def read(file: Path) -> list[dict[str, Any]]:
    """What `add` kept, in the order in which it was seen.

    Raises:
        TransferError: the file cannot be read, or a line of it is no look.
    """
    looks = []
    try:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            look = json.loads(line)
            if not isinstance(look, dict) or not isinstance(look.get("connections"), list):
                raise TransferError(f"{file}:{number} is no look at connections, as --keep writes them")
            datetime.fromisoformat(str(look.get("at")))
            looks.append(look)
    except (OSError, ValueError) as error:
        raise TransferError(f"{file} does not hold what --keep writes: {error}") from error
    return looks


@dataclass
class Keeping:
    """Of one transfer: adds a look at its own connections to a file, again and again.

    Attributes:
        peer_port: the other end's; None of any. connections: all of this host, as `own_sockets.connections` gives them.
        say: gets a sentence where nothing more can be kept; the transfer goes on.
    """

    to: Path
    peer_port: int | None
    connections: Callable[[], list[TcpState]]
    say: Callable[[str], None]
    now: Callable[[], datetime]
    _failed: bool = False

    def look(self) -> None:
        if self._failed:
            return
        try:
            own = _own_sockets()
            states = [
                one for one in self.connections() if one.inode in own and self.peer_port in (None, one.peer_port)
            ]
            add(look_of(states, self.now()), self.to)
        except (OSError, TransferError) as error:
            self._failed = True
            self.say(f"nothing more is kept of the connections: {error}")

    def until(self, over: threading.Event) -> None:
        """Looks once a second."""
        while not over.wait(LOOK_S):
            self.look()


def _own_sockets() -> set[int]:
    """The inodes of this process's sockets."""
    inodes = set()
    for link in _OWN.iterdir():
        with suppress(OSError):
            kind, _, number = link.readlink().name.partition(":")
            if kind == "socket":
                inodes.add(int(number.strip("[]")))
    return inodes
