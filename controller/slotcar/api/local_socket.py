"""The socket at which accounts of this machine ask, and are known by what the kernel says of who connected (ADR 94)."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from slotcar.api.listening import CannotListen, PortInUse
from slotcar.base.accounts import account_of, peer_uid
from slotcar.base.private_files import make_private_folder

#: Of a connection's state, and so of each of its requests': the number of the account; None by TCP.
STATE = "account_uid"
#: For the controller's account and its group: what somebody of the group may do is policy.
MODE = 0o660
#: What the kernel takes for a path, with its last zero byte.
_LONGEST_PATH_BYTES = 107


def uid_of(transport: asyncio.BaseTransport) -> int | None:
    """The effective account of the process that made the connection, at that moment, as the kernel tells it (SO_PEERCRED);
    None for a connection that came by TCP."""
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family != socket.AF_UNIX:
        return None
    return peer_uid(connection)


@contextmanager
def bound_here(path: Path) -> Iterator[socket.socket]:
    """A UNIX socket at that path, as long as the `with` lasts. What a controller that was killed left there is replaced.

    A controller holds a lock beside it as long as it lives, so that no second one takes its socket away.

    Raises:
        PortInUse: another controller has it.
        CannotListen: the folder cannot be written, or something else is at the path, which is left as it is.
    """
    with ExitStack() as stack:
        try:
            make_private_folder(path.parent)
            _lock(path, stack)
            _remove_stale(path)
            listener = stack.enter_context(_bound(path))
            stack.callback(path.unlink, missing_ok=True)
        except OSError as error:
            words = os.strerror(error.errno) if error.errno else str(error)
            raise CannotListen(f"cannot listen on {path}: {words}") from error
        yield listener


def _lock(path: Path, stack: ExitStack) -> None:
    """
    Raises:
        OSError. PortInUse.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    lock = os.open(path.with_name(f".{path.name}.lock"), flags, 0o600)
    stack.callback(os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PortInUse(f"another controller listens on {path} already") from None


def _remove_stale(path: Path) -> None:
    """
    Raises:
        OSError. CannotListen: what is there is no socket of this account's.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise CannotListen(
            f"cannot listen on {path}: something is there that is no socket; see whose it is, and remove it"
        )
    if status.st_uid != os.geteuid():
        owner = account_of(status.st_uid)
        raise CannotListen(
            f"cannot listen on {path}: a socket of the account {owner.name or owner.uid} is there; see whether that is in"
            " use, and remove it"
        )
    path.unlink()


def _bound(path: Path) -> socket.socket:
    """
    Raises:
        OSError.
    """
    if len(os.fsencode(path)) > _LONGEST_PATH_BYTES:
        raise OSError(errno.ENAMETOOLONG, "")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.fspath(path))
        path.chmod(MODE)
    except OSError:
        listener.close()
        raise
    return listener
