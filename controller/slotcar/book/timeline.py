"""Slot boundaries, and who is active when: pure functions of the ledger's entries (docs/design.md rule 13)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from slotcar.base.timebase import Window
from slotcar.book.model import Entry, State
from slotcar.reservation.model import Slot


@dataclass(frozen=True, slots=True)
class Active:
    """An entry and that slot of it which is open.

    Attributes:
        slot_number: the slot's place in the reservation, from 0.
    """

    entry: Entry
    slot_number: int

    @property
    def slot(self) -> Slot:
        return self.entry.reservation.slots[self.slot_number]

    @property
    def window(self) -> Window:
        """From the start of the reservation's slots that touch to their end."""
        slot = self.slot
        return next(window for window in self.entry.reservation.windows if window.overlaps(slot))


def active_at(entries: Iterable[Entry], at: datetime) -> tuple[Active, ...]:
    """Committed entries whose slot holds the instant, by number. A hold is not active: it was not committed. What its
    requester has released is not, either.
    """
    open_entries = [
        Active(entry, number)
        for entry in entries
        if _opens(entry)
        for number, slot in enumerate(entry.reservation.slots)
        if slot.contains(at)
    ]
    return tuple(sorted(open_entries, key=lambda active: active.entry.number))


def _opens(entry: Entry) -> bool:
    return entry.state is State.COMMITTED and not entry.reservation.released


def boundaries(entries: Iterable[Entry], after: datetime, until: datetime) -> tuple[datetime, ...]:
    """Instants in `(after, until]` at which a committed slot starts, ends or changes its rate, ascending, each once."""
    instants = {
        instant
        for entry in entries
        if _opens(entry)
        for slot in entry.reservation.slots
        for instant in slot
        if after < instant <= until
    }
    return tuple(sorted(instants))


def next_boundary(entries: Iterable[Entry], after: datetime) -> datetime | None:
    """The first boundary strictly after the instant; None where nothing more is to come."""
    instants = [
        instant
        for entry in entries
        if _opens(entry)
        for slot in entry.reservation.slots
        for instant in slot
        if instant > after
    ]
    return min(instants, default=None)
