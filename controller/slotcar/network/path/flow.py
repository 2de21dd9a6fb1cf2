"""The flow match of each direction of a reservation: what routers pick its packets by."""

from __future__ import annotations

from collections.abc import Sequence

from slotcar.base.flow_match import FlowMatch, pair_of
from slotcar.base.vocabulary import Direction
from slotcar.network.path.model import Path
from slotcar.reservation.model import Reservation


def flow_matches(reservation: Reservation, paths: Sequence[Path]) -> tuple[FlowMatch, ...]:
    """One match for each path, in the paths' order: the reserved directions, forward first."""
    return tuple(
        flow_match(reservation, path, way) for way, path in zip(reservation.direction.ways, paths, strict=False)
    )


def flow_match(reservation: Reservation, path: Path, way: Direction) -> FlowMatch:
    """The match of one direction, forward or reverse, which takes `path`."""
    sender, receiver = reservation.source, reservation.destination
    if way is Direction.REVERSE:
        sender, receiver = receiver, sender
    return FlowMatch(path.source_address, path.destination_address, reservation.protocol, sender.port, receiver.port)


def pairs_of(reservation: Reservation, paths: Sequence[Path]) -> tuple[str, ...]:
    """The `pair` of each match, in the same order."""
    reserved, protocol = paths[: len(reservation.direction.ways)], reservation.protocol
    return tuple([pair_of(one.source_address, one.destination_address, protocol) for one in reserved])
