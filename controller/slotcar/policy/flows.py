"""No owner may reserve packets that another owner has reserved: a router gives a packet to one policer only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.path.flow import FlowMatch, flow_matches
from slotcar.path.model import Path
from slotcar.policy.errors import FlowTaken
from slotcar.reservation.model import Reservation
from slotcar.timebase import EPOCH, Window, common_windows


@dataclass(frozen=True, slots=True)
class Claim:
    """A reservation on its paths: which packets it claims, and when."""

    reservation: Reservation
    paths: Sequence[Path]

    @property
    def matches(self) -> tuple[FlowMatch, ...]:
        return flow_matches(self.reservation, self.paths)

    @property
    def windows(self) -> tuple[Window, ...]:
        """When; of a volume by a deadline the whole time up to it, in which its profile may move."""
        asked = self.reservation
        return asked.windows if asked.need is None else (Window(asked.need.start or EPOCH, asked.end),)


def check_flows(own: Claim, others: Iterable[Claim], now: datetime, *, name_other: bool) -> None:
    """
    Args:
        others: claims of any owners; those of the same owner are passed over.
        name_other: whether the caller may know whose reservation it is.

    Raises:
        FlowTaken: some packet would match both at some instant from `now` on; windows are half-open.
    """
    matches = own.matches
    for other in others:
        if other.reservation.owner == own.reservation.owner:
            continue
        match = next((one for one in matches if any(one.overlaps(theirs) for theirs in other.matches)), None)
        if match is None:
            continue
        common = common_windows(own.windows, other.windows)
        if any(window.end > now for window in common):
            name = "/".join(other.reservation.key) if name_other else ""
            raise FlowTaken("/".join(own.reservation.key), _words(match), name)


def _words(match: FlowMatch) -> str:
    source, destination = (
        f"{address}:{port}" if port else address
        for address, port in (
            (match.source_address, match.source_port),
            (match.destination_address, match.destination_port),
        )
    )
    return f"{source} to {destination}, {match.protocol.value}"
