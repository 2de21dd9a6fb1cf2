"""Which controllers serve a state folder of this machine, and where: what a command asks that names none.

Each has a file `serving/HOST:PROCESS` there, which it keeps locked as long as it lives: one that was killed has left an
unlocked file, and whatever listens at its port now is somebody else's.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from slotcar.base.private_files import make_private_folder

FOLDER = "serving"
LONGEST_ADDRESS_BYTES = 500


@contextmanager
def recorded(state_dir: Path, address: str) -> Iterator[None]:
    """While it lasts, this process serves the state folder at that address.

    Raises:
        OSError: the folder cannot be written.
    """
    folder = state_dir / FOLDER
    make_private_folder(folder)
    _forget_the_dead(folder)
    file = folder / f"{socket.gethostname()}:{os.getpid()}"
    draft = folder / f".{file.name}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.write(handle, address.encode())
        draft.rename(file)  # locked already where anybody looks for it
        yield
    finally:
        for one in (draft, file):
            one.unlink(missing_ok=True)
        os.close(handle)


def addresses(state_dir: Path) -> tuple[str, ...]:
    """Of the controllers that serve it now.

    Raises:
        OSError: this account may not look.
    """
    folder = state_dir / FOLDER
    if not folder.exists():
        return ()
    return tuple(sorted(address for file in _files(folder) if (address := _address_of_living(file))))


def _files(folder: Path) -> list[Path]:
    """Of this machine, or of this container: those of others that share the folder are reached at another address."""
    return [file for file in folder.iterdir() if file.name.rpartition(":")[0] == socket.gethostname()]


def _address_of_living(file: Path) -> str:
    """Empty where its process has ended."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return ""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(handle, LONGEST_ADDRESS_BYTES).decode("ascii", "replace")
    else:
        return ""
    finally:
        os.close(handle)


def _forget_the_dead(folder: Path) -> None:
    for file in _files(folder):
        with suppress(OSError):
            if not _address_of_living(file):
                file.unlink(missing_ok=True)
