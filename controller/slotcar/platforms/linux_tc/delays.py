"""What the kernel's schedulers surely give a queue, read off the very objects that are pushed.

HTB (net/sched/sch_htb.c): a class with tokens is served before any that borrows, and tokens come at the class's rate; so a
class gets its rate, whatever its rank. What has passed stands in the line's queue, first come, first served: of all classes
together at most their buckets and the link's. HFSC (Stoica, Zhang, Ng, SIGCOMM 1997, theorem 1): a real-time curve is kept
to within one packet of the link. ETS: strict bands, then deficit round robin (sch_ets.c).
"""

from __future__ import annotations

from dataclasses import replace

from slotcar.admission.service_curves import (
    ServiceCurve,
    TokenBucket,
    behind,
    deficit_round_robin,
    sending_ns,
    strict_priority,
)
from slotcar.base.vocabulary import LONGEST_PACKET_BYTES, Scheduler, Service
from slotcar.network.model import Device, Interface
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.linux_tc.limits import line_rate_bps
from slotcar.platforms.linux_tc.objects import EtsRoot, GredProfile, HfscClass, HtbClass, TcObject
from slotcar.platforms.linux_tc.queues import (
    AT_ONCE_PACKETS,
    OWN_WORK_NS,
    at_once_bytes,
    caught_up_bytes,
    minors_of,
    queues_of,
    shaped_at_once_bytes,
)
from slotcar.platforms.model import Unrenderable


def service_curve(egress: Egress, queue: Queue, device: Device, before: TokenBucket) -> ServiceCurve:
    """
    Raises:
        Unrenderable: the scheduler promises this service no time.
    """
    interface = device.interfaces[egress.interface.name]
    objects = queues_of(egress, interface, device).objects
    packet_bytes = LONGEST_PACKET_BYTES + interface.overhead_bytes
    if interface.scheduler is Scheduler.HTB:
        curve = _htb(objects, queue, egress, interface, packet_bytes)
    elif interface.scheduler is Scheduler.HFSC:
        curve = _hfsc(objects, queue, egress, interface, packet_bytes)
    else:
        curve = _ets(objects, queue, egress, device, before, packet_bytes)
    full_bytes = _full_bytes(objects, queue, interface, packet_bytes)
    return replace(curve, latency_ns=curve.latency_ns + OWN_WORK_NS, full_bytes=full_bytes)


def _full_bytes(objects: list[TcObject], queue: Queue, interface: Interface, packet_bytes: int) -> int | None:
    """An assured rate's excess waits in the same queue, of several classes in each one's own, and nobody polices how much
    of it there is."""
    if queue.service is not Service.ASSURED_RATE:
        return None
    minor = minors_of(interface)[queue.key]
    profiles = [one for one in objects if isinstance(one, GredProfile) and one.minor == minor]
    return sum(_most_of_a_colour(one, packet_bytes) for one in profiles)


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
    objects: list[TcObject], queue: Queue, egress: Egress, interface: Interface, packet_bytes: int
) -> ServiceCurve:
    classes = {one.minor: one for one in objects if isinstance(one, HtbClass)}
    own = classes[minors_of(interface)[queue.key]]
    at_once = at_once_bytes(classes.values(), packet_bytes)
    curve = ServiceCurve(own.rate_bps, sending_ns(at_once, egress.capacity_bps), output_bytes=at_once)
    if not queue.shaper:
        return curve
    shaped = shaped_at_once_bytes(list(classes.values()), own, interface)
    return replace(curve, output_bytes=shaped, output_bps=own.ceil_bps)


def _hfsc(
    objects: list[TcObject], queue: Queue, egress: Egress, interface: Interface, packet_bytes: int
) -> ServiceCurve:
    minor = minors_of(interface)[queue.key]
    own = next(one for one in objects if isinstance(one, HfscClass) and one.minor == minor)
    if own.real_time is None:
        raise Unrenderable(
            f"{egress.interface}: hfsc shares what is left by virtual time, which bounds no delay of {queue.key}; take"
            " htb or ets there"
        )
    at_once = AT_ONCE_PACKETS * packet_bytes
    curve = ServiceCurve(own.real_time.rate_bps, sending_ns(at_once, egress.capacity_bps), output_bytes=at_once)
    if not queue.shaper or own.upper_limit is None:
        return curve
    most_bps = own.upper_limit.rate_bps
    return replace(curve, output_bytes=caught_up_bytes(most_bps, interface), output_bps=most_bps)


def _ets(
    objects: list[TcObject],
    queue: Queue,
    egress: Egress,
    device: Device,
    before: TokenBucket,
    packet_bytes: int,
) -> ServiceCurve:
    line_bps = line_rate_bps(device, device.interfaces[egress.interface.name])
    if queue.service is Service.IP_PREMIUM:
        return strict_priority(line_bps, packet_bytes)
    root = next(one for one in objects if isinstance(one, EtsRoot))
    quanta = dict(zip([one.key for one in egress.queues[1:]], root.quanta, strict=True))
    others = [quantum for key, quantum in quanta.items() if key != queue.key]
    return deficit_round_robin(behind(line_bps, before, packet_bytes), quanta[queue.key], others, packet_bytes)
