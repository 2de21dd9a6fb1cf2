"""A clock of this process that stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from slotcar.base.timebase import SYSTEM


@contextmanager
def stopped_at(at: datetime) -> Iterator[None]:
    """For commands and controllers in this process it is that instant, whatever passes meanwhile."""
    before = SYSTEM.now
    object.__setattr__(SYSTEM, "now", lambda: at)
    try:
        yield
    finally:
        object.__setattr__(SYSTEM, "now", before)
