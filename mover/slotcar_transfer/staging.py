"""Where a receiver puts things: folders below the one that is served, opened so that no link leads out of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from slotcar_transfer.errors import BadName, TransferError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Tree:
    """A folder, and what is below it by relative paths.

    Raises (every method):
        BadName: a part of the path is a link, or no folder.
        TransferError: it cannot be opened or made.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._cached: tuple[tuple[str, ...], int] | None = None
        try:
            self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise TransferError(f"the folder {root} cannot be opened: {error.strerror}") from error

    def close(self) -> None:
        self._forget()
        os.close(self._root)

    def folder(self, parts: Sequence[str], make: bool = False) -> int:
        """A descriptor of the folder, which stays this object's; it holds until the next call."""
        wanted = tuple(parts)
        if self._cached and self._cached[0] == wanted:
            return self._cached[1]
        file = os.dup(self._root)
        try:
            for part in wanted:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=file)
                deeper = os.open(part, _FOLDER, dir_fd=file)
                os.close(file)
                file = deeper
        except OSError as error:
            os.close(file)
            place = self.root.joinpath(*wanted)
            if isinstance(error, NotADirectoryError) or error.errno == 40:  # ELOOP
                raise BadName(f"{place} has a link or a file where a folder is to be") from error
            raise TransferError(f"the folder {place} cannot be opened: {error.strerror}") from error
        self._forget()
        self._cached = (wanted, file)
        return file

    def kind(self, parts: Sequence[str]) -> str:
        """`folder`, `file`, `other` or `nothing`."""
        try:
            mode = os.stat(parts[-1], dir_fd=self.folder(parts[:-1]), follow_symlinks=False).st_mode
        except (FileNotFoundError, TransferError):
            return "nothing"
        return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"

    def _forget(self) -> None:
        if self._cached:
            os.close(self._cached[1])
            self._cached = None
