"""Has transfers that reported progress planned again at a period, by the controller that leads (ADR 31)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from slotcar.base.problems import SlotcarError
from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import Entry
from slotcar.book.replanning import Replan, is_off
from slotcar.store import Ledger

log = structlog.get_logger("slotcar.replanning")
#: No turn of the loop spends longer with it; what is left over is done in the next ones.
MOST_S = 1.0


@dataclass(slots=True)
class Replanning:
    """Attributes:
    period: so often all transfers are looked at. due_at: when they are next; None at the beginning: at once.
    """

    ledger: Ledger
    period: timedelta
    monotonic: Callable[[], float] = time.monotonic
    due_at: datetime | None = None
    _waiting: list[Entry] = field(default_factory=list)

    def look(self, entries: Iterable[Entry], now: datetime) -> datetime:
        """Plans those again that are off, the soonest deadline first, and says when to look next.

        Raises:
            LedgerUnavailable.
        """
        if self.due_at is None or not now < self.due_at <= now + self.period:  # further off: the clock was set back
            off = [entry for entry in entries if entry.progress is not None and is_off(entry, now)]
            self._waiting = sorted(off, key=lambda one: one.reservation.end)
            self.due_at = now + self.period
        until_s = self.monotonic() + MOST_S
        while self._waiting:
            self._replan(self._waiting.pop(0), now)
            if self.monotonic() >= until_s:
                break
        return now if self._waiting else self.due_at

    def _replan(self, entry: Entry, now: datetime) -> None:
        try:
            self.ledger.run(Replan(now, entry.handle, entry))
        except LedgerUnavailable:
            raise
        except SlotcarError as error:  # what would move for it cannot; it is tried again in a period
            log.warning("not planned again", reservation=entry.handle, problem=str(error))
