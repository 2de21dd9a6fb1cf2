"""What the kernel's schedulers surely give a queue, read off the very objects that are pushed.

HTB (net/sched/sch_htb.c): a class with tokens is served before any that borrows, and tokens come at the class's rate; so a
class gets its rate, whatever its rank. What has passed stands in the line's queue, first come, first served: of all classes
together at most their buckets and the link's. HFSC (Stoica, Zhang, Ng, SIGCOMM 1997, theorem 1): a real-time curve is kept
to within one packet of the link. ETS: strict bands, then deficit round robin (sch_ets.c).
"""

from __future__ import annotations

from slotcar.admission.service_curves import (
    LONGEST_PACKET_BYTES,
    ServiceCurve,
    TokenBucket,
    behind,
    deficit_round_robin,
    sending_ns,
    strict_priority,
)
from slotcar.base.vocabulary import Scheduler, Service
from slotcar.network.model import Device, Interface
from slotcar.platforms.intent.model import Egress
from slotcar.platforms.linux_tc.limits import line_rate_bps
from slotcar.platforms.linux_tc.objects import EtsRoot, GredProfile, HfscClass, HtbClass, TcObject
from slotcar.platforms.linux_tc.queues import minors_of, queues_of
from slotcar.platforms.model import Unrenderable

#: What a router's own work adds, forwarding and late timers: a tick of a kernel of HZ=1000, where timers are not finer.
OWN_WORK_NS = 1_000_000


def service_curve(egress: Egress, service: Service, device: Device, before: TokenBucket) -> ServiceCurve:
    """
    Raises:
        Unrenderable: the scheduler promises this service no time.
    """
    interface = device.interfaces[egress.interface.name]
    objects = queues_of(egress, interface, device).objects
    packet_bytes = LONGEST_PACKET_BYTES + interface.overhead_bytes
    if interface.scheduler is Scheduler.HTB:
        curve = _htb(objects, service, egress, interface, packet_bytes)
    elif interface.scheduler is Scheduler.HFSC:
        curve = _hfsc(objects, service, egress, interface, packet_bytes)
    else:
        curve = _ets(objects, service, egress, device, before, packet_bytes)
    return ServiceCurve(
        curve.rate_bps,
        curve.latency_ns + OWN_WORK_NS,
        full_bytes=_full_bytes(objects, service, packet_bytes),
        output_bytes=curve.output_bytes,
    )


def _full_bytes(objects: list[TcObject], service: Service, packet_bytes: int) -> int | None:
    """An assured rate's excess waits in the same queue, and nobody polices how much of it there is."""
    if service is not Service.ASSURED_RATE:
        return None
    return sum(_most_of_a_colour(one, packet_bytes) for one in objects if isinstance(one, GredProfile))


def _most_of_a_colour(profile: GredProfile, packet_bytes: int) -> int:
    """GRED holds each colour to its own limit, and lets none in while its mean is above the upper threshold.

    With each packet that comes the mean makes up a 2**W-th of its distance to the queue, which grows by a packet at
    most: so it is never more than 2**W packets behind.
    """
    behind_packets = 1 << _weight_bits(profile.burst_packets, profile.min_bytes // profile.average_packet_bytes)
    return min(profile.limit_bytes, profile.max_bytes + (behind_packets + 1) * packet_bytes)


def _weight_bits(burst_packets: int, least_packets: int) -> int:
    """W of RED's mean, as tc takes it from a burst (iproute2, tc_red.c, tc_red_eval_ewma)."""
    above = burst_packets + 1 - least_packets
    return next(
        (bits for bits in range(1, 32) if above * 2**-bits <= 1 - (1 - 2**-bits) ** burst_packets),
        32,
    )


def _htb(
    objects: list[TcObject], service: Service, egress: Egress, interface: Interface, packet_bytes: int
) -> ServiceCurve:
    classes = {one.minor: one for one in objects if isinstance(one, HtbClass)}
    own = classes[minors_of(interface)[service]]
    at_once = sum(one.burst_bytes + packet_bytes for one in classes.values())
    return ServiceCurve(own.rate_bps, sending_ns(at_once, egress.capacity_bps), output_bytes=at_once)


def _hfsc(
    objects: list[TcObject], service: Service, egress: Egress, interface: Interface, packet_bytes: int
) -> ServiceCurve:
    minor = minors_of(interface)[service]
    own = next(one for one in objects if isinstance(one, HfscClass) and one.minor == minor)
    if own.real_time is None:
        raise Unrenderable(
            f"{egress.interface}: hfsc shares what is left by virtual time, which bounds no delay of {service}; take htb or"
            " ets there"
        )
    at_once = 3 * packet_bytes
    return ServiceCurve(own.real_time.rate_bps, sending_ns(at_once, egress.capacity_bps), output_bytes=at_once)


def _ets(
    objects: list[TcObject],
    service: Service,
    egress: Egress,
    device: Device,
    before: TokenBucket,
    packet_bytes: int,
) -> ServiceCurve:
    line_bps = line_rate_bps(device, device.interfaces[egress.interface.name])
    if service is Service.IP_PREMIUM:
        return strict_priority(line_bps, packet_bytes)
    root = next(one for one in objects if isinstance(one, EtsRoot))
    quanta = dict(zip([queue.key for queue in egress.queues[1:]], root.quanta, strict=True))
    others = [quantum for key, quantum in quanta.items() if key != service]
    return deficit_round_robin(behind(line_bps, before, packet_bytes), quanta[service], others, packet_bytes)
