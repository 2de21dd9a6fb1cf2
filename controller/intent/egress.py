"""Queues of every egress interface: what the admitted set is guaranteed, and what the rest may take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controller.admission.arithmetic import scaled_up
from controller.intent.flows import committed, first_ingress
from controller.intent.model import Egress, Queue
from controller.ledger.model import Entry
from controller.network.model import Interface, Network
from controller.vocabulary import Service

MILLION = 1_000_000
#: D7.3 §8.1.3: QBSS has "a minimum bandwidth guarantee 1%".
QBSS_LEAST_PPM = 10_000
#: Time that a full queue takes to drain at the link's rate: the usual wide-area round trip for TCP's sake.
QUEUE_US = 50_000
QUEUE_FLOOR_BYTES = 30_000
QUEUE_CEILING_BYTES = 8_000_000
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
    """Sums over the active set. Keys are `if:DEVICE:INTERFACE:out:SERVICE`.

    `premium_burst_bytes`: what conforming premium flows may send at once, as frames, so what their queue must hold.
    """

    rate_bps: dict[str, int] = field(default_factory=dict)
    premium_burst_bytes: dict[str, int] = field(default_factory=dict)


def resource(interface: Interface, service: Service) -> str:
    """The name that admission gives to this interface's way out for a service."""
    return f"if:{interface.id.device}:{interface.id.name}:out:{service.value}"


def load_of(entries: Iterable[Entry], network: Network) -> Load:
    """What the entries ask of every egress, in layer-2 rate as they were admitted."""
    load = Load()
    for entry in entries:
        for demand in entry.demands:
            load.rate_bps[demand.resource] = load.rate_bps.get(demand.resource, 0) + demand.rate_bps
        if entry.reservation.service is Service.IP_PREMIUM:
            _add_bursts(load.premium_burst_bytes, entry, network)
    return load


def _add_bursts(bursts: dict[str, int], entry: Entry, network: Network) -> None:
    for path in entry.paths:
        ingress = first_ingress(path, network)
        if ingress is None:
            continue
        _, burst = committed(entry.reservation, network.devices[ingress.device])
        for hop in path.hops:
            interface = network.interface(hop.egress)
            name = resource(interface, Service.IP_PREMIUM)
            size = entry.reservation.packet_size_bytes
            bursts[name] = bursts.get(name, 0) + scaled_up(burst, size + interface.overhead_bytes, size)


def egress_of(interface: Interface, load: Load) -> Egress:
    """All four queues of one interface, strictly ranked.

    Reserved services are guaranteed what is admitted now, never more than their share; QBSS 1 % at least; best effort
    what is left. The sum of the guarantees is the link at most.
    """
    capacity_bps = interface.capacity_bps
    premium_bps = _admitted(interface, Service.IP_PREMIUM, load.rate_bps)
    assured_bps = _admitted(interface, Service.ASSURED_RATE, load.rate_bps)
    unreserved_bps = max(0, capacity_bps - premium_bps - assured_bps)
    qbss_ppm = max(QBSS_LEAST_PPM, interface.shares_ppm.get(Service.QBSS, 0))
    qbss_bps = min(-(-capacity_bps * qbss_ppm // MILLION), unreserved_bps)
    rates = {
        Service.IP_PREMIUM: premium_bps,
        Service.ASSURED_RATE: assured_bps,
        Service.BEST_EFFORT: unreserved_bps - qbss_bps,
        Service.QBSS: qbss_bps,
    }
    return Egress(
        interface=interface.id,
        capacity_bps=capacity_bps,
        queues=tuple(
            _queue(interface, service, rates[service], load) for service in sorted(RANK, key=RANK.__getitem__)
        ),
    )


def _admitted(interface: Interface, service: Service, rates: Mapping[str, int]) -> int:
    return min(rates.get(resource(interface, service), 0), interface.share_bps(service))


def _queue(interface: Interface, service: Service, rate_bps: int, load: Load) -> Queue:
    premium = service is Service.IP_PREMIUM
    if premium:
        wanted_bytes = load.premium_burst_bytes.get(resource(interface, service), 0)
    else:
        wanted_bytes = interface.capacity_bps * QUEUE_US // (8 * MILLION)
    queue_bytes = min(max(wanted_bytes, QUEUE_FLOOR_BYTES), QUEUE_CEILING_BYTES)
    return Queue(
        service=service,
        rate_bps=rate_bps,
        share_ppm=_share_ppm(interface, service),
        ceiling_bps=interface.share_bps(service) if premium else interface.capacity_bps,
        rank=RANK[service],
        queue_bytes=queue_bytes // QBSS_QUEUE_PART if service is Service.QBSS else queue_bytes,
    )


def _share_ppm(interface: Interface, service: Service) -> int:
    """The configured share; best effort's is what the others leave."""
    if service is not Service.BEST_EFFORT:
        return interface.shares_ppm.get(service, 0)
    others = sum(share for name, share in interface.shares_ppm.items() if name is not Service.BEST_EFFORT)
    return max(0, MILLION - others)
