"""What a router picks a reserved flow's packets by, and whether two flows may claim the same packet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slotcar.path.model import Path
from slotcar.reservation.model import Reservation
from slotcar.vocabulary import Direction, Protocol


@dataclass(frozen=True, slots=True, order=True)
class FlowMatch:
    """Five-tuple that identifies a flow at the edge (TEQUILA flow identification). None matches any port."""

    source_address: str
    destination_address: str
    protocol: Protocol
    source_port: int | None
    destination_port: int | None

    @property
    def pair(self) -> str:
        """The match without its ports: flows of different pairs have no packet in common."""
        return _pair(self.source_address, self.destination_address, self.protocol)

    def overlaps(self, other: FlowMatch) -> bool:
        """Whether some packet matches both."""
        return (
            self.pair == other.pair
            and _same_port(self.source_port, other.source_port)
            and _same_port(self.destination_port, other.destination_port)
        )


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
    return tuple([_pair(one.source_address, one.destination_address, protocol) for one in reserved])


def _pair(source_address: str, destination_address: str, protocol: Protocol) -> str:
    return f"{source_address}>{destination_address}/{protocol}"


def _same_port(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other
