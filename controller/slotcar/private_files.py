"""What the controller writes belongs to its own account alone: folders 0700, files 0600 (docs/howto/deploy.md)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

#: For this process and all that it starts: nothing for the group, nothing for others.
UMASK = 0o077
FOLDER_MODE = 0o700
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
