"""What a transaction holds beside entries: what its operations will look at, and what is to be written at its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from slotcar.admission.model import Admitted
from slotcar.ledger.model import OCCUPYING, Entry

Key = tuple[str, str]
FAR = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Needs:
    """What an operation will look at, so that a batch reads it at once."""

    handles: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()
    #: Pairs of addresses and protocol, each with the owner whose own reservations do not matter.
    flows: tuple[tuple[str, str], ...] = ()
    idempotency: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """An idempotency key that was used: for what request, and what came of it."""

    request: str
    handle: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """Live entries of some owners that have a label with a value."""

    label: str
    value: str
    owners: frozenset[str]

    def has(self, entry: Entry, now: datetime) -> bool:
        reservation = entry.reservation
        live = entry.state in OCCUPYING and reservation.end > now and (entry.hold_until or FAR) > now
        return live and reservation.owner in self.owners and reservation.labels.get(self.label) == self.value


@dataclass(slots=True)
class Notes:
    """What is to be written."""

    occupancy: list[tuple[int, Entry, Admitted, int]] = field(default_factory=list)
    events: list[tuple[datetime, str, str | None, str | None, dict[str, Any]]] = field(default_factory=list)
    remembered: list[tuple[Key, Remembered, datetime]] = field(default_factory=list)


@dataclass(slots=True)
class Known:
    """What is known of entries at a moment of the batch.

    Attributes:
        by_handle: entries as they were read, or as the batch has changed them since.
        live: the handle of the live entry of that owner and name; None where there is none.
        new, changed: handles of the entries that the batch made, and of those that it changed.
        flows_read: pairs of addresses, each with the owner besides whose entries all were read that are on it.
    """

    by_handle: dict[str, Entry] = field(default_factory=dict)
    live: dict[Key, str | None] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    flows_read: set[tuple[str, str]] = field(default_factory=set)

    def copy(self) -> Known:
        return Known(dict(self.by_handle), dict(self.live), set(self.new), set(self.changed), set(self.flows_read))


@dataclass(frozen=True, slots=True)
class Mark:
    """What a transaction had noted and known at a moment, so that it can be made that again."""

    known: Known
    remembered: dict[Key, Remembered | None]
    lengths: tuple[int, int, int]
    counters: tuple[int, int]
