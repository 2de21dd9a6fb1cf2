"""What a router picks a reserved flow's packets by, and whether two flows may claim the same packet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slotcar.path.model import Path
from slotcar.reservation.model import Endpoint, Reservation
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
        FlowMatch(
            source_address=path.source_address,
            destination_address=path.destination_address,
            protocol=reservation.protocol,
            source_port=sender.port,
            destination_port=receiver.port,
        )
        for path, (sender, receiver) in zip(paths, _ends(reservation), strict=False)
    )


def pairs_of(reservation: Reservation, paths: Sequence[Path]) -> tuple[str, ...]:
    """The `pair` of each match, in the same order."""
    reserved = paths[: len(reservation.direction.ways)]
    return tuple(_pair(one.source_address, one.destination_address, reservation.protocol) for one in reserved)


def _pair(source_address: str, destination_address: str, protocol: Protocol) -> str:
    return f"{source_address}>{destination_address}/{protocol.value}"


def _ends(reservation: Reservation) -> list[tuple[Endpoint, Endpoint]]:
    """Sender and receiver of each reserved direction."""
    forward, reverse = (reservation.source, reservation.destination), (reservation.destination, reservation.source)
    return [forward if way is Direction.FORWARD else reverse for way in reservation.direction.ways]


def _same_port(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other
