"""The flow match of each direction of a reservation: what routers pick its packets by."""

from __future__ import annotations

from collections.abc import Sequence

from slotcar.base.flow_match import FlowMatch, pair_of
from slotcar.base.vocabulary import Direction
from slotcar.network.path.model import Path
from slotcar.reservation.model import Reservation


def flow_matches(reservation: Reservation, paths: Sequence[Path]) -> tuple[FlowMatch, ...]:
    """One match for each reserved direction, forward first: the paths to a group's receivers have the same packets."""
    matches = (flow_match(reservation, path, way) for way, path in zip(reservation.ways, paths, strict=False))
    return tuple(dict.fromkeys(matches))


def flow_match(reservation: Reservation, path: Path, way: Direction) -> FlowMatch:
    """The match of one direction, forward or reverse, which takes `path`."""
    sender, receiver = reservation.source, reservation.destination
    if way is Direction.REVERSE:
        sender, receiver = receiver, sender
    destination = _destination(reservation, path)
    return FlowMatch(path.source_address, destination, reservation.protocol, sender.port, receiver.port)


def pairs_of(reservation: Reservation, paths: Sequence[Path]) -> tuple[str, ...]:
    """The `pair` of each path's match, in the paths' order."""
    reserved, protocol = paths[: len(reservation.ways)], reservation.protocol
    return tuple([pair_of(one.source_address, _destination(reservation, one), protocol) for one in reserved])


def _destination(reservation: Reservation, path: Path) -> str:
    """The address that packets on the path are sent to: a receiver gets them by the group's."""
    return reservation.destination.host if reservation.receivers else path.destination_address
