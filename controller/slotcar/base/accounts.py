"""Accounts of this machine's operating system, by the number that the kernel tells of a process."""

from __future__ import annotations

import pwd
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from slotcar.base.problems import printable

#: Which number the kernel tells of an account of another user namespace that has none in this one.
OVERFLOW = Path("/proc/sys/kernel/overflowuid")
OVERFLOW_UID = 65534
#: Process, account and group of a connection's other side.
_CREDENTIALS = struct.Struct("iII")


@dataclass(frozen=True, slots=True)
class Account:
    """Attributes:
    name: None where the machine has no account of that number.
    """

    uid: int
    name: str | None

    @property
    def caller_name(self) -> str:
        """Under which it is in the log of events."""
        return f"{self.name or f'uid{self.uid}'}@cli"

    @property
    def proof(self) -> str:
        return f"account {self.name or f'uid{self.uid}'} (uid {self.uid}) of the controller's host"


def account_of(uid: int) -> Account:
    try:
        return Account(uid, printable(pwd.getpwuid(uid).pw_name))
    except KeyError:  # of a container that has no such account
        return Account(uid, None)


def stands_for_many(uid: int) -> bool:
    """Whether the kernel tells this number of every account of other user namespaces that it cannot tell apart here."""
    try:
        return uid == int(OVERFLOW.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return uid == OVERFLOW_UID


def peer_uid(connection: socket.socket) -> int:
    """The account of the other side of a UNIX socket's connection: of who connected at that moment, or of who listens."""
    read = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(read)[1]
    return uid
