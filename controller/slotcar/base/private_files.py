"""What the controller writes belongs to its own account alone: folders 0700, files 0600 (docs/howto/deploy.md)."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: For this process and all that it starts: nothing for the group, nothing for others.
UMASK = 0o077
FOLDER_MODE = 0o700
MEBIBYTE = 1024 * 1024
#: Below this a push, or the embedded database, soon finds no room.
LEAST_FREE_BYTES = 64 * MEBIBYTE
PROBE_BYTES = 4096
#: Of the state folder: under root its group may pass through, which is that of the embedded database's account.
CLOSED_BUT_FOR_SEARCH = 0o067


def make_private_folder(folder: Path) -> None:
    """Makes the folder and its missing parents, open to nobody else; leaves those that exist.

    Raises:
        OSError: it cannot be made.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=FOLDER_MODE, exist_ok=True)


@contextmanager
def locked_for_change(file: Path) -> Iterator[None]:
    """No other process or thread changes `file` meanwhile, of those that ask here: read it, change it and replace it
    inside. The lock is on a file beside it, since the file itself is replaced.

    Raises:
        OSError: the folder cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def replace_private_file(file: Path, text: str, *, lasting: bool = True) -> None:
    """Writes the file whole or not at all, and readable by its owner only from its first byte.

    Args:
        lasting: waits until the disk has it. Without, a machine that stops at once may leave it empty.

    Raises:
        OSError: it cannot be written.
    """
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            if lasting:
                stream.flush()
                os.fsync(stream.fileno())
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def why_no_room(folder: Path) -> str:
    """Why nothing can be written there now, or in the folder above where it is yet to be made; empty where it can.

    A file is written and gone: a quota, or a file system that has become read-only, shows in nothing else.
    """
    folder = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    try:
        status = os.statvfs(folder)
        if (free_bytes := status.f_bavail * status.f_frsize) < LEAST_FREE_BYTES:
            return full_words(free_bytes)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * PROBE_BYTES)
            file.flush()
    except OSError as error:
        return (error.strerror or "it cannot be written").lower()
    return ""


def full_words(free_bytes: int) -> str:
    return f"the disk is full ({free_bytes // MEBIBYTE} MiB free, {LEAST_FREE_BYTES // MEBIBYTE} are needed)"


def close_state_folder(state_dir: Path, parts: Iterable[str]) -> None:
    """Closes a state folder that an earlier version left open, and these parts of it with all that is below them."""
    with suppress(OSError):
        state_dir.chmod(stat.S_IMODE(state_dir.stat().st_mode) & ~CLOSED_BUT_FOR_SEARCH)
    close_to_others(state_dir / part for part in parts)


def close_to_others(roots: Iterable[Path]) -> None:
    """Takes the group's and others' rights from these and all that is below them. Follows no symbolic link.

    What another account owns or what vanishes meanwhile is left as it is.
    """
    for root in roots:
        with suppress(OSError):
            _close(root)
        for folder, folders, files in os.walk(root):
            for name in (*folders, *files):
                with suppress(OSError):
                    _close(Path(folder, name))


def _close(path: Path) -> None:
    status = path.lstat()
    mode = stat.S_IMODE(status.st_mode)
    if mode & UMASK and not stat.S_ISLNK(status.st_mode):
        path.chmod(mode & ~UMASK)
