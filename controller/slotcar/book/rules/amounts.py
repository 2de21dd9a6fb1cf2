"""How much a reservation asks for, in the few numbers that rules are about. Everything else here goes by these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from slotcar.base.timebase import MICROSECOND, Window
from slotcar.network.path.flow import pairs_of
from slotcar.network.path.model import Path
from slotcar.reservation.model import Reservation, Slot, constant_slots


@dataclass(frozen=True, slots=True)
class Amount:
    """What a reservation takes.

    Attributes:
        rate_bps: the highest payload rate of one direction; of a background reservation, what it can get.
        wire_bps: the highest rate that it takes of one resource, headers counted; 0 where it is promised nothing.
        open_time: all its slots together.
        volume_bits: payload of all its slots, both directions where both are reserved.
        kind: whose packets, and for which service: two amounts are compared only where these are the same.
    """

    rate_bps: int
    wire_bps: int
    open_time: timedelta
    volume_bits: int
    kind: frozenset[str]

    def exceeds(self, other: Amount) -> bool:
        """Whether it is more than the other in any number, or something else."""
        return (
            self.kind != other.kind
            or self.rate_bps > other.rate_bps
            or self.wire_bps > other.wire_bps
            or self.open_time > other.open_time
            or self.volume_bits > other.volume_bits
        )


def open_time(windows: Sequence[Window]) -> timedelta:
    return sum((window.duration for window in windows), timedelta())


def counted_slots(reservation: Reservation) -> tuple[Slot, ...]:
    """The slots with the most that they can get: a background reservation's have its `at_most` each way that is reserved,
    though they hold its `at_least` in the tables (ADR 55)."""
    if reservation.share is None:
        return reservation.slots
    return constant_slots(reservation.windows, reservation.share.at_most_bps, reservation.direction)


def volume_bits(slots: Sequence[Slot]) -> int:
    """Rate times time over the slots, both directions counted; rounded up."""
    scaled = sum((slot.forward_bps + slot.reverse_bps) * (slot.duration // MICROSECOND) for slot in slots)
    return -(-scaled // 1_000_000)


def amount_of(reservation: Reservation, paths: Sequence[Path], wire_bps: Mapping[Any, int]) -> Amount:
    """The amount of a reservation that crosses `paths` and takes `wire_bps` of each resource."""
    slots = counted_slots(reservation)
    return Amount(
        rate_bps=_peak_bps(slots),
        wire_bps=max(wire_bps.values(), default=0),
        open_time=open_time(slots),
        volume_bits=volume_bits(slots),
        kind=_kind(reservation, paths),
    )


def amount_of_change(
    old: Reservation, new: Reservation, paths: Sequence[Path], wire_bps: Mapping[Any, int], now: datetime
) -> Amount:
    """The amount of `new`, together with what `old` has used before `now`.

    What was used counts, so that a slot which is moved on again and again while it is open is seen to grow.
    """
    slots = counted_slots(new)
    used = _part(counted_slots(old), None, now)
    rest = _part(slots, now, None)
    return Amount(
        rate_bps=_peak_bps(slots),
        wire_bps=max(wire_bps.values(), default=0),
        open_time=open_time(used) + open_time(rest),
        volume_bits=volume_bits(used) + volume_bits(rest),
        kind=_kind(new, paths),
    )


def _peak_bps(slots: Sequence[Slot]) -> int:
    return max(max(slot.rates) for slot in slots)


def _kind(reservation: Reservation, paths: Sequence[Path]) -> frozenset[str]:
    # Of a background reservation `wire_bps` is its floor's alone, so its packets' size is compared as it is.
    size = f" in packets of {reservation.packet_size_bytes} bytes" if reservation.share else ""
    return frozenset(f"{pair} {reservation.service.value}{size}" for pair in pairs_of(reservation, paths))


def _part(slots: Sequence[Slot], since: datetime | None, until: datetime | None) -> list[Slot]:
    """The slots as far as they lie in `[since, until)`."""
    parts = []
    for slot in slots:
        start = slot.start if since is None else max(slot.start, since)
        end = slot.end if until is None else min(slot.end, until)
        if start < end:
            parts.append(replace(slot, start=start, end=end))
    return parts
