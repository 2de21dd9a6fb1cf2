"""From a reservation and its paths to demands on resources, and from a network to the resources' capacities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.admission.arithmetic import payload_bytes, scaled_up
from controller.admission.model import Demand
from controller.network.model import InterfaceId, Network
from controller.path.model import Path
from controller.reservation.model import Reservation
from controller.vocabulary import Service

#: The services that are promised a rate. Best effort and QBSS take what is left.
RESERVED_SERVICES = (Service.IP_PREMIUM, Service.ASSURED_RATE)


def interface_resource(interface: InterfaceId, direction: str, service: Service) -> str:
    """A service's share of one direction (`in` or `out`, as the device sees it) of an interface."""
    return f"if:{interface.device}:{interface.name}:{direction}:{service.value}"


def sls_resource(name: str) -> str:
    return f"sls:{name}"


def demands(reservation: Reservation, paths: Sequence[Path], network: Network) -> tuple[Demand, ...]:
    """What the reservation asks of every resource that its paths cross, in their order, each resource once.

    An interface's share is a layer-2 rate with that link's own overhead, an SLS's a layer-3 rate. Devices of
    over-provisioned domains are crossed without a demand (D7.3 §3.2.1). A resource that is crossed more than once (a
    pinned path that turns back) is asked for the multiple.

    Raises:
        KeyError: a path names an interface that the network has not.
        ValueError: the packet size leaves no room for payload.
    """
    if reservation.service not in RESERVED_SERVICES:
        return ()
    wire: dict[str, int] = {}
    for path in paths:
        for resource, overhead_bytes in _crossed(path, reservation.service, network):
            wire[resource] = wire.get(resource, 0) + reservation.packet_size_bytes + overhead_bytes
    payload = payload_bytes(reservation.packet_size_bytes, reservation.protocol)
    return tuple(
        Demand(resource, scaled_up(reservation.rate_bps, wire_bytes, payload), wire_bytes, payload)
        for resource, wire_bytes in wire.items()
    )


def _crossed(path: Path, service: Service, network: Network) -> Iterator[tuple[str, int]]:
    """Resources of one path with the layer-2 bytes that a packet costs there."""
    for hop in path.hops:
        if hop.device in path.unreserved_devices or network.domain_of(hop.ingress).over_provisioned:
            continue
        for interface, direction in ((hop.ingress, "in"), (hop.egress, "out")):
            yield interface_resource(interface, direction, service), network.interface(interface).overhead_bytes
    for name in path.sls:
        yield sls_resource(name), 0


def capacities(network: Network) -> dict[str, int]:
    """Capacity of every resource of the network, bits per second.

    Of an interface, the service's configured share of the link in each direction (0 where it has none); of an SLS, its
    agreed rate. When an SLS holds is for `decide` to see to.
    """
    found: dict[str, int] = {}
    for device in network.devices.values():
        for interface in device.interfaces.values():
            for direction in ("in", "out"):
                for service in RESERVED_SERVICES:
                    found[interface_resource(interface.id, direction, service)] = interface.share_bps(service)
    return found | {sls_resource(sls.name): sls.rate_bps for sls in network.sls.values()}
