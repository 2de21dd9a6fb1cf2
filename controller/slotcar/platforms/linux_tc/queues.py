"""Egress: the queues of an interface, served by the scheduler that the operator chose for it.

HTB holds the link's rate and serves by rank. Its guarantee is a token bucket, so a class whose rate is low waits long for
what is more than its bucket. HFSC parts delay from rate: premium's burst leaves in a bounded time, however low its rate.
ETS shapes nothing and costs least: for a line that is itself the bottleneck (D7.3 §8.1.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from slotcar.admission.service_curves import sending_ns, sent_bytes
from slotcar.base.assured import AssuredClass, EarlyDrop
from slotcar.base.vocabulary import LONGEST_PACKET_BYTES, Scheduler, Service
from slotcar.network.model import Device, Interface, InterfaceId
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.linux_tc import bands, numbers
from slotcar.platforms.linux_tc.facts import LinuxOptions
from slotcar.platforms.linux_tc.limits import (
    CAPABILITIES,
    ETS,
    HFSC,
    LINUX,
    line_rate_bps,
)
from slotcar.platforms.linux_tc.objects import (
    DEFAULT_MINOR,
    ONE_OF,
    Curve,
    EtsRoot,
    Fifo,
    Gred,
    GredProfile,
    HfscClass,
    HfscRoot,
    HtbClass,
    Red,
    Root,
    TcObject,
)
from slotcar.platforms.model import Approximation
from slotcar.platforms.options import options_of
from slotcar.platforms.shaped import require_room

#: What the kernel counts of an Ethernet frame without being told: the header.
COUNTED_OVERHEAD_BYTES = 14
#: How long a class of HTB may send at the link's speed before it waits: the kernel's timers are late by some of it.
BURST_US = 2_000
LEAST_BURST_BYTES = 3_200
#: What the classes of HTB and HFSC have of the link together. What their buckets, or a late timer's catching up,
#: let through at once stands in the line's own queue, before premium, until the line has been faster for long enough.
#: With all of the link that is never: 28 ms stood there, by guarantees of 10.5 Mb/s with bursts of 10 ms (EMERGE 1).
LINK_PERCENT = 99
#: Premium's guarantee over what is admitted: a class that drains as fast as it is filled keeps the queue that it once had
#: (D7.3 §8.1.1 over-estimates weights likewise). Premium is policed to what is admitted; best effort borrows the rest.
HEADROOM_PERCENT = 25
#: The most of best effort's own guarantee that goes into it.
LENT_PERCENT = 50
#: Thresholds of the drop profiles, percent of the queue: green, yellow, red of an assured rate, then best effort.
PROFILES = {n: EarlyDrop(*ends, ONE_OF[n]) for n, ends in {1: (40, 80), 2: (20, 40), 3: (5, 15)}.items()}
RED_PROFILE = (25, 75)
#: Priorities of packets that the kernel knows without a filter (TC_PRIO_MAX + 1): all of them are best effort.
PRIORITIES = 16
MICROSECOND_BITS = 8_000_000
#: What a router's own work adds, forwarding and late timers: a tick of a kernel of HZ=1000, where timers are not finer.
OWN_WORK_NS = 1_000_000
#: HFSC: packets that may stand in the line's queue, one of them early by its curve (Stoica, Zhang, Ng, theorem 1).
AT_ONCE_PACKETS = 3


@dataclass(slots=True)
class Queues:
    """An interface's objects, and what they do otherwise than wanted."""

    objects: list[TcObject] = field(default_factory=list)
    approximations: list[Approximation] = field(default_factory=list)


def minors_of(interface: Interface) -> dict[str, str]:
    """The number of the class of each service, and of each class of the assured rate; of ets it is that of its band."""
    assured = [one.key for one in interface.assured_classes] or [Service.ASSURED_RATE.value]
    keys = [Service.IP_PREMIUM.value, *assured, Service.BEST_EFFORT.value, Service.QBSS.value]
    if interface.scheduler is Scheduler.ETS:
        return {key: f"{band:x}" for band, key in enumerate(keys, 1)}
    return dict(zip(keys, ["10", *(f"2{number}" for number in range(len(assured))), "30", "40"], strict=True))


def queues_of(egress: Egress, interface: Interface, device: Device) -> Queues:
    """
    Raises:
        Unrenderable: the interface's scheduler cannot express what is wanted.
    """
    CAPABILITIES[interface.scheduler].check_queues(len(egress.queues), str(interface.id))
    if interface.scheduler is Scheduler.HFSC:
        return _hfsc(egress, interface, device)
    if interface.scheduler is Scheduler.ETS:
        return _ets(egress, interface, device)
    return Queues(list(_htb(egress, interface, device)))


def _rates(queue: Queue, capacity_bps: int) -> tuple[int, int]:
    """Guarantee and ceiling. The ceiling is rounded up: all of the share may be promised. That towards an SLS is not."""
    rounded_bps = numbers.rate_down(queue.ceiling_bps) if queue.shaper else numbers.rate_up(queue.ceiling_bps)
    ceil_bps = min(rounded_bps, capacity_bps)
    return min(numbers.rate_up(queue.rate_bps), ceil_bps), ceil_bps


def _overhead(interface: Interface) -> int:
    return max(0, interface.overhead_bytes - COUNTED_OVERHEAD_BYTES)


# -- htb ---------------------------------------------------------------------------------------------------------------


def _htb(egress: Egress, interface: Interface, device: Device) -> Iterator[TcObject]:
    name, capacity_bps = interface.id.name, numbers.rate_down(egress.capacity_bps * LINK_PERCENT // 100)
    overhead, minors = _overhead(interface), minors_of(interface)
    queues = list(_guaranteed(egress.queues, capacity_bps, egress.capacity_bps - capacity_bps))
    classes = [_class(name, minors[one.key], one.rank, *_rates(one, capacity_bps), overhead) for one in queues]
    link = _class(name, "1", None, capacity_bps, capacity_bps, overhead)
    for queue, own in zip(queues, classes, strict=True):
        if queue.shaper:
            require_room(queue.shaper, shaped_at_once_bytes([link, *classes], own, interface), str(interface.id))
    yield from (Root(name), link)
    for queue, own in zip(queues, classes, strict=True):
        yield own
        yield from _leaf(queue, own.minor, interface, device, egress.capacity_bps)


def at_once_bytes(classes: Iterable[HtbClass], packet_bytes: int) -> int:
    """What all of them together let through at once, which stands in the line's own queue: a bucket, and the packet with
    which it is overdrawn, of each."""
    return sum(one.burst_bytes + packet_bytes for one in classes)


def shaped_at_once_bytes(classes: Sequence[HtbClass], own: HtbClass, interface: Interface) -> int:
    """What may leave of a shaped class beyond its ceiling's rate: its bucket, a packet, and what comes behind them while
    they stand in the line's queue."""
    packet_bytes = LONGEST_PACKET_BYTES + interface.overhead_bytes
    waiting_ns = sending_ns(at_once_bytes(classes, packet_bytes), interface.capacity_bps)
    return own.cburst_bytes + packet_bytes + sent_bytes(own.ceil_bps, waiting_ns)


def _guaranteed(queues: Sequence[Queue], capacity_bps: int, spared_bps: int) -> Iterator[Queue]:
    """Best effort's guarantee gives what HTB spares of the link, and premium's headroom where anything is admitted."""
    rates = {queue.service: queue.rate_bps for queue in queues}
    left_bps = max(0, rates[Service.BEST_EFFORT] - spared_bps)
    extra_bps = min(rates[Service.IP_PREMIUM] * HEADROOM_PERCENT, left_bps * LENT_PERCENT) // 100
    for queue in queues:
        if queue.service is Service.IP_PREMIUM:
            most_bps = queue.shaper.rate_bps if queue.shaper else capacity_bps
            rate_bps = min(queue.rate_bps + extra_bps, most_bps)
            yield replace(queue, rate_bps=rate_bps, ceiling_bps=max(queue.ceiling_bps, rate_bps))
        elif queue.service is Service.BEST_EFFORT:
            yield replace(queue, rate_bps=left_bps - extra_bps)
        else:
            yield queue


def _class(device: str, minor: str, rank: int | None, rate_bps: int, ceil_bps: int, overhead: int) -> HtbClass:
    return HtbClass(device, minor, rank, rate_bps, ceil_bps, _burst(rate_bps), _burst(ceil_bps), overhead)


def _burst(rate_bps: int) -> int:
    return numbers.bucket_up(rate_bps, max(LEAST_BURST_BYTES, rate_bps * BURST_US // MICROSECOND_BITS))


# -- hfsc --------------------------------------------------------------------------------------------------------------


def _hfsc(egress: Egress, interface: Interface, device: Device) -> Queues:
    """Premium's promise is in time, the others' are parts of the link; nobody sends more than his ceiling."""
    where, name = str(interface.id), interface.id.name
    HFSC.weight.at_least(egress.capacity_bps, where, "a link's rate", "bit/s")
    delay_us = options_of(device, LinuxOptions).premium_delay_us
    capacity_bps = numbers.rate_down(egress.capacity_bps * LINK_PERCENT // 100)
    queues = Queues([HfscRoot(name, DEFAULT_MINOR, _overhead(interface))])
    queues.objects.append(HfscClass(name, "1", None, Curve(capacity_bps), Curve(capacity_bps)))
    rates, minors = _parts(egress, capacity_bps), minors_of(interface)
    for queue in egress.queues:
        minor, rate_bps, ceil_bps = minors[queue.key], rates[queue.key], _rates(queue, capacity_bps)[1]
        if queue.shaper:
            require_room(queue.shaper, caught_up_bytes(ceil_bps, interface), where)
        real_time = None
        if queue.service is Service.IP_PREMIUM:
            real_time = real_time_curve(rate_bps, ceil_bps, queue.queue_bytes, delay_us)
            queues.approximations += _late(interface.id, queue, real_time, delay_us)
        queues.objects.append(HfscClass(name, minor, real_time, Curve(rate_bps), Curve(ceil_bps)))
        queues.objects += _leaf(queue, minor, interface, device, egress.capacity_bps)
    over = ", ".join(f"{key} {bands.percent(rate_bps, sum(rates.values()))}" for key, rate_bps in rates.items())
    words = f"{name}: hfsc shares what is left over in proportion to the guarantees, not by rank: {over}"
    queues.approximations.append(Approximation(device.name, f"{name} hfsc shares", words))
    return queues


def caught_up_bytes(ceil_bps: int, interface: Interface) -> int:
    """What may leave of a class beyond its upper limit's rate: what a timer was late by, and packets on their way."""
    return AT_ONCE_PACKETS * (LONGEST_PACKET_BYTES + interface.overhead_bytes) + sent_bytes(ceil_bps, OWN_WORK_NS)


def _parts(egress: Egress, capacity_bps: int) -> dict[str, int]:
    """What each guarantee is of the link. They count against each other, so what the others' were rounded up by, best
    effort has less: together they are the link at most, and what is promised is not less than that.
    """
    rates = {queue.key: _rates(queue, capacity_bps)[0] for queue in egress.queues}
    best_effort = Service.BEST_EFFORT.value
    others_bps = sum(rate_bps for key, rate_bps in rates.items() if key != best_effort)
    return rates | {best_effort: numbers.rate_down(min(rates[best_effort], capacity_bps - others_bps))}


def real_time_curve(rate_bps: int, ceil_bps: int, burst_bytes: int, delay_us: int) -> Curve:
    """Serves a burst within the delay and then the rate: tc's `umax BURST dmax DELAY rate RATE`, in the numbers that tc
    prints. At most the ceiling: a shorter delay would take more of the link than premium's share. A burst that the rate
    itself serves in time needs no more than the rate.
    """
    burst_bps = min(numbers.rate_up(-(-burst_bytes * MICROSECOND_BITS // delay_us)), ceil_bps)
    if burst_bps <= rate_bps:
        return Curve(rate_bps)
    return Curve(rate_bps, burst_bps, numbers.time_up(-(-burst_bytes * MICROSECOND_BITS // burst_bps)))


def _late(place: InterfaceId, queue: Queue, curve: Curve, delay_us: int) -> Iterator[Approximation]:
    fastest_bps = max(curve.rate_bps, curve.burst_bps)
    takes_us = -(-queue.queue_bytes * MICROSECOND_BITS // fastest_bps)
    if queue.rate_bps and takes_us > delay_us:
        words = (
            f"{place.name}: a full queue of ip-premium, {queue.queue_bytes} bytes, takes {takes_us} us at its ceiling of"
            f" {fastest_bps} bit/s, {delay_us} us wanted"
        )
        yield Approximation(place.device, f"{place.name} ip-premium delay", words)


# -- ets ---------------------------------------------------------------------------------------------------------------


def _ets(egress: Egress, interface: Interface, device: Device) -> Queues:
    """Premium before all others, the others by deficit round robin, at whatever rate the line has."""
    where, name = str(interface.id), interface.id.name
    hint = "take htb or hfsc there, or say the line's own rate as slotcar_options.line_rate"
    ETS.check_line(egress.capacity_bps, line_rate_bps(device, interface), where, hint)
    round_ = bands.round_of(egress, where)
    minors = minors_of(interface)
    default = int(minors[Service.BEST_EFFORT], 16) - 1
    root = EtsRoot(name, 1, tuple(round_.quanta.values()), (default,) * PRIORITIES, _overhead(interface))
    queues = Queues([root], list(bands.approximations(egress, round_)))
    for queue in egress.queues:
        queues.objects += _leaf(queue, minors[queue.key], interface, device, egress.capacity_bps)
    return queues


# -- what waits --------------------------------------------------------------------------------------------------------


def _profiles(one: AssuredClass) -> dict[int, EarlyDrop]:
    """The drop profile of each code point of the class: its own, or those of every assured rate."""
    return dict(enumerate(one.drops or list(PROFILES.values())[: len(one.dscps)], 1))


def _leaf(queue: Queue, minor: str, interface: Interface, device: Device, capacity_bps: int) -> Iterator[TcObject]:
    name, limit, bandwidth_bps = interface.id.name, queue.queue_bytes, numbers.rate_down(capacity_bps)
    if queue.service is Service.ASSURED_RATE:
        profiles = _profiles(queue.assured)
        yield Gred(name, minor, limit, default=max(profiles))
        for profile, drop in profiles.items():
            yield GredProfile(
                name,
                minor,
                profile,
                limit_bytes=limit,
                min_bytes=limit * drop.low_percent // 100,
                max_bytes=limit * drop.high_percent // 100,
                priority=profile,
                ecn=LINUX.ecn,
                hard_drop=LINUX.ecn,
                bandwidth_bps=bandwidth_bps,
                one_of=drop.one_of,
            )
    elif queue.service is Service.BEST_EFFORT:
        low, high = RED_PROFILE
        denominator = options_of(device, LinuxOptions).mark_denominator
        thresholds = limit * low // 100, limit * high // 100
        yield Red(name, minor, limit, *thresholds, LINUX.ecn, LINUX.ecn, bandwidth_bps, denominator)
    else:
        yield Fifo(name, minor, limit)
