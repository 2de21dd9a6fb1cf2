"""IOS's modular QoS, from intent to objects, for `cisco-mqc` and `cisco-iosxe-netconf`: classify, police and mark on the
way in, queue by code point on the way out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slotcar.base.assured import AssuredClass
from slotcar.base.units import format_rate
from slotcar.base.vocabulary import ASSURED_DSCPS, DSCP, RESERVED_SERVICES, Service
from slotcar.network.model import Device
from slotcar.network.shaping import Shaper
from slotcar.platforms.intent.model import AggregatePolicer, EdgeFlow, Egress, QosIntent, Queue
from slotcar.platforms.ios.class_names import all_of, arriving_of, conforming_of
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.facts import ModularOptions
from slotcar.platforms.ios.ingress import Ingress, check_names, input_policy, list_of, with_policies
from slotcar.platforms.ios.modular_limits import LONGEST_NAME, THRESHOLD, capability_of, has_hqf, shape_range_of
from slotcar.platforms.ios.objects import (
    DEFAULT_CLASS,
    FLOW,
    PREFIX,
    ClassMap,
    DropProfile,
    Interface,
    Mark,
    Match,
    Police,
    PolicyClass,
    RandomDetect,
    named,
)
from slotcar.platforms.ios.words import DSCP_NAMES
from slotcar.platforms.model import Approximation, Unrenderable
from slotcar.platforms.options import options_of
from slotcar.platforms.shaped import bucket_bytes

GREEN, YELLOW, RED = (DSCP_NAMES[dscp] for dscp in ASSURED_DSCPS)
PREMIUM, SCAVENGER, BEST_EFFORT = (
    DSCP_NAMES[DSCP[service]] for service in (Service.IP_PREMIUM, Service.QBSS, Service.BEST_EFFORT)
)
#: Standing classes and the code points in each.
EF, AF1, AF11, AF12, QBSS = (f"{PREFIX}{name}" for name in ("EF", "AF1", "AF11", "AF12", "QBSS"))
_OF_UNNAMED: dict[str, tuple[str, ...]] = {AF1: (GREEN, YELLOW, RED), AF11: (GREEN,), AF12: (YELLOW,)}
#: Thresholds, percent of the queue: green, yellow, red of an assured rate (RFC 2597), then best effort. One packet in
#: `DENOMINATOR` is dropped or marked at the upper one.
PROFILES = ((40, 80), (20, 40), (5, 15))
BEST_EFFORT_PROFILE = (25, 75)
DENOMINATOR = 10
#: WRED and queue limits count packets; these are full Ethernet ones.
PACKET_BYTES = 1_500
#: QBSS waits a fifth of what best effort may at most, as it must lose first (D7.3 §8.1.3, requirement 1).
SCAVENGER_PACKETS = THRESHOLD.ceiling // 5
#: A queue limit that IOS leaves out of what it prints.
DEFAULT_LIMIT_PACKETS = 64
#: IOS takes no burst of less than what the rate brings in this time: a tick of its policer, 4 ms.
TICK_US = 4_000


def owned_of(intent: QosIntent, device: Device) -> Ios:
    """
    Raises:
        Unrenderable: a rate, burst, share or name that IOS does not take, or more classes than a policy has.
    """
    ingress = _ingress(intent)
    inputs = ingress.inputs(intent, device, capability_of(device))
    outputs = [_Output(egress, device) for egress in intent.egress]
    policies = {input_policy(name): classes for name, classes in inputs.items()}
    for output in outputs:
        policies |= output.policies
    used = {one.name for classes in policies.values() for one in classes}
    used |= {color for classes in policies.values() for one in classes for color in _colors(one)}
    flows = [(flow, f"{FLOW}{flow.number}") for flow in intent.flows]
    flow_maps = [ClassMap(name, "match-all", (Match(acl=name),)) for _, name in flows if name in used]
    check_names(policies, "a policy-map", LONGEST_NAME, device)
    attached = {output.name: output.attached for output in outputs}
    owned = Ios(
        lists=named(list_of(flow, name, remark_last=True) for flow, name in flows if name in used),
        class_maps=named([*ingress.class_maps("match-all", used), *flow_maps]),
        interfaces={
            name: Interface(
                name,
                input_policy=input_policy(name) if name in inputs else "",
                output_policy=attached.get(name, ""),
            )
            for name in {**inputs, **attached}
        },
    )
    return with_policies(owned, policies)


def _colors(one: PolicyClass) -> tuple[str, ...]:
    """Class maps that a colour-aware policer names."""
    return (one.police.conform_color, one.police.exceed_color) if one.police else ()


# -- ingress -----------------------------------------------------------------------------------------------------------


def _rate(rate_bps: int, burst_bytes: int, where: str, device: Device) -> tuple[int, int]:
    limits = capability_of(device)
    rate_bps = limits.rate(rate_bps, where)
    return rate_bps, limits.burst(max(burst_bytes, -(-rate_bps * TICK_US // 8_000_000)), where)


def policer(flow: EdgeFlow, device: Device) -> tuple[int, int]:
    return _rate(flow.cir_bps, flow.cbs_bytes, _where(flow), device)


def _where(flow: EdgeFlow) -> str:
    return f"{flow.interface.device} {flow.interface.name}, {flow.label}"


def _flow_class(flow: EdgeFlow, name: str, device: Device) -> PolicyClass:
    if flow.service not in RESERVED_SERVICES:
        return PolicyClass(name, mark=Mark("dscp", DSCP_NAMES[DSCP[flow.service]]))
    cir_bps, bc_bytes = policer(flow, device)
    if flow.service is Service.IP_PREMIUM:
        return PolicyClass(name, police=Police(cir_bps, bc_bytes, f"set-dscp-transmit {PREMIUM}", "drop"))
    pir_bps, be_bytes = _rate(flow.pir_bps, flow.pbs_bytes, _where(flow), device)
    green, yellow, red = (f"set-dscp-transmit {point_of(dscp)}" for dscp in flow.assured.colours)
    return PolicyClass(name, police=Police(cir_bps, bc_bytes, green, yellow, red, pir_bps=pir_bps, be_bytes=be_bytes))


def point_of(dscp: int) -> str:
    """A code point as IOS prints it."""
    return DSCP_NAMES.get(dscp, str(dscp))


def _agreed(aggregate: AggregatePolicer, device: Device) -> list[PolicyClass]:
    """An SLS (GARA §4.2). Of an assured rate it is the green traffic that has an agreed rate; yellow and red pass as
    what they are, first to be dropped, as on the other platforms."""
    where = f"{aggregate.interface.device} {aggregate.interface.name}, SLS {aggregate.sls}"
    cir_bps, bc_bytes = _rate(aggregate.rate_bps, aggregate.burst_bytes, where, device)
    drops = aggregate.excess == "drop"
    exceed = "drop" if drops else f"set-dscp-transmit {BEST_EFFORT}"
    if aggregate.service is Service.ASSURED_RATE and (aggregate.assured.name or aggregate.arriving):
        require_one_colour(device, where)
    if aggregate.arriving:
        first, *others = arriving_of(aggregate)
        green, *colours = map(point_of, aggregate.own)
        marked = zip(others, colours, strict=False)
        police = Police(cir_bps, bc_bytes, f"set-dscp-transmit {green}", exceed)
        return [PolicyClass(first, police=police), *(PolicyClass(one, mark=Mark("dscp", to)) for one, to in marked)]
    if aggregate.assured.name:
        return [PolicyClass(conforming_of(aggregate.assured), police=Police(cir_bps, bc_bytes, "transmit", exceed))]
    if aggregate.service is Service.ASSURED_RATE and options_of(device, ModularOptions).colour_aware:
        # RFC 2697 over all three colours: what exceeds becomes yellow, what exceeds that too becomes red.
        yellow, red = ("drop" if drops else f"set-dscp-transmit {point}" for point in (YELLOW, RED))
        colors = {"be_bytes": bc_bytes, "conform_color": AF11, "exceed_color": AF12}
        return [PolicyClass(AF1, police=Police(cir_bps, bc_bytes, "transmit", yellow, red, **colors))]  # type: ignore[arg-type]
    name = {Service.IP_PREMIUM: EF, Service.ASSURED_RATE: AF11}.get(aggregate.service)
    if name is None:
        raise Unrenderable(f"{where}: {device.platform} polices no aggregate of {aggregate.service.value}")
    return [PolicyClass(name, police=Police(cir_bps, bc_bytes, "transmit", exceed))]


def require_one_colour(device: Device, where: str) -> None:
    """
    Raises:
        Unrenderable: a policer is to see colours, which are those of an assured rate without classes.
    """
    if options_of(device, ModularOptions).colour_aware:
        raise Unrenderable(
            f"{where}: a colour-aware policer is for an assured rate without classes, with its own code points; leave"
            " `colour_aware` out"
        )


def _ingress(intent: QosIntent) -> Ingress:
    """What comes in with code points that were agreed on is asked for before what has the domain's own."""
    points: dict[str, tuple[str, ...]] = {
        name: (point_of(dscp),)
        for one in intent.aggregates
        for name, dscp in zip(arriving_of(one), one.arriving, strict=True)
    }
    points[EF] = (PREMIUM,)
    guarded = {Service.IP_PREMIUM.value: EF}
    for one in intent.assured:
        guarded[one.key] = _class_name(one)
        names: dict[str, tuple[str, ...]] = _OF_UNNAMED
        if one.name:
            names = {all_of(one): tuple(map(point_of, one.dscps)), conforming_of(one): (point_of(one.dscps[0]),)}
        points |= names
    points[QBSS] = (SCAVENGER,)
    return Ingress(_flow_class, _agreed, best_effort=Mark("dscp", BEST_EFFORT), guarded=guarded, points=points)


def _class_name(one: AssuredClass) -> str:
    return all_of(one) if one.name else AF1


# -- egress ------------------------------------------------------------------------------------------------------------


class _Output:
    """The queueing of one interface: its policy maps, and which of them is attached."""

    def __init__(self, egress: Egress, device: Device) -> None:
        self.name = egress.interface.name
        self._egress = egress
        self._device = device
        self._where = f"{device.name} {self.name}"
        self._queues = {queue.key: queue for queue in egress.queues}
        shaped_bps = self._shaped_bps()
        self._capacity_bps = shaped_bps or egress.capacity_bps
        policy, parent = f"{PREFIX}OUT-{self.name}", f"{PREFIX}SHAPE-{self.name}"
        self.policies = {policy: self._classes()}
        if shaped_bps:
            self.policies[parent] = [PolicyClass(DEFAULT_CLASS, shape_bps=shaped_bps, service_policy=policy)]
        self.attached = parent if shaped_bps else policy

    def _shaped_bps(self) -> int | None:
        """The shaper's rate where the interface's own is higher: subinterfaces, and those of the option `shape`."""
        if "." in self.name and self.name.startswith("ATM"):
            raise Unrenderable(
                f"{self._where}: the policy of an ATM VC stands under its `pvc`, which the inventory does not name"
            )
        if "." not in self.name and self.name not in options_of(self._device, ModularOptions).shaped:
            return None
        limits = shape_range_of(self._device)
        rate_bps = self._egress.capacity_bps // limits.grain * limits.grain  # down: the line takes no more
        if not limits.floor <= rate_bps <= limits.ceiling:
            raise Unrenderable(
                f"{self._where}: shaping to {format_rate(self._egress.capacity_bps)} wanted, {format_rate(limits.floor)} to"
                f" {format_rate(limits.ceiling)} can be (slotcar_options.shape_at_most)"
            )
        return rate_bps

    def _classes(self) -> list[PolicyClass]:
        """Shares are configured, not what is admitted now: they stay while reservations come and go (GARA §5.1)."""
        limits = capability_of(self._device)
        percents = {
            queue.key: limits.weight.at_least(self._percent(queue), self._where, f"a share of {queue.key}", "%")
            for queue in self._egress.queues
            if queue.service is not Service.BEST_EFFORT and self._percent(queue)
        }
        names = {key: self._name(self._queues[key]) for key in percents}
        limits.check_weights({names[key].removeprefix(PREFIX): percents[key] for key in percents}, self._where)
        limits.check_queues(len(percents) + 1, self._where)
        classes = {
            Service.IP_PREMIUM: self._premium, Service.ASSURED_RATE: self._assured, Service.QBSS: self._scavenger,
        }  # fmt: skip
        queues = [(self._queues[key], percent) for key, percent in percents.items()]
        return [*(classes[queue.service](queue, percent) for queue, percent in queues), self._best_effort()]

    def _name(self, queue: Queue) -> str:
        if queue.service is Service.ASSURED_RATE:
            return _class_name(queue.assured)
        return EF if queue.service is Service.IP_PREMIUM else QBSS

    def _percent(self, queue: Queue) -> int:
        """Rounded up, so that all of the share can be promised. QBSS has 1 % at least (D7.3 §8.1.3). What is shaped needs
        no more than its shaper lets through."""
        share_bps = self._egress.capacity_bps * queue.share_ppm
        percent = -(-share_bps // (self._capacity_bps * 10_000))
        if queue.shaper is not None:
            percent = min(percent, -(-queue.shaper.rate_bps * 100 // self._capacity_bps))
        return max(1, percent) if queue.service is Service.QBSS else percent

    def _premium(self, queue: Queue, percent: int) -> PolicyClass:
        """A class has strict priority or a shaper, and not both (Cisco, `shape (policy-map class)`). What waits for the
        shaper was admitted, in packets of any size: its queue is as long as it may be."""
        if queue.shaper is None:
            return PolicyClass(EF, priority=True, priority_percent=percent)
        limit = THRESHOLD.ceiling if has_hqf(self._device) else None
        return self._towards_sls(PolicyClass(EF, bandwidth_percent=percent, queue_limit_packets=limit), queue.shaper)

    def _towards_sls(self, one: PolicyClass, shaper: Shaper | None) -> PolicyClass:
        if shaper is None:
            return one
        limits = shape_range_of(self._device)
        if not limits.floor <= shaper.rate_bps <= limits.ceiling:
            raise Unrenderable(
                f"{self._where}: shaping towards an SLS to {format_rate(shaper.rate_bps)} wanted,"
                f" {format_rate(limits.floor)} to {format_rate(limits.ceiling)} can be (slotcar_options.shape_at_most)"
            )
        return replace(one, shape_bps=shaper.rate_bps, shape_bc_bits=8 * bucket_bytes(shaper, self._where))

    def _assured(self, queue: Queue, percent: int) -> PolicyClass:
        profiles = tuple(sorted(_profiles(queue), key=lambda one: str(one.point)))
        assured = PolicyClass(
            self._name(queue),
            bandwidth_percent=percent,
            queue_limit_packets=self._limit(queue),
            random_detect=RandomDetect("dscp", profiles, self._ecn()),
        )
        return self._towards_sls(assured, queue.shaper)

    def _scavenger(self, queue: Queue, percent: int) -> PolicyClass:
        limit = self._limit(queue)
        limit = limit and min(limit, SCAVENGER_PACKETS)
        return PolicyClass(QBSS, bandwidth_percent=percent, queue_limit_packets=limit)

    def _best_effort(self) -> PolicyClass:
        queue = self._queues[Service.BEST_EFFORT]
        profile = _profile(BEST_EFFORT, queue, *BEST_EFFORT_PROFILE)
        return PolicyClass(
            DEFAULT_CLASS,
            fair_queue=True,
            queue_limit_packets=self._limit(queue),
            random_detect=RandomDetect("dscp", (profile,), self._ecn()),
        )

    def _limit(self, queue: Queue) -> int | None:
        """Packets that wait; before HQF a class with WRED has no limit of its own. IOS's default is not printed."""
        if not has_hqf(self._device):
            return None
        packets = min(THRESHOLD.ceiling, _packets(queue))
        return packets if packets != DEFAULT_LIMIT_PACKETS else packets + 1

    def _ecn(self) -> bool:
        return options_of(self._device, ModularOptions).ecn


def _packets(queue: Queue) -> int:
    return -(-queue.queue_bytes // PACKET_BYTES)


def approximations_of(intent: QosIntent, device: Device) -> tuple[Approximation, ...]:
    return (*_shorter_queues(intent, device), *_shaped_by_weight(intent, device))


def _shorter_queues(intent: QosIntent, device: Device) -> Iterator[Approximation]:
    """Where a queue or its profiles of WRED are shorter than wanted. Before HQF, QBSS's class has neither."""
    most = {Service.ASSURED_RATE: THRESHOLD.ceiling, Service.BEST_EFFORT: THRESHOLD.ceiling}
    what = "thresholds of WRED"
    if has_hqf(device):
        most[Service.QBSS] = SCAVENGER_PACKETS
        what = "queues and thresholds of WRED"
    for egress in intent.egress:
        name = egress.interface.name
        cut = ", ".join(
            f"{queue.key} {most[queue.service]} of {_packets(queue)}"
            for queue in egress.queues
            if _packets(queue) > most.get(queue.service, _packets(queue))
            and (queue.share_ppm or queue.service is not Service.ASSURED_RATE)
        )
        if cut:
            words = f"{name}: {what}, in full packets, are cut to {cut}"
            yield Approximation(device.name, f"{name} queue lengths", words)


def _shaped_by_weight(intent: QosIntent, device: Device) -> Iterator[Approximation]:
    """Where premium is shaped towards an SLS, and so served by its weight."""
    for egress in intent.egress:
        name = egress.interface.name
        if any(one.service is Service.IP_PREMIUM and one.shaper and one.share_ppm for one in egress.queues):
            words = (
                f"{name}: ip-premium is shaped towards an SLS, and IOS serves what it shapes by its weight, not before all"
                " others"
            )
            yield Approximation(device.name, f"{name} premium shaped", words)


def _profiles(queue: Queue) -> Iterator[DropProfile]:
    """WRED of each code point of an assured class: its own, or that of every assured rate."""
    points = map(point_of, queue.assured.dscps)
    if queue.assured.drops:
        for point, drop in zip(points, queue.assured.drops, strict=True):
            yield _profile(point, queue, drop.low_percent, drop.high_percent, drop.one_of)
    else:
        for point, ends in zip(points, PROFILES, strict=False):
            yield _profile(point, queue, *ends)


def _profile(point: str, queue: Queue, low: int, high: int, one_of: int = DENOMINATOR) -> DropProfile:
    packets = min(THRESHOLD.ceiling, _packets(queue))
    least = max(THRESHOLD.floor, packets * low // 100)
    most = max(least + 1, packets * high // 100)
    return DropProfile(point, least, most, one_of)
