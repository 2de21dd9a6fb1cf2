"""What a client can make the controller log again and again is logged a few times a minute, and then counted."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import timedelta

#: Kinds of messages that are remembered; with more, all are forgotten and begin anew.
MOST_KINDS = 1_000


@dataclass(slots=True)
class _Count:
    since_s: float
    admitted: int = 0
    skipped: int = 0


@dataclass(slots=True)
class RepeatLimit:
    """Admits each kind of message `most` times `within` a time."""

    most: int
    within: timedelta
    _counts: dict[Hashable, _Count] = field(default_factory=dict)

    def admit(self, kind: Hashable, now_s: float) -> int | None:
        """How many of the kind were skipped before this one; None where this one is to be skipped. Monotonic seconds."""
        count = self._counts.get(kind)
        if count is None or now_s - count.since_s > self.within.total_seconds():
            if len(self._counts) >= MOST_KINDS:
                self._counts.clear()
            skipped = count.skipped if count else 0
            self._counts[kind] = _Count(now_s, admitted=1)
            return skipped
        if count.admitted < self.most:
            count.admitted += 1
            return 0
        count.skipped += 1
        return None


class LimitRepeats(logging.Filter):
    """Limits how often a handler repeats one kind of record: what one line of code logs at one level."""

    def __init__(self, limit: RepeatLimit) -> None:
        super().__init__()
        self._limit = limit

    def filter(self, record: logging.LogRecord) -> bool:
        skipped = self._limit.admit((record.name, record.pathname, record.lineno), time.monotonic())
        if skipped:
            record.msg = f"{record.getMessage()} ({skipped} more of these were not logged)"
            record.args = None
        return skipped is not None
