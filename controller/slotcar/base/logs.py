"""What a client can make the controller log is one line, is logged a few times a minute, and then counted."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Any

from slotcar.base.problems import printable

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


class OneLine(logging.Formatter):
    """Writes a record as one line that steers no terminal. The lines of a traceback follow, indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        return printable(super().formatMessage(record))

    def formatException(  # noqa: N802 - logging's own name
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return indented(super().formatException(ei))


def one_line(_logger: object, _method: str, event: Any) -> Any:
    """As `OneLine`, of structlog: a processor that comes right before the renderer."""
    return {key: indented(one) if key == "exception" else _printable(one) for key, one in event.items()}


def indented(text: str) -> str:
    """Lines that nobody takes for others: what an exception quotes may hold line breaks."""
    return "\n".join(f"    {printable(line)}" for line in text.split("\n"))


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {_printable(key): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list | tuple | set | frozenset) else value


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
