"""What is in force around an instant, as values: these are read by rooms that know no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slotcar.admission.resource_id import ResourceId
from slotcar.base.vocabulary import Direction, Protocol, Service
from slotcar.book.model import Entry
from slotcar.network.path.model import Path


@dataclass(frozen=True, slots=True)
class Crowd:
    """Entries that are open before and after an instant, each in its only slot, and alike but for their rates.

    Attributes:
        rates_bps: payload rates of all of them, in each reserved direction; 0 is none.
        amounts: what they take of each resource together.
    """

    paths: tuple[Path, ...]
    service: Service
    protocol: Protocol
    direction: Direction
    packet_size_bytes: int
    rtt_us: int
    numbers: Sequence[int]
    rates_bps: Mapping[Direction, Sequence[int]]
    amounts: Mapping[ResourceId, int]


@dataclass(frozen=True, slots=True)
class Instant:
    """What is or was in force around an instant, as `queries.between` finds it.

    Attributes:
        entries: those that begin, end or change there, and of several slots, volumes, shares and claims all that are open.
        crowds: all others that are open, and were not cancelled before it.
    """

    entries: tuple[Entry, ...]
    crowds: tuple[Crowd, ...]
