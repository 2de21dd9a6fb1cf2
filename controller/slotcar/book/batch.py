"""What a transaction holds beside entries: what its operations will look at, and what is to be written at its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from slotcar.admission.model import Admitted
from slotcar.base.timebase import to_us
from slotcar.book.model import OCCUPYING, Entry
from slotcar.book.rules.flows import ReservedFlow
from slotcar.policy.sharing import CommunityShare
from slotcar.reservation.model import Reservation

Key = tuple[str, str]
#: The flows that may have packets of one flow at the same time, but those of an owner.
OthersFlows = tuple[str, ReservedFlow]


class FlowsAt(NamedTuple):
    """The flows that some devices classify and that may be open in `[start_us, end_us)`."""

    devices: frozenset[str]
    start_us: int
    end_us: int


@dataclass(slots=True)
class Head:
    """The ledger's counters, as a transaction finds them and leaves them. `slss`: changes of SLSs that were agreed on."""

    sequence: int
    event: int
    entry_number: int
    slss: int = 0


@dataclass(frozen=True, slots=True)
class Needs:
    """What an operation will look at, so that a batch reads it at once."""

    handles: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()
    flows: tuple[OthersFlows, ...] = ()
    beside: tuple[FlowsAt, ...] = ()
    idempotency: tuple[Key, ...] = ()
    groups: tuple[Key, ...] = ()


def others_flows(owner: str, flows: Iterable[ReservedFlow]) -> tuple[OthersFlows, ...]:
    """What other owners may have of the same packets at the same time."""
    return tuple([(owner, flow) for flow in flows])


def flows_at(reservation: Reservation, devices: frozenset[str]) -> FlowsAt:
    """What may be open at the devices while the reservation is."""
    return FlowsAt(devices, to_us(reservation.start), to_us(reservation.end))


def may_be_open(entry: Entry, first: datetime, last: datetime) -> bool:
    """Whether it is live, has demands, and may be open in `[first, last]`, itself or by the change of it that waits."""
    starts, ends = min(entry.reservation.start, entry.latest.start), max(entry.reservation.end, entry.latest.end)
    return entry.state in OCCUPYING and bool(entry.demands) and starts <= last and first <= ends


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
        return (
            entry.is_live_at(now)
            and reservation.owner in self.owners
            and reservation.labels.get(self.label) == self.value
        )


@dataclass(slots=True)
class Notes:
    """What is to be written."""

    occupancy: list[tuple[int, Entry, Admitted, int]] = field(default_factory=list)
    events: list[tuple[datetime, str, str | None, str | None, dict[str, Any]]] = field(default_factory=list)
    remembered: list[tuple[Key, Remembered, datetime]] = field(default_factory=list)
    #: Of communities, each with the community and its name; None for one that is withdrawn.
    shares: list[tuple[Key, CommunityShare | None]] = field(default_factory=list)


class Replaced(NamedTuple):
    """What was known of an entry before the batch made it or changed it.

    Attributes:
        before: its former form; None where it was not known.
        live: the handle that the owner and name `key` had; absent from the known names where `was_known` is false.
        listed: the handle was new, or changed, for the first time, and is in this set since.
    """

    handle: str
    before: Entry | None
    key: Key
    was_known: bool
    live: str | None
    listed: set[str] | None


@dataclass(frozen=True, slots=True)
class Savepoint:
    """How much a transaction had noted at a moment, so that it can be made that again."""

    entries: int
    occupancy: int
    events: int
    remembered: int
    shares: int
    counters: tuple[int, int]
