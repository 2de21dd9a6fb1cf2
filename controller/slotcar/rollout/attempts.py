"""An attempt to push: how it ended, and what was wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from slotcar.book.timeline import Active
from slotcar.rollout.model import Outlook


class Attempt(StrEnum):
    """The result of an attempt to push. Outdated: devices acted by themselves meanwhile, or something else is wanted by
    now; that is no failure, and the loop computes all again at once."""

    DONE = "done"
    FAILED = "failed"
    OUTDATED = "outdated"


class View(NamedTuple):
    """What devices are to have at an instant, and for which reservations; the handles of these, of all that is open then,
    and of what they are to have from each boundary on for which they are armed."""

    at: datetime
    outlook: Outlook
    active: Sequence[Active]
    handles: set[str]
    open: set[str]
    armed: Mapping[datetime, set[str]]
