"""`Path`: the ordered interfaces and SLSs that a flow crosses in one direction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slotcar.base.vocabulary import Service
from slotcar.network.model import InterfaceId


@dataclass(frozen=True, slots=True)
class Hop:
    """One device on the way: where the flow comes in and where it leaves."""

    device: str
    ingress: InterfaceId
    egress: InterfaceId


@dataclass(frozen=True, slots=True)
class Path:
    """One direction of a reservation: `source` to `destination` (host names or addresses, resolved addresses beside).

    `sls` names, in order, the SLSs of this service that the path's inter-domain crossings are bound by.
    Devices of over-provisioned domains stand in `hops` but ask for no reservation (D7.3 §3.2.1).
    """

    source: str
    destination: str
    source_address: str
    destination_address: str
    service: Service
    hops: tuple[Hop, ...]
    sls: tuple[str, ...]
    unreserved_devices: frozenset[str] = frozenset()

    @property
    def first_reserved_device(self) -> str:
        """The first device that asks for a reservation, which classifies the flow; empty where none does."""
        unreserved = self.unreserved_devices
        for hop in self.hops:
            if hop.device not in unreserved:
                return hop.device
        return ""

    @property
    def edge(self) -> InterfaceId:
        """The interface where the flow is classified, policed and marked: its first ingress."""
        return self.hops[0].ingress


def ends_of(paths: Iterable[Path]) -> list[InterfaceId]:
    """The interfaces by which these paths come into devices and leave them, in their order."""
    return [end for path in paths for hop in path.hops for end in (hop.ingress, hop.egress)]


def crossed(paths: Iterable[Path]) -> set[str]:
    """The devices on these paths, also those that ask for no reservation."""
    return {hop.device for path in paths for hop in path.hops}
