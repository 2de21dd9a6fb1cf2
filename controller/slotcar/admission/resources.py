"""From a reservation and its paths to demands on resources, and from a network to the resources' capacities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from slotcar.admission.arithmetic import payload_bytes, scaled_up
from slotcar.admission.model import Demand
from slotcar.admission.resource_id import SLS, ResourceId, interface_resource, managed_resource, sls_resource
from slotcar.base.problems import SlotcarError
from slotcar.base.vocabulary import RESERVED_SERVICES, Direction, Service
from slotcar.managers import ManagerError, manager_of, managers, option_words, request_of
from slotcar.network.model import Interface, Network
from slotcar.network.path.model import Path
from slotcar.network.shaping import extra_bytes
from slotcar.reservation.model import Claim, Reservation


class UnknownClaimedResource(SlotcarError):
    """A claim is on something that the inventory has not; the message says what there is."""


def demands(reservation: Reservation, paths: Sequence[Path], network: Network) -> tuple[Demand, ...]:
    """What the reservation asks of every resource that its paths cross, in their order, each resource once.

    `paths`: one for each direction of the reservation, forward first; of a multicast reservation one to each receiver, and
    what several of them cross carries each packet once.
    An interface's share is a layer-2 rate with that link's own overhead, an SLS's a layer-3 rate, or what shaping towards
    it takes (`slotcar.network.shaping`). Devices of over-provisioned domains are crossed without a demand (D7.3 §3.2.1). A
    resource that is crossed more than once (a pinned path that turns back) is asked for the multiple.

    Raises:
        KeyError: a path names an interface that the network has not.
        ValueError: the packet size leaves no room for payload.
    """
    if reservation.claim is not None:
        return claimed(reservation.claim, network)
    if reservation.service not in RESERVED_SERVICES:
        return ()
    #: By resource: what a payload's packet costs there on its way forward, and on its way back.
    wire: dict[ResourceId, tuple[int, int]] = {}
    for direction, path in zip(reservation.ways, paths, strict=True):
        for resource, overhead_bytes in crossed_by(path, reservation, network):
            forward, reverse = wire.get(resource, (0, 0)) if not reservation.receivers else (0, 0)
            size = reservation.packet_size_bytes + overhead_bytes
            forward, reverse = (
                (forward + size, reverse) if direction is Direction.FORWARD else (forward, reverse + size)
            )
            wire[resource] = forward, reverse
    payload = payload_bytes(reservation.packet_size_bytes, reservation.protocol)
    rates = [slot.rates for slot in reservation.slots]
    if len(set(rates)) == 1:
        rates = rates[:1]
    return tuple(
        Demand(resource, _amounts(rates, wire_bytes, payload), sum(wire_bytes), payload)
        for resource, wire_bytes in wire.items()
    )


def claimed(claim: Claim, network: Network) -> tuple[Demand, ...]:
    """What a claim takes of its place, part by part.

    Raises:
        UnknownClaimedResource: no installed manager has the kind, or takes the request, or the place has nothing of it; or
            an option of the request is no word.
    """
    manager, device = manager_of(claim.kind), network.devices.get(claim.place)
    if manager is None:
        raise UnknownClaimedResource(f"no resource manager for {claim.kind} is installed: {_there_are(managers())}")
    capacities = device.capacities_of(claim.kind) if device else {}
    if not capacities:
        places = [name for name, one in network.devices.items() if one.capacities_of(claim.kind)]
        raise UnknownClaimedResource(f"{claim.place} has no {claim.kind} to reserve: {_there_are(places)}")
    request = request_of(claim.kind, claim.request)
    if request is None or request.place != claim.place:
        raise UnknownClaimedResource(f"what is claimed of {claim.place} is not a request that {claim.kind} takes")
    try:
        option_words(manager, request)
        amounts = manager.amounts(request, capacities)
    except ManagerError as error:
        raise UnknownClaimedResource(str(error)) from error
    return tuple(
        Demand.constant(managed_resource(claim.kind, claim.place, part), amount)
        for part, amount in sorted(amounts.items())
    )


def _there_are(names: Iterable[str]) -> str:
    return f"there are {', '.join(listed)}" if (listed := sorted(names)) else "there is none"


def background_factors(network: Network, resources: Iterable[ResourceId]) -> dict[ResourceId, int]:
    """What background may have of what is left of resources, parts per million: as their interface says, an SLS's as
    its ingress says. Only of those that the network has.
    """
    interfaces = {
        interface.id: interface for device in network.devices.values() for interface in device.interfaces.values()
    }
    factors = {}
    for resource in resources:
        agreement = network.sls.get(resource.place) if resource.kind == SLS else None
        place = agreement.ingress if agreement else resource.interface
        if place in interfaces:
            factors[resource] = interfaces[place].background_ppm
    return factors


def _amounts(rates_bps: Sequence[tuple[int, int]], wire_bytes: tuple[int, int], payload: int) -> tuple[int, ...]:
    """The wire's rate for each forward and reverse payload rate, rounded up; one alone where all are the same."""
    amounts = tuple(
        scaled_up(1, forward_bps * wire_bytes[0] + reverse_bps * wire_bytes[1], payload)
        for forward_bps, reverse_bps in rates_bps
    )
    return amounts[:1] if len(set(amounts)) == 1 else amounts


def crossed_by(path: Path, reservation: Reservation, network: Network) -> Iterator[tuple[ResourceId, int]]:
    """Resources of one direction's path with the bytes that a packet costs there beside IP's. Where a domain has classes of
    the assured rate, of that of the reservation's.

    Raises:
        KeyError: the path names an interface that the network has not.
    """
    for hop in path.hops:
        if hop.device in path.unreserved_devices or network.domain_of(hop.ingress).is_unreserved:
            continue
        for place, direction in ((hop.ingress, "in"), (hop.egress, "out")):
            interface = network.interface(place)
            name = interface.class_of(reservation.assured_class or "")
            yield interface_resource(place, direction, reservation.service, name), interface.overhead_bytes
    for name in path.sls:
        agreement = network.sls.get(name)
        extra = extra_bytes(agreement, reservation.packet_size_bytes, network) if agreement else 0
        yield sls_resource(name), extra


def parts_of(interface: Interface) -> list[tuple[Service, str]]:
    """The services that are promised a rate on an interface, the assured rate once for each of its classes by name."""
    classes = [one.name for one in interface.assured_classes] or [""]
    return [
        (service, name)
        for service in RESERVED_SERVICES
        for name in (classes if service is Service.ASSURED_RATE else [""])
    ]


def capacities(network: Network) -> dict[ResourceId, int]:
    """Capacity of every resource of the network: bits per second, and of a manager's resource the manager's unit.

    Of an interface, the service's configured share of the link in each direction (0 where it has none), or that of each of
    its classes; of an SLS, its agreed rate. When an SLS holds is for `decide` to see to.
    """
    shares: dict[ResourceId, int] = {}
    for device in network.devices.values():
        for kind, parts in device.resources.items():
            shares |= {managed_resource(kind, device.name, part): amount for part, amount in parts.items()}
        for interface in device.interfaces.values():
            for direction in ("in", "out"):
                for service, name in parts_of(interface):
                    resource = interface_resource(interface.id, direction, service, name)
                    shares[resource] = interface.share_bps(service, name)
    return shares | {sls_resource(sls.name): sls.rate_bps for sls in network.sls.values()}
