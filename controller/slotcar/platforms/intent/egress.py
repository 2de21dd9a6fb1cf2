"""Queues of every egress interface: what the admitted set is guaranteed, and what the rest may take."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from slotcar.admission.arithmetic import scaled_up
from slotcar.admission.resource_id import ResourceId, interface_resource
from slotcar.base.assured import UNNAMED, AssuredClass
from slotcar.base.vocabulary import DSCP, Service
from slotcar.book.crowds import Crowd
from slotcar.network.model import Interface, InterfaceId, Network
from slotcar.network.path.model import Path
from slotcar.network.shaping import Shaper, shapers_at
from slotcar.platforms.intent.flows import Policed, committed, first_ingress
from slotcar.platforms.intent.model import QBSS_LEAST_PPM, ActiveReservation, Egress, Queue

MILLION = 1_000_000
#: Time that a full queue takes to drain at the link's rate: the usual wide-area round trip for TCP's sake.
QUEUE_US = 50_000
QUEUE_FLOOR_BYTES = 30_000
QUEUE_CEILING_BYTES = 8_000_000
#: What bursts may have become on their way to a queue, where a worst delay is promised there: nothing of it is to be lost.
GROWN_BURSTS = 8
#: QBSS's queue is this part of best effort's at every capacity: it must lose before best effort does (D7.3 §8.1.3,
#: requirement 1).
QBSS_QUEUE_PART = 5
RANK: dict[Service, int] = {
    Service.IP_PREMIUM: 0,
    Service.ASSURED_RATE: 1,
    Service.BEST_EFFORT: 2,
    Service.QBSS: 3,
}


@dataclass(slots=True)
class Load:
    """Sums over the active set.

    Attributes:
        rate_bps: by resource.
        premium_burst_bytes: by egress, what conforming premium flows may send at once, as frames: so what their queue must
            hold.
        bounded: the services' ways out on which an open slot is promised a worst delay.
        shapers: what ways out are held to towards SLSs.
    """

    rate_bps: dict[ResourceId, int] = field(default_factory=dict)
    premium_burst_bytes: dict[InterfaceId, int] = field(default_factory=dict)
    bounded: set[ResourceId] = field(default_factory=set)
    shapers: dict[ResourceId, Shaper] = field(default_factory=dict)


def outbound(interface: Interface, service: Service, assured_class: str = "") -> ResourceId:
    """A service's share, or that of one of its classes, of the interface's way out."""
    return interface_resource(interface.id, "out", service, assured_class)


def load_of(
    active: Iterable[ActiveReservation],
    network: Network,
    devices: Collection[str] | None = None,
    beside: Load | None = None,
    at: datetime | None = None,
) -> Load:
    """What the active slots ask of every egress, in layer-2 rate as they were admitted.

    With `devices` the bursts are summed on these alone: what they are on the others is asked of nobody. `beside` is added.
    `at` is the instant, for the validity of the SLSs that are shaped to; without it every SLS is taken as valid.
    """
    load = Load(shapers=shapers_of(network, at))
    if beside:
        load.rate_bps, load.bounded = dict(beside.rate_bps), set(beside.bounded)
        load.premium_burst_bytes = dict(beside.premium_burst_bytes)
    rates_bps = load.rate_bps
    for one in active:
        entry, slot_number = one.entry, one.slot_number
        for demand in entry.demands:
            rates_bps[demand.resource] = rates_bps.get(demand.resource, 0) + demand.amount(slot_number)
        reservation = entry.reservation
        if reservation.is_bounded:
            load.bounded |= {demand.resource for demand in entry.demands if demand.resource.is_outbound}
        if reservation.service is Service.IP_PREMIUM:
            slot = one.slot
            bursts = [
                _bursts(reservation, path, (slot.rate_bps(way),), network, devices)
                for way, path in zip(reservation.ways, entry.paths, strict=True)
            ]
            if reservation.receivers:  # what several of them get leaves by an egress once
                bursts = [{egress: size for of_path in bursts for egress, size in of_path.items()}]
            for of_path in bursts:
                _add(load.premium_burst_bytes, of_path)
    return load


def shapers_of(network: Network, at: datetime | None) -> dict[ResourceId, Shaper]:
    """By way out, the shaper towards the SLS that is valid at the instant; of several, the slowest rate and the shortest
    bucket."""
    shapers: dict[ResourceId, Shaper] = {}
    for interface, sls, shaper in shapers_at(network, at):
        name = interface.class_of(sls.assured_class) if sls.service is Service.ASSURED_RATE else ""
        resource = outbound(interface, sls.service, name)
        other = shapers.get(resource, shaper)
        shapers[resource] = Shaper(min(shaper.rate_bps, other.rate_bps), min(shaper.burst_bytes, other.burst_bytes))
    return shapers


def load_of_crowds(crowds: Iterable[Crowd], network: Network, devices: Collection[str]) -> Load:
    """As `load_of`, of crowds; a sum on each interface of the devices."""
    load = Load()
    for one in crowds:
        for resource, amount in one.amounts.items():
            load.rate_bps[resource] = load.rate_bps.get(resource, 0) + amount
        if one.service is Service.IP_PREMIUM:
            for path, rates_bps in zip(one.paths, one.rates_bps.values(), strict=True):
                _add(load.premium_burst_bytes, _bursts(one, path, rates_bps, network, devices))
    return load


def _add(sums: dict[InterfaceId, int], more: Mapping[InterfaceId, int]) -> None:
    for egress, size in more.items():
        sums[egress] = sums.get(egress, 0) + size


def _bursts(
    policed: Policed, path: Path, rates_bps: Iterable[int], network: Network, devices: Collection[str] | None
) -> dict[InterfaceId, int]:
    """By egress, of one or more that take the same path; `rates_bps` has the rate of each of them."""
    bursts: dict[InterfaceId, int] = {}
    ingress = first_ingress(path, network)
    if ingress is None:
        return bursts
    device, size = network.devices[ingress.device], policed.packet_size_bytes
    own = [committed(policed, rate_bps, device)[1] for rate_bps in rates_bps if rate_bps]
    if not own:
        return bursts
    for hop in path.hops:
        egress = hop.egress
        if devices is not None and egress.device not in devices:
            continue
        wire_bytes = size + network.interface(egress).overhead_bytes
        added = [scaled_up(burst, wire_bytes, size) for burst in own]
        bursts[egress] = bursts.get(egress, 0) + sum(added)
    return bursts


def egress_of(interface: Interface, load: Load) -> Egress:
    """All queues of one interface, by rank: one of each service, and of the assured rate one of each of its classes.
    Where a class has QBSS's code point there is no queue for QBSS.

    Reserved services are guaranteed what is admitted now, never more than their share, and all of that while a worst delay
    is promised there; QBSS 1 % at least; best effort what is left. The sum of the guarantees is the link at most.
    """
    capacity_bps = interface.capacity_bps
    premium_bps = _guaranteed(interface, Service.IP_PREMIUM, load)
    classes = interface.assured_classes or (UNNAMED,)
    assured = [(one, _guaranteed(interface, Service.ASSURED_RATE, load, one.name)) for one in classes]
    unreserved_bps = max(0, capacity_bps - premium_bps - sum(rate_bps for _, rate_bps in assured))
    offers_qbss = all(DSCP[Service.QBSS] not in one.dscps for one in classes)
    qbss_ppm = max(QBSS_LEAST_PPM, interface.shares_ppm.get(Service.QBSS, 0)) if offers_qbss else 0
    qbss_bps = min(-(-capacity_bps * qbss_ppm // MILLION), unreserved_bps)
    queues = [
        _queue(interface, Service.IP_PREMIUM, premium_bps, load),
        *(_of_class(_queue(interface, Service.ASSURED_RATE, bps, load, one.name), one) for one, bps in assured),
        _queue(interface, Service.BEST_EFFORT, unreserved_bps - qbss_bps, load),
    ]
    if offers_qbss:
        queues.append(_queue(interface, Service.QBSS, qbss_bps, load))
    return Egress(interface=interface.id, capacity_bps=capacity_bps, queues=tuple(queues))


def _of_class(queue: Queue, one: AssuredClass) -> Queue:
    """The queue of a class, with its own share and length."""
    if not one.name:
        return queue
    length_us = QUEUE_US if one.queue_us is None else one.queue_us
    wanted_bytes = queue.ceiling_bps * length_us // (8 * MILLION)
    queue_bytes = min(max(wanted_bytes, QUEUE_FLOOR_BYTES), QUEUE_CEILING_BYTES)
    return replace(queue, share_ppm=one.share_ppm, queue_bytes=queue_bytes, assured=one)


def _guaranteed(interface: Interface, service: Service, load: Load, assured_class: str = "") -> int:
    """With what is admitted alone, a burst that waits would be served the more slowly the more others have ended. What is
    shaped can use no more than its shaper lets it."""
    resource, share_bps = outbound(interface, service, assured_class), interface.share_bps(service, assured_class)
    if resource in load.shapers:
        share_bps = min(share_bps, load.shapers[resource].rate_bps)
    return share_bps if resource in load.bounded else min(load.rate_bps.get(resource, 0), share_bps)


def _queue(interface: Interface, service: Service, rate_bps: int, load: Load, assured_class: str = "") -> Queue:
    premium = service is Service.IP_PREMIUM
    ceiling_bps = interface.share_bps(service) if premium else interface.capacity_bps
    shaper = load.shapers.get(outbound(interface, service, assured_class))
    if shaper is not None:
        ceiling_bps = min(ceiling_bps, shaper.rate_bps)
    if premium:
        wanted_bytes = load.premium_burst_bytes.get(interface.id, 0)
        if outbound(interface, service) in load.bounded:
            wanted_bytes *= GROWN_BURSTS
    else:
        wanted_bytes = ceiling_bps * QUEUE_US // (8 * MILLION)
    queue_bytes = min(max(wanted_bytes, QUEUE_FLOOR_BYTES), QUEUE_CEILING_BYTES)
    return Queue(
        service=service,
        rate_bps=rate_bps,
        share_ppm=_share_ppm(interface, service),
        ceiling_bps=ceiling_bps,
        rank=RANK[service],
        queue_bytes=queue_bytes // QBSS_QUEUE_PART if service is Service.QBSS else queue_bytes,
        shaper=shaper,
    )


def _share_ppm(interface: Interface, service: Service) -> int:
    """The configured share; best effort's is what the others leave."""
    if service is not Service.BEST_EFFORT:
        return interface.shares_ppm.get(service, 0)
    others = sum(share for name, share in interface.shares_ppm.items() if name is not Service.BEST_EFFORT)
    return max(0, MILLION - others)
