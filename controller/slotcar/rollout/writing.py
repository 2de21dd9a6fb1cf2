"""Writing below the state folder: what the disk refuses is said in a sentence."""

from __future__ import annotations

import os
from pathlib import Path

from slotcar.base.private_files import make_private_folder
from slotcar.base.problems import InvalidInput, Problem


class writing:  # noqa: N801 - a context manager that reads like a statement
    """Turns what the disk refuses into a sentence."""

    def __init__(
        self, folder: Path, hint: str = "nothing was pushed; make room or set SLOTCAR_STATE_DIR to another folder"
    ) -> None:
        self._folder, self._hint = folder, hint

    def __enter__(self) -> None:
        try:
            make_private_folder(self._folder.parent)
        except OSError as error:
            raise self._sentence(error) from error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise self._sentence(error) from error

    def _sentence(self, error: OSError) -> InvalidInput:
        why = os.strerror(error.errno) if error.errno else str(error)
        # The folder that it is in: the name of the next one would be another, and the same trouble an event of its own.
        where = str(self._folder.parent)
        return InvalidInput([Problem(where, 0, "", f"cannot be written: {why.lower()}", "", self._hint)])
