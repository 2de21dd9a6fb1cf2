"""What a transaction holds beside entries: what its operations will look at, and what is to be written at its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

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


class Replaced(NamedTuple):
    """What was known of an entry before the batch made it or changed it.

    Attributes:
        before: its former form; None where it was not known.
        live: the handle that the owner and name `key` had; absent from the known names where `was_asked` is false.
        listed: the handle was new, or changed, for the first time, and is in this set since.
    """

    handle: str
    before: Entry | None
    key: Key
    was_asked: bool
    live: str | None
    listed: set[str] | None


@dataclass(frozen=True, slots=True)
class Mark:
    """How much a transaction had noted at a moment, so that it can be made that again."""

    entries: int
    occupancy: int
    events: int
    remembered: int
    counters: tuple[int, int]
