"""The way out of a 12000: modified deficit round robin with WRED, in either of its two command lines (D7.3 §8.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slotcar.base.vocabulary import Service
from slotcar.network.model import Device
from slotcar.platforms.cisco_gsr.facts import GsrOptions, LowLatency
from slotcar.platforms.cisco_gsr.limits import (
    THRESHOLD,
    WEIGHT,
    WEIGHT_BYTES,
    capability_of,
    slot_of,
)
from slotcar.platforms.cisco_gsr.marks import (
    AF,
    BEST_EFFORT,
    EF,
    IN,
    OUT,
    PREMIUM,
    PROFILED_BYTES,
    PROFILES,
    QBSS,
    SCAVENGER,
)
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.ios.objects import (
    DEFAULT_CLASS,
    PREFIX,
    CosQueueGroup,
    DropProfile,
    PolicyClass,
    PrecedenceQueue,
    QueueWeight,
    RandomDetect,
    RxCosSlot,
    SlotTable,
)
from slotcar.platforms.model import Approximation, Unrenderable
from slotcar.platforms.options import options_of

#: IOS's default MTU by kind of interface: what a queue may send in a round at least.
MTU_BYTES, LARGE_MTU_BYTES = 1_500, 4_470
RECEIVE = f"{PREFIX}RX"


@dataclass(slots=True)
class Outputs:
    """The queueing of all interfaces, by name: policies or groups, and for each interface which of them is attached.

    `receive` are the receive sides' slot table and the slots that have it.
    """

    policies: dict[str, list[PolicyClass]] = field(default_factory=dict)
    groups: dict[str, CosQueueGroup] = field(default_factory=dict)
    output_policies: dict[str, str] = field(default_factory=dict)
    tx_cos: dict[str, str] = field(default_factory=dict)
    slot_table: SlotTable | None = None
    slots: tuple[RxCosSlot, ...] = ()
    approximations: tuple[Approximation, ...] = ()


@dataclass(frozen=True, slots=True)
class _Shares:
    """Percent by service, rounded up where something is promised; best effort has the rest. `queues` are the intent's."""

    where: str
    percents: dict[Service, int]
    queues: dict[Service, Queue]

    def profile(self, service: Service, precedence: int) -> DropProfile:
        """D7.3's thresholds, scaled to the queue."""
        low, high, denominator = PROFILES[precedence]
        size = min(self.queues[service].queue_bytes, PROFILED_BYTES)
        least = max(THRESHOLD.floor, low * size // PROFILED_BYTES)
        return DropProfile(precedence, least, max(least + 1, high * size // PROFILED_BYTES), denominator)

    @property
    def profiles(self) -> list[DropProfile]:
        kinds = {BEST_EFFORT: Service.BEST_EFFORT, SCAVENGER: Service.QBSS, OUT: Service.ASSURED_RATE}
        kinds[IN] = Service.ASSURED_RATE
        return [self.profile(service, one) for one, service in kinds.items() if service in self.percents]


def _shares_of(egress: Egress, device: Device, approximations: list[Approximation]) -> _Shares:
    """Shares are configured, not what is admitted now: they stay while reservations come and go (GARA §5.1).

    Raises:
        Unrenderable: more classes than queues, more than 100 % in all, or a subinterface.
    """
    where = f"{device.name} {egress.interface.name}"
    if "." in egress.interface.name:
        raise Unrenderable(f"{where}: a 12000 queues on the whole interface; give the inventory that one")
    queues = {queue.service: queue for queue in egress.queues}
    limits = capability_of(device)
    percents = {
        service: limits.weight.at_least(_percent(queues[service]), where, f"a share of {service.value}", "%")
        for service in (Service.IP_PREMIUM, Service.ASSURED_RATE, Service.QBSS)
        if _percent(queues[service])
    }
    if len(percents) + 1 > limits.queues and options_of(device, GsrOptions).approximate:
        name = egress.interface.name
        words = f"{name}: qbss waits in best effort's queue: {len(percents) + 1} classes, {limits.queues} queues"
        approximations.append(Approximation(device.name, f"{name} qbss queue", words))
        del percents[Service.QBSS]
    limits.check_queues(len(percents) + 1, where)
    limits.check_weights({service.value: percent for service, percent in percents.items()}, where)
    return _Shares(where, percents | {Service.BEST_EFFORT: 100 - sum(percents.values())}, queues)


def _percent(queue: Queue) -> int:
    """QBSS has 1 % at least (D7.3 §8.1.3)."""
    percent = -(-queue.share_ppm // 10_000)
    return max(1, percent) if queue.service is Service.QBSS else percent


# -- the modular command line ------------------------------------------------------------------------------------------


def policies(egresses: Iterable[Egress], device: Device) -> Outputs:
    """A policy map for each interface: premium in strict priority, the others by their share, WRED by precedence."""
    outputs, approximations = Outputs(), list[Approximation]()
    for egress in egresses:
        name = egress.interface.name
        shares = _shares_of(egress, device, approximations)
        policy = f"{PREFIX}OUT-{name}"
        outputs.policies[policy] = [_class(service, shares) for service in _NAMES if service in shares.percents]
        outputs.output_policies[name] = policy
    outputs.approximations = tuple(approximations)
    return outputs


#: Classes of the services, in the order in which they are asked.
_NAMES = {
    Service.IP_PREMIUM: EF,
    Service.ASSURED_RATE: AF,
    Service.QBSS: QBSS,
    Service.BEST_EFFORT: DEFAULT_CLASS,
}
_PRECEDENCES = {Service.ASSURED_RATE: (OUT, IN), Service.QBSS: (SCAVENGER,), Service.BEST_EFFORT: (BEST_EFFORT,)}


def _class(service: Service, shares: _Shares) -> PolicyClass:
    if service is Service.IP_PREMIUM:
        return PolicyClass(EF, priority=True)
    profiles = tuple(shares.profile(service, precedence) for precedence in _PRECEDENCES[service])
    return PolicyClass(
        _NAMES[service],
        bandwidth_percent=shares.percents[service],
        random_detect=RandomDetect("precedence", profiles),
    )


# -- cos-queue-groups --------------------------------------------------------------------------------------------------


def cos_queue_groups(egresses: Iterable[Egress], device: Device) -> Outputs:
    """A group for each interface's way out, and one for the way from its line cards into the fabric."""
    outputs, approximations = Outputs(), list[Approximation]()
    shares_of = [(egress.interface.name, _shares_of(egress, device, approximations)) for egress in egresses]
    for name, shares in shares_of:
        group = outputs.tx_cos[name] = f"{PREFIX}{name}"
        outputs.groups[group] = _group(group, shares, mtu_bytes(name), device)
    if shares_of:
        mtu = max(mtu_bytes(name) for name, _ in shares_of)
        outputs.groups[RECEIVE] = _group(RECEIVE, _received([one for _, one in shares_of]), mtu, device)
        outputs.slot_table = SlotTable(RECEIVE, RECEIVE)
        outputs.slots = tuple(
            RxCosSlot(slot, RECEIVE) for slot in sorted({slot_of(name, device) for name, _ in shares_of})
        )
    outputs.approximations = tuple(approximations)
    return outputs


def mtu_bytes(interface: str) -> int:
    return MTU_BYTES if "Ethernet" in interface else LARGE_MTU_BYTES


def _received(shares: Sequence[_Shares]) -> _Shares:
    """On the way into the fabric, for whatever way out: of each service the largest share and the longest queue."""
    services = {service for one in shares for service in one.percents}
    percents = {
        service: max(one.percents.get(service, 0) for one in shares) for service in _NAMES if service in services
    }
    longest = max(shares, key=lambda one: one.queues[Service.BEST_EFFORT].queue_bytes)
    return _Shares(f"{shares[0].where.split()[0]} receive side", percents, longest.queues)


def _group(name: str, shares: _Shares, mtu: int, device: Device) -> CosQueueGroup:
    weights = weights_of({s: p for s, p in shares.percents.items() if s is not Service.IP_PREMIUM}, mtu, shares.where)
    low_latency = _low_latency(shares, weights, mtu, device)
    profiles = sorted(shares.profiles, key=lambda one: one.point)
    labels = {profile.point for profile in profiles}
    queues = {precedence: str(_QUEUES[service]) for service in weights for precedence in _PRECEDENCES[service]}
    if low_latency:
        queues[PREMIUM] = "low-latency"
    return CosQueueGroup(
        name,
        tuple(PrecedenceQueue(one, queue, one in labels) for one, queue in sorted(queues.items())),
        tuple(QueueWeight(*one) for one in sorted((_QUEUES[service], weight) for service, weight in weights.items())),
        low_latency,
        tuple(profiles),
    )


_QUEUES = {Service.BEST_EFFORT: BEST_EFFORT, Service.QBSS: SCAVENGER, Service.ASSURED_RATE: IN}


def weights_of(percents: Mapping[Service, int], mtu: int, where: str) -> dict[Service, int]:
    """Weights whose quanta stand to each other as the shares do: what is promised is rounded up, best effort down.

    The smallest share gets one MTU a round.

    Raises:
        Unrenderable: the shares are further apart than the weights go.
    """
    smallest = min(percents.values())
    weights = {}
    for service, percent in percents.items():
        more = mtu * percent - mtu * smallest
        steps = more // (smallest * WEIGHT_BYTES)
        if service is not Service.BEST_EFFORT:
            steps = -(-more // (smallest * WEIGHT_BYTES))
        weights[service] = WEIGHT.at_least(1 + steps, where, f"a weight for {percent} % of {service.value}", "")
    return weights


def _low_latency(shares: _Shares, weights: Mapping[Service, int], mtu: int, device: Device) -> str:
    """How the low-latency queue is served. Alternating, it comes after each of the others, so its quantum is what it
    must send of a round's bytes, by the number of the others."""
    percent = shares.percents.get(Service.IP_PREMIUM)
    if percent is None:
        return ""
    if options_of(device, GsrOptions).low_latency is LowLatency.STRICT:
        return "strict-priority"
    others = sum(mtu + (weight - 1) * WEIGHT_BYTES for weight in weights.values())
    quantum = -(-percent * others // ((sum(shares.percents.values()) - percent) * len(weights)))
    weight = 1 + max(0, -(-(quantum - mtu) // WEIGHT_BYTES))
    weight = WEIGHT.at_least(weight, shares.where, f"a weight for {percent} % of ip-premium", "")
    return f"alternate-priority {weight}"
