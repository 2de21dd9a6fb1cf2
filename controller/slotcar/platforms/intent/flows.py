"""Reserved flows at the place where they enter: match, rates and bursts (GARA §4.2, §5.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from slotcar.admission.arithmetic import burst_bytes, policer_rate_bps
from slotcar.base import vocabulary
from slotcar.base.assured import UNNAMED, AssuredClass
from slotcar.base.vocabulary import RESERVED_SERVICES, Direction, Service
from slotcar.book.model import Entry
from slotcar.network.model import Device, Interface, InterfaceId, Network
from slotcar.network.path.flow import flow_match
from slotcar.network.path.model import Path
from slotcar.platforms.intent.model import EdgeFlow, FlowMatch
from slotcar.reservation.model import Reservation, Slot

#: Peak rate of assured-rate over its committed rate: what is sent above the commitment is yellow up to here and red
#: beyond (RFC 2698). Nothing is promised for it, so admission does not count it.
PEAK_FACTOR = 2
#: Direction bit of a flow's number.
_BITS: dict[Direction, int] = {Direction.FORWARD: 0, Direction.REVERSE: 1}
#: Which service a flow gets when two reservations ask for the same packets.
_PRECEDENCE = (Service.IP_PREMIUM, Service.ASSURED_RATE, Service.QBSS, Service.BEST_EFFORT)


def flow_number(entry_number: int, bit: int) -> int:
    """The flow's number on every device, for its whole life: ledger number and direction bit."""
    return entry_number * 2 + bit


def flow_of_number(number: int) -> tuple[int, int]:
    """The entry's ledger number and the direction bit of a flow's number: the inverse of `flow_number`."""
    return divmod(number, 2)


def flows_of(entry: Entry, slot: Slot, network: Network, devices: Collection[str] | None = None) -> Iterator[EdgeFlow]:
    """The entry's flows while `slot` is open: one for each reserved direction, at its first ingress on a managed device.
    A direction without a rate in this slot has no flow, where the service is one that is promised a rate. With `devices`
    only the flows that enter at one of these.
    """
    reservation = entry.reservation
    if reservation.claim is not None:
        return
    promised = reservation.service in RESERVED_SERVICES
    for way, path, ingress in policed_paths(reservation, entry.paths, network):
        if ingress is None or (devices is not None and ingress.device not in devices):
            continue  # of thousands of flows that cross a core router, none enters there
        if (rate_bps := slot.rate_bps(way)) or not promised:
            yield _flow(entry, path, way, rate_bps, ingress, network.devices[ingress.device])


def policed_paths(
    reservation: Reservation, paths: Sequence[Path], network: Network
) -> Iterator[tuple[Direction, Path, InterfaceId | None]]:
    """The paths with their directions and first ingresses. Of those to the receivers of a multicast group that come in by
    one ingress only the first: there they are one flow.
    """
    ingresses: set[InterfaceId | None] = set()
    for way, path in zip(reservation.ways, paths, strict=True):
        ingress = first_ingress(path, network)
        if not reservation.receivers or ingress not in ingresses:
            yield way, path, ingress
        ingresses.add(ingress)


def first_ingress(path: Path, network: Network) -> InterfaceId | None:
    """Where the flow is classified: the first device that is not of an over-provisioned domain."""
    domains, devices = network.domains, network.devices
    for hop in path.hops:
        if hop.device not in path.unreserved_devices and not domains[devices[hop.device].domain].is_unreserved:
            return hop.ingress
    return None


class Policed(Protocol):
    """What a policer's numbers follow from, beside the rate."""

    @property
    def packet_size_bytes(self) -> int: ...

    @property
    def protocol(self) -> vocabulary.Protocol: ...

    @property
    def rtt_us(self) -> int: ...


def committed(reservation: Policed, payload_rate_bps: int, device: Device) -> tuple[int, int]:
    """Layer-3 rate and burst of a reservation's policer on `device` for a payload rate (GARA §5.1)."""
    return _committed(
        payload_rate_bps,
        reservation.packet_size_bytes,
        reservation.protocol,
        reservation.rtt_us,
        device.burst_floor_bytes,
        device.burst_ceiling_bytes,
    )


# A flow's numbers are asked for by its policer and by the queues of its path, and many flows have the same.
@lru_cache(maxsize=10_000)
def _committed(
    payload_rate_bps: int,
    packet_size_bytes: int,
    protocol: vocabulary.Protocol,
    rtt_us: int,
    floor_bytes: int,
    ceiling_bytes: int,
) -> tuple[int, int]:
    rate_bps = policer_rate_bps(payload_rate_bps, packet_size_bytes, protocol)
    return rate_bps, burst_bytes(rate_bps, rtt_us, protocol, floor_bytes, ceiling_bytes)


def _flow(
    entry: Entry, path: Path, way: Direction, payload_rate_bps: int, ingress: InterfaceId, device: Device
) -> EdgeFlow:
    reservation = entry.reservation
    cir_bps, cbs_bytes = committed(reservation, payload_rate_bps, device)
    pir_bps, pbs_bytes = cir_bps, cbs_bytes
    if reservation.service is Service.ASSURED_RATE:
        pir_bps = cir_bps * PEAK_FACTOR
        pbs_bytes = burst_bytes(
            pir_bps,
            reservation.rtt_us,
            reservation.protocol,
            device.burst_floor_bytes,
            device.burst_ceiling_bytes,
        )
    return EdgeFlow(
        interface=ingress,
        number=flow_number(entry.number, _BITS[way]),
        label=f"{reservation.owner}/{reservation.name} {way}",
        match=flow_match(reservation, path, way),
        service=reservation.service,
        cir_bps=cir_bps,
        cbs_bytes=cbs_bytes,
        pir_bps=pir_bps,
        pbs_bytes=pbs_bytes,
        assured=_class_of(reservation, device.interfaces[ingress.name]),
    )


def _class_of(reservation: Reservation, interface: Interface) -> AssuredClass:
    """Its class where it enters; of one that the inventory has no more nothing is left but the name's absence."""
    if reservation.service is not Service.ASSURED_RATE:
        return UNNAMED
    return next((one for one in interface.assured_classes if one.name == reservation.assured_class), UNNAMED)


def without_twins(flows: Iterable[EdgeFlow]) -> tuple[EdgeFlow, ...]:
    """Flows by interface and number, of which no two match the same packets.

    Two reservations between the same endpoints whose ports are not bound yet (GARA bind) cannot be told apart: they
    share one policer with the sum of their rates and bursts, under the lower number. Where their services differ, the
    higher one has the packets, and of two classes the first; the other's traffic is in it.
    """
    by_match: dict[tuple[str, FlowMatch], list[EdgeFlow]] = {}
    for flow in flows:
        by_match.setdefault((flow.interface.name, flow.match), []).append(flow)
    merged = [twins[0] if len(twins) == 1 else _merge(twins) for twins in by_match.values()]
    return tuple(sorted(merged, key=lambda flow: (flow.interface.name, flow.number)))


def _merge(twins: list[EdgeFlow]) -> EdgeFlow:
    best = min(twins, key=lambda flow: _PRECEDENCE.index(flow.service)).service
    first = min((flow for flow in twins if flow.service is best), key=lambda flow: (flow.assured.number, flow.number))
    same = sorted(
        (flow for flow in twins if (flow.service, flow.assured) == (best, first.assured)), key=lambda flow: flow.number
    )
    return replace(
        same[0],
        label=", ".join(flow.label for flow in same),
        cir_bps=sum(flow.cir_bps for flow in same),
        cbs_bytes=sum(flow.cbs_bytes for flow in same),
        pir_bps=sum(flow.pir_bps for flow in same),
        pbs_bytes=sum(flow.pbs_bytes for flow in same),
    )
