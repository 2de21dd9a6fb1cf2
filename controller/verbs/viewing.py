"""Looking ahead: what begins and ends when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from controller.ledger.model import Entry
from controller.timeline import active_at, boundaries


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """One slot boundary: `owner/name` of what starts and ends there, and how many are active from then on."""

    at: datetime
    starting: tuple[str, ...]
    ending: tuple[str, ...]
    active: int


def timeline(entries: Iterable[Entry], after: datetime, until: datetime, limit: int = 100) -> tuple[TimelineItem, ...]:
    """Boundaries in `(after, until]`, at most `limit`."""
    listed = tuple(entries)
    items = []
    for at in boundaries(listed, after, until)[:limit]:
        active = active_at(listed, at)
        starting = [_name(one.entry) for one in active if one.window.start == at]
        ending = [
            _name(entry)
            for entry in listed
            for window in entry.reservation.windows
            if window.end == at and entry.state.value == "committed"
        ]
        items.append(TimelineItem(at, tuple(sorted(starting)), tuple(sorted(ending)), len(active)))
    return tuple(items)


def _name(entry: Entry) -> str:
    return "/".join(entry.reservation.key)
