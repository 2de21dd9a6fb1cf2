"""No owner may reserve packets that another owner has reserved: a router gives a packet to one policer only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from slotcar.base.flow_match import FlowMatch
from slotcar.base.timebase import EPOCH, Window, to_us
from slotcar.base.vocabulary import Direction
from slotcar.book.rules.errors import FlowTaken
from slotcar.book.rules.open_flows import OpenFlows
from slotcar.network.path.flow import flow_matches, pairs_of
from slotcar.network.path.model import Path
from slotcar.reservation.model import Reservation


class ReservedFlow(NamedTuple):
    """A flow that is reserved at some time in `[start_us, end_us)`.

    Attributes:
        pair: of addresses and protocol, see `FlowMatch.pair`.
        source_port, destination_port: 0 for any.
        device: the one that classifies it, as of when its path was found.
    """

    pair: str
    source_port: int
    destination_port: int
    device: str
    start_us: int
    end_us: int

    @property
    def packets(self) -> tuple[str, int, int]:
        """Equal for two flows of exactly the same packets."""
        return self[:3]


@dataclass(frozen=True, slots=True)
class FlowClaim:
    """A reservation on its paths: which packets it claims, and when."""

    reservation: Reservation
    paths: Sequence[Path]

    @property
    def matches(self) -> tuple[FlowMatch, ...]:
        return flow_matches(self.reservation, self.paths)

    @property
    def windows(self) -> tuple[Window, ...]:
        """When; of a volume by a deadline the whole time up to it, in which its profile may move."""
        reservation = self.reservation
        return reservation.windows if reservation.need is None else (Window(self.start, reservation.end),)

    @property
    def start(self) -> datetime:
        """When the first of the windows starts."""
        reservation = self.reservation
        return reservation.start if reservation.need is None else reservation.need.start or EPOCH

    @property
    def flows(self) -> tuple[ReservedFlow, ...]:
        """One for each path, in the paths' order: what a ledger finds the claim by. Those to a group's receivers that one
        device classifies are one.
        """
        reservation, start_us, end_us = self.reservation, to_us(self.start), to_us(self.reservation.end)
        ports = reservation.source.port or 0, reservation.destination.port or 0
        flows = [
            ReservedFlow(
                pair,
                *(ports[::-1] if way is Direction.REVERSE else ports),
                path.first_reserved_device,
                start_us,
                end_us,
            )
            for pair, path, way in zip(pairs_of(reservation, self.paths), self.paths, reservation.ways, strict=False)
        ]
        return tuple(dict.fromkeys(flows) if reservation.receivers else flows)


def check_flows(own: Sequence[FlowClaim], others: Iterable[FlowClaim], now: datetime, *, name_other: bool) -> None:
    """All claims are gone through once in the order of time, so that it costs what they are, and not what pairs they make.

    Args:
        own: what is asked about: these are compared with each other, too.
        others: claims of any owners; those of the same owner are passed over.
        name_other: whether the caller may know whose reservation it is.

    Raises:
        FlowTaken: some packet would match one of `own` and a claim of another owner at some instant from `now` on; windows
        are half-open. It names the first conflict in time.
    """
    pairs = {match.pair for claim in own for match in claim.matches}
    claims = [(claim, True) for claim in own] + [(claim, False) for claim in others]
    edges: list[tuple[datetime, bool, int]] = []
    matches: dict[int, list[FlowMatch]] = {}
    for number, (claim, _) in enumerate(claims):
        matches[number] = [match for match in claim.matches if match.pair in pairs]
        coming = [window for window in claim.windows if window.end > now] if matches[number] else ()
        edges += [edge for window in coming for edge in ((window.start, True, number), (window.end, False, number))]
    open_now, open_own = OpenFlows(), OpenFlows()
    for _, starts, number in sorted(edges):  # ends come before starts: windows are half-open
        claim, is_own = claims[number]
        owner = claim.reservation.owner
        for match in matches[number]:
            if not starts:
                open_now.close(match, owner, number)
                open_own.close(match, owner, number)
                continue
            taken = (open_now if is_own else open_own).other_than(match, owner)
            if taken is not None:
                mine, theirs = (number, taken) if is_own else (taken, number)
                raise _flow_taken(claims[mine][0], claims[theirs][0], name_other=name_other)
            open_now.open(match, owner, number)
            if is_own:
                open_own.open(match, owner, number)


def _flow_taken(own: FlowClaim, other: FlowClaim, *, name_other: bool) -> FlowTaken:
    theirs = other.matches
    match = next(one for one in own.matches if any(one.overlaps(other) for other in theirs))
    return FlowTaken(
        "/".join(own.reservation.key), _words(match), "/".join(other.reservation.key) if name_other else ""
    )


def _words(match: FlowMatch) -> str:
    source, destination = (
        f"{address}:{port}" if port else address
        for address, port in (
            (match.source_address, match.source_port),
            (match.destination_address, match.destination_port),
        )
    )
    return f"{source} to {destination}, {match.protocol.value}"
