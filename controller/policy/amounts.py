"""How much a reservation asks for, in the few numbers that rules are about. Everything else here goes by these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.path.flow import flow_matches
from controller.path.model import Path
from controller.reservation.model import Reservation
from controller.timebase import MICROSECOND, Window
from controller.vocabulary import Direction


@dataclass(frozen=True, slots=True)
class Amount:
    """What a reservation takes.

    Attributes:
        rate_bps: the highest payload rate of one direction.
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


def peak_rate_bps(reservation: Reservation) -> int:
    """The highest payload rate of one direction."""
    return reservation.rate_bps


def open_time(windows: Sequence[Window]) -> timedelta:
    return sum((window.duration for window in windows), timedelta())


def volume_bits(reservation: Reservation, windows: Sequence[Window] | None = None) -> int:
    """Rate times time over all slots (or over `windows`), each reserved direction counted; rounded up."""
    directions = 2 if reservation.direction is Direction.BOTH else 1
    time_us = open_time(reservation.windows if windows is None else windows) // MICROSECOND
    return -(-reservation.rate_bps * directions * time_us // 1_000_000)


def amount_of(reservation: Reservation, paths: Sequence[Path], wire_bps: Mapping[str, int]) -> Amount:
    """The amount of a reservation that crosses `paths` and takes `wire_bps` of each resource."""
    return Amount(
        rate_bps=peak_rate_bps(reservation),
        wire_bps=max(wire_bps.values(), default=0),
        open_time=open_time(reservation.windows),
        volume_bits=volume_bits(reservation),
        kind=_kind(reservation, paths),
    )


def amount_of_change(
    old: Reservation, new: Reservation, paths: Sequence[Path], wire_bps: Mapping[str, int], now: datetime
) -> Amount:
    """The amount of `new`, together with what `old` has used before `now`.

    What was used counts, so that a slot which is moved on again and again while it is open is seen to grow.
    """
    used = _part(old.windows, None, now)
    left = _part(new.windows, now, None)
    return Amount(
        rate_bps=peak_rate_bps(new),
        wire_bps=max(wire_bps.values(), default=0),
        open_time=open_time(used) + open_time(left),
        volume_bits=volume_bits(old, used) + volume_bits(new, left),
        kind=_kind(new, paths),
    )


def _kind(reservation: Reservation, paths: Sequence[Path]) -> frozenset[str]:
    return frozenset(f"{match.pair} {reservation.service.value}" for match in flow_matches(reservation, paths))


def _part(windows: Sequence[Window], since: datetime | None, until: datetime | None) -> list[Window]:
    """The windows as far as they lie in `[since, until)`."""
    found = []
    for window in windows:
        start = window.start if since is None else max(window.start, since)
        end = window.end if until is None else min(window.end, until)
        if start < end:
            found.append(Window(start, end))
    return found
