"""Until when controllers have nothing to do: a file for each, which is there for as long as that is so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple


class Idle(NamedTuple):
    """Of one controller's loop.

    Attributes:
        last_event: the number of the ledger's newest event that it has seen.
        until: seconds since the epoch.
    """

    last_event: int
    until: float


@contextmanager
def idle_noted(folder: Path, last_event: int, until: datetime) -> Iterator[None]:
    """This process has nothing to do until then, but where the ledger has a newer event."""
    file = folder / str(os.getpid())
    part = file.with_suffix(".part")
    part.write_text(json.dumps([last_event, until.timestamp()]))
    part.replace(file)
    try:
        yield
    finally:
        file.unlink()


def read_idle(folder: Path, pid: int) -> Idle | None:
    """What a process said; None while it is at work."""
    try:
        return Idle(*json.loads((folder / str(pid)).read_text()))
    except FileNotFoundError:
        return None
