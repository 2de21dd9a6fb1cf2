"""`FlowMatch`: what routers pick the packets of a reserved flow by. Ansible's plugins load it without what finds paths."""

from __future__ import annotations

from dataclasses import dataclass

from slotcar.base.vocabulary import Protocol


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
        return pair_of(self.source_address, self.destination_address, self.protocol)

    def overlaps(self, other: FlowMatch) -> bool:
        """Whether some packet matches both."""
        return (
            self.pair == other.pair
            and _same_port(self.source_port, other.source_port)
            and _same_port(self.destination_port, other.destination_port)
        )


def pair_of(source_address: str, destination_address: str, protocol: Protocol) -> str:
    """Names what flows without a packet in common differ in; of one pair, only ports can tell them apart."""
    return f"{source_address}>{destination_address}/{protocol}"


def _same_port(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other
