"""From intent to owned IOS objects: classify, police and mark on the way in, queue by code point on the way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.intent.model import AggregatePolicer, EdgeFlow, Egress, QosIntent, Queue
from controller.network.model import Device
from controller.render.cisco_mqc.limits import LONGEST_NAME, THRESHOLD, capability_of, has_hqf, shape_range_of
from controller.render.ios.ingress import check_classes, inputs_of, list_of
from controller.render.ios.owned import DEFAULT_CLASS, PREFIX, ClassMap, Owned, PolicyClass, ranked
from controller.render.ios.words import DSCP_NAMES
from controller.render.model import Unrenderable
from controller.render.text import Family
from controller.vocabulary import ASSURED_DSCPS, DSCP, Service

TEMPLATES = Family("cisco")
GREEN, YELLOW, RED = (DSCP_NAMES[dscp] for dscp in ASSURED_DSCPS)
PREMIUM, SCAVENGER, BEST_EFFORT = (
    DSCP_NAMES[DSCP[service]] for service in (Service.IP_PREMIUM, Service.QBSS, Service.BEST_EFFORT)
)
#: Standing classes and the code points in each.
EF, AF1, AF11, AF12, QBSS = (f"{PREFIX}{name}" for name in ("EF", "AF1", "AF11", "AF12", "QBSS"))
POINTS = {EF: (PREMIUM,), AF1: (GREEN, YELLOW, RED), AF11: (GREEN,), AF12: (YELLOW,), QBSS: (SCAVENGER,)}
#: Thresholds, percent of the queue: green, yellow, red of an assured rate (RFC 2597), then best effort. One packet in
#: `DENOMINATOR` is dropped or marked at the upper one.
PROFILES = {GREEN: (40, 80), YELLOW: (20, 40), RED: (5, 15)}
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


def owned_of(intent: QosIntent, device: Device) -> Owned:
    """
    Raises:
        Unrenderable: a rate, burst, share or name that IOS does not take, or more classes than a policy has.
    """
    inputs = _inputs(intent, device)
    outputs = [_Output(egress, device) for egress in intent.egress]
    policies = {f"{PREFIX}IN-{name}": classes for name, classes in inputs.items()}
    attached = {name: [TEMPLATES.line("mqc-attach", way="input", policy=f"{PREFIX}IN-{name}")] for name in inputs}
    for output in outputs:
        policies |= output.policies
        if output.attachment:
            attached.setdefault(output.name, []).append(output.attachment)
    used = {one.name for classes in policies.values() for one in classes}
    used |= {name for classes in policies.values() for one in classes for name in _colours(one)}
    flows = [flow for flow in intent.flows if f"{PREFIX}F{flow.number}" in used]
    class_maps = {name: _standing(points) for name, points in POINTS.items() if name in used}
    lists = {f"{PREFIX}F{flow.number}": list_of("mqc-list", flow) for flow in flows}
    class_maps |= {name: ClassMap("match-all", (TEMPLATES.line("mqc-match-list", acl=name),)) for name in lists}
    for name in policies:
        if len(name) > LONGEST_NAME:
            raise Unrenderable(
                f"{device.name}: a policy-map {name} is wanted, and names have {LONGEST_NAME} letters at most"
            )
    owned = Owned(
        lists=lists, class_maps=class_maps, interfaces={name: tuple(told) for name, told in attached.items()}
    )
    owned.policies.update({name: ranked(classes, owned) for name, classes in policies.items()})
    return owned


def _colours(one: PolicyClass) -> Iterator[str]:
    """Class maps that a colour-aware policer names."""
    for line in one.body:
        if line.startswith(" conform-color "):
            yield from line.split()[1::2]


def _standing(points: Iterable[str]) -> ClassMap:
    return ClassMap("match-all", (TEMPLATES.line("mqc-match-dscp", points=tuple(points)),))


# -- ingress -----------------------------------------------------------------------------------------------------------


def _inputs(intent: QosIntent, device: Device) -> dict[str, list[PolicyClass]]:
    found = inputs_of(
        intent,
        flow_body=lambda flow: _flow_body(flow, device),
        agreed_class=lambda aggregate: _agreed(aggregate, device),
        reset=TEMPLATES.lines("mqc-set", dscp=BEST_EFFORT),
        guarded={Service.IP_PREMIUM: EF, Service.ASSURED_RATE: AF1},
        order=POINTS,
    )
    check_classes(found, capability_of(device), device.name)
    return found


def _police(rate_bps: int, burst_bytes: int, where: str, device: Device) -> tuple[int, int]:
    limits = capability_of(device)
    rate_bps = limits.rate(rate_bps, where)
    return rate_bps, limits.burst(max(burst_bytes, -(-rate_bps * TICK_US // 8_000_000)), where)


def _flow_body(flow: EdgeFlow, device: Device) -> tuple[str, ...]:
    where = f"{flow.interface.device} {flow.interface.name}, {flow.label}"
    if flow.service not in (Service.IP_PREMIUM, Service.ASSURED_RATE):
        return TEMPLATES.lines("mqc-set", dscp=DSCP_NAMES[DSCP[flow.service]])
    cir_bps, bc_bytes = _police(flow.cir_bps, flow.cbs_bytes, where, device)
    if flow.service is Service.IP_PREMIUM:
        return TEMPLATES.lines(
            "mqc-police",
            cir_bps=cir_bps,
            bc_bytes=bc_bytes,
            conform=f"set-dscp-transmit {PREMIUM}",
            exceed="drop",
        )
    pir_bps, be_bytes = _police(flow.pir_bps, flow.pbs_bytes, where, device)
    return TEMPLATES.lines(
        "mqc-police-two-rate",
        cir_bps=cir_bps,
        bc_bytes=bc_bytes,
        pir_bps=pir_bps,
        be_bytes=be_bytes,
        conform=f"set-dscp-transmit {GREEN}",
        exceed=f"set-dscp-transmit {YELLOW}",
        violate=f"set-dscp-transmit {RED}",
    )


def _agreed(aggregate: AggregatePolicer, device: Device) -> PolicyClass:
    """An SLS (GARA §4.2). Of an assured rate it is the green traffic that has an agreed rate; yellow and red pass as
    what they are, first to be dropped, as on the other platforms."""
    where = f"{aggregate.interface.device} {aggregate.interface.name}, SLS {aggregate.sls}"
    cir_bps, bc_bytes = _police(aggregate.rate_bps, aggregate.burst_bytes, where, device)
    assured = aggregate.service is Service.ASSURED_RATE
    if assured and device.options.get("colour_aware", False):
        return PolicyClass(AF1, _colour_aware(cir_bps, bc_bytes, aggregate.excess))
    name = {Service.IP_PREMIUM: EF, Service.ASSURED_RATE: AF11}.get(aggregate.service)
    if name is None:
        raise Unrenderable(f"{where}: cisco-mqc polices no aggregate of {aggregate.service.value}")
    body = TEMPLATES.lines(
        "mqc-police",
        cir_bps=cir_bps,
        bc_bytes=bc_bytes,
        conform="transmit",
        exceed="drop" if aggregate.excess == "drop" else f"set-dscp-transmit {BEST_EFFORT}",
    )
    return PolicyClass(name, body)


def _colour_aware(cir_bps: int, bc_bytes: int, excess: str) -> tuple[str, ...]:
    """RFC 2697, colour-aware, over all three colours: what exceeds becomes yellow, what exceeds that too becomes red."""
    return TEMPLATES.lines(
        "mqc-police-colour-aware",
        cir_bps=cir_bps,
        bc_bytes=bc_bytes,
        be_bytes=bc_bytes,
        conform="transmit",
        exceed="drop" if excess == "drop" else f"set-dscp-transmit {YELLOW}",
        violate="drop" if excess == "drop" else f"set-dscp-transmit {RED}",
        green=AF11,
        yellow=AF12,
    )


# -- egress ------------------------------------------------------------------------------------------------------------


class _Output:
    """The queueing of one interface: its policy maps, and the line that attaches them. None without a share."""

    def __init__(self, egress: Egress, device: Device) -> None:
        self.name = egress.interface.name
        self._egress = egress
        self._device = device
        self._where = f"{device.name} {self.name}"
        self._queues = {queue.service: queue for queue in egress.queues}
        shaped_bps = self._shaped_bps()
        self._capacity_bps = shaped_bps or egress.capacity_bps
        policy, parent = f"{PREFIX}OUT-{self.name}", f"{PREFIX}SHAPE-{self.name}"
        self.policies = {policy: self._classes()}
        if shaped_bps:
            body = TEMPLATES.lines("mqc-shape", rate_bps=shaped_bps, policy=policy)
            self.policies[parent] = [PolicyClass(DEFAULT_CLASS, body)]
        self.attachment = TEMPLATES.line("mqc-attach", way="output", policy=parent if shaped_bps else policy)

    def _shaped_bps(self) -> int | None:
        """The shaper's rate where the interface's own is higher: subinterfaces, and those of the option `shape`."""
        if "." in self.name and self.name.startswith("ATM"):
            raise Unrenderable(
                f"{self._where}: the policy of an ATM VC stands under its `pvc`, which the inventory does not name"
            )
        shaped = str(self._device.options.get("shape", "")).replace(",", " ").split()
        if "." not in self.name and self.name not in shaped:
            return None
        limits = shape_range_of(self._device)
        rate_bps = self._egress.capacity_bps // limits.grain * limits.grain  # down: the line takes no more
        if not limits.floor <= rate_bps <= limits.ceiling:
            raise Unrenderable(
                f"{self._where}: shaping to {self._egress.capacity_bps} bit/s wanted,"
                f" {limits.floor} to {limits.ceiling} can be"
            )
        return rate_bps

    def _classes(self) -> list[PolicyClass]:
        """Shares are configured, not what is admitted now: they stay while reservations come and go (GARA §5.1)."""
        limits = capability_of(self._device)
        named = ((Service.IP_PREMIUM, EF), (Service.ASSURED_RATE, AF1), (Service.QBSS, QBSS))
        percents = {
            name: limits.weight.at_least(self._percent(service), self._where, f"a share of {service.value}", "%")
            for service, name in named
            if self._percent(service)
        }
        limits.check_weights({name.removeprefix(PREFIX): percent for name, percent in percents.items()}, self._where)
        limits.check_queues(len(percents) + 1, self._where)
        bodies = {EF: self._premium, AF1: self._assured, QBSS: self._scavenger}
        classes = [PolicyClass(name, bodies[name](percent)) for name, percent in percents.items()]
        return [*classes, PolicyClass(DEFAULT_CLASS, self._best_effort())]

    def _percent(self, service: Service) -> int:
        """Rounded up, so that all of the share can be promised. QBSS has 1 % at least (D7.3 §8.1.3)."""
        share_bps = self._egress.capacity_bps * self._queues[service].share_ppm
        percent = -(-share_bps // (self._capacity_bps * 10_000))
        return max(1, percent) if service is Service.QBSS else percent

    def _premium(self, percent: int) -> tuple[str, ...]:
        return TEMPLATES.lines("mqc-queue-premium", percent=percent)

    def _assured(self, percent: int) -> tuple[str, ...]:
        queue = self._queues[Service.ASSURED_RATE]
        return TEMPLATES.lines(
            "mqc-queue-assured",
            percent=percent,
            limit_packets=self._limit(queue),
            profiles=[_profile(point, queue, *shares) for point, shares in sorted(PROFILES.items())],
            ecn=self._ecn(),
        )

    def _scavenger(self, percent: int) -> tuple[str, ...]:
        limit = self._limit(self._queues[Service.QBSS])
        limit = limit and min(limit, SCAVENGER_PACKETS)
        return TEMPLATES.lines("mqc-queue-scavenger", percent=percent, limit_packets=limit)

    def _best_effort(self) -> tuple[str, ...]:
        queue = self._queues[Service.BEST_EFFORT]
        return TEMPLATES.lines(
            "mqc-queue-default",
            limit_packets=self._limit(queue),
            profile=_profile(BEST_EFFORT, queue, *BEST_EFFORT_PROFILE),
            ecn=self._ecn(),
        )

    def _limit(self, queue: Queue) -> int | None:
        """Packets that wait; before HQF a class with WRED has no limit of its own. IOS's default is not printed."""
        if not has_hqf(self._device):
            return None
        packets = min(THRESHOLD.ceiling, -(-queue.queue_bytes // PACKET_BYTES))
        return packets if packets != DEFAULT_LIMIT_PACKETS else packets + 1

    def _ecn(self) -> bool:
        return bool(self._device.options.get("ecn", True))


def _profile(point: str, queue: Queue, low: int, high: int) -> dict[str, str | int]:
    packets = min(THRESHOLD.ceiling, -(-queue.queue_bytes // PACKET_BYTES))
    least = max(THRESHOLD.floor, packets * low // 100)
    most = max(least + 1, packets * high // 100)
    return {"point": point, "min_packets": least, "max_packets": most, "denominator": DENOMINATOR}
