"""Slot boundaries, and who is active when: pure functions of the ledger's entries (DESIGN, "the one idea")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from controller.ledger.model import Entry, State
from controller.timebase import Window


@dataclass(frozen=True, slots=True)
class Active:
    """An entry and that window of it which is open."""

    entry: Entry
    window: Window


def active_at(entries: Iterable[Entry], at: datetime) -> tuple[Active, ...]:
    """Committed entries whose slot holds the instant, by number. A hold is not active: it was not committed."""
    found = [
        Active(entry, window)
        for entry in entries
        if entry.state is State.COMMITTED
        for window in entry.reservation.windows
        if window.contains(at)
    ]
    return tuple(sorted(found, key=lambda active: active.entry.number))


def boundaries(entries: Iterable[Entry], after: datetime, until: datetime) -> tuple[datetime, ...]:
    """Instants in `(after, until]` at which a committed slot starts or ends, ascending, each once."""
    instants = {
        instant
        for entry in entries
        if entry.state is State.COMMITTED
        for window in entry.reservation.windows
        for instant in window
        if after < instant <= until
    }
    return tuple(sorted(instants))


def next_boundary(entries: Iterable[Entry], after: datetime) -> datetime | None:
    """The first boundary strictly after the instant; None where nothing more is to come."""
    instants = [
        instant
        for entry in entries
        if entry.state is State.COMMITTED
        for window in entry.reservation.windows
        for instant in window
        if instant > after
    ]
    return min(instants, default=None)
