"""The way out of a 12000: modified deficit round robin with WRED, in either of its two command lines (D7.3 §8.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slotcar.base.vocabulary import PRECEDENCE, Service
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
    EF,
    GUARANTEED,
    PREMIUM,
    PROFILED_BYTES,
    PROFILES,
    QBSS,
    UNGUARANTEED,
    precedences_of,
)
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.ios.class_names import all_of
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
#: WRED counts packets; these are full Ethernet ones.
PACKET_BYTES = 1_500
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
    """Percent by queue, rounded up where something is promised; best effort has the rest. `queues` are the intent's."""

    where: str
    percents: dict[str, int]
    queues: dict[str, Queue]

    def profile(self, key: str, precedence: int) -> DropProfile:
        """D7.3's thresholds, scaled to the queue; an assured class's own where it has some."""
        queue = self.queues[key]
        own = dict(zip(precedences_of(queue.assured), queue.assured.drops, strict=False))
        if precedence in own:
            drop, packets = own[precedence], queue.queue_bytes // PACKET_BYTES
            least = max(THRESHOLD.floor, packets * drop.low_percent // 100)
            return DropProfile(precedence, least, max(least + 1, packets * drop.high_percent // 100), drop.one_of)
        low, high, denominator = _thresholds(queue, precedence)
        size = min(queue.queue_bytes, PROFILED_BYTES)
        least = max(THRESHOLD.floor, low * size // PROFILED_BYTES)
        return DropProfile(precedence, least, max(least + 1, high * size // PROFILED_BYTES), denominator)

    def profiles_of(self, key: str) -> tuple[DropProfile, ...]:
        return tuple(self.profile(key, one) for one in sorted(precedences_in(self.queues[key])))

    @property
    def profiles(self) -> list[DropProfile]:
        queues = [key for key in self.percents if key != Service.IP_PREMIUM]
        return [profile for key in queues for profile in self.profiles_of(key)]


def precedences_in(queue: Queue) -> tuple[int, ...]:
    """What waits in a queue, the conforming one of an assured class first."""
    if queue.service is Service.ASSURED_RATE:
        return precedences_of(queue.assured)
    return (PRECEDENCE[queue.service],)


def _thresholds(queue: Queue, precedence: int) -> tuple[int, int, int]:
    if queue.assured.name:
        return GUARANTEED if precedence == precedences_of(queue.assured)[0] else UNGUARANTEED
    return PROFILES[precedence]


def _shares_of(egress: Egress, device: Device, approximations: list[Approximation]) -> _Shares:
    """Shares are configured, not what is admitted now: they stay while reservations come and go (GARA §5.1).

    Raises:
        Unrenderable: more classes than queues, more than 100 % in all, or a subinterface.
    """
    where = f"{device.name} {egress.interface.name}"
    if "." in egress.interface.name:
        raise Unrenderable(f"{where}: a 12000 queues on the whole interface; give the inventory that one")
    queues = {queue.key: queue for queue in egress.queues}
    limits = capability_of(device)
    percents = {
        key: limits.weight.at_least(_percent(queue), where, f"a share of {key}", "%")
        for key, queue in queues.items()
        if queue.service is not Service.BEST_EFFORT and _percent(queue)
    }
    approximates = options_of(device, GsrOptions).approximate and Service.QBSS in percents
    if len(percents) + 1 > limits.queues and approximates:
        name = egress.interface.name
        words = f"{name}: qbss waits in best effort's queue: {len(percents) + 1} classes, {limits.queues} queues"
        approximations.append(Approximation(device.name, f"{name} qbss queue", words))
        del percents[Service.QBSS]
    limits.check_queues(len(percents) + 1, where)
    limits.check_weights(percents, where)
    return _Shares(where, percents | {Service.BEST_EFFORT.value: 100 - sum(percents.values())}, queues)


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
        outputs.policies[policy] = [_class(key, shares) for key in shares.percents]
        outputs.output_policies[name] = policy
    outputs.approximations = tuple(approximations)
    return outputs


#: Classes of the services.
_NAMES = {Service.ASSURED_RATE: AF, Service.QBSS: QBSS, Service.BEST_EFFORT: DEFAULT_CLASS}


def _class(key: str, shares: _Shares) -> PolicyClass:
    queue = shares.queues[key]
    if queue.service is Service.IP_PREMIUM:
        return PolicyClass(EF, priority=True)
    return PolicyClass(
        all_of(queue.assured) if queue.assured.name else _NAMES[queue.service],
        bandwidth_percent=shares.percents[key],
        random_detect=RandomDetect("precedence", shares.profiles_of(key)),
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
    keys = dict.fromkeys(key for one in shares for key in one.percents if key != Service.BEST_EFFORT)
    keys[Service.BEST_EFFORT.value] = None
    percents = {key: max(one.percents.get(key, 0) for one in shares) for key in keys}
    longest = max(shares, key=lambda one: one.queues[Service.BEST_EFFORT].queue_bytes)
    return _Shares(f"{shares[0].where.split()[0]} receive side", percents, longest.queues)


def _group(name: str, shares: _Shares, mtu: int, device: Device) -> CosQueueGroup:
    robin = {key: percent for key, percent in shares.percents.items() if key != Service.IP_PREMIUM}
    weights = weights_of(robin, mtu, shares.where)
    low_latency = _low_latency(shares, weights, mtu, device)
    profiles = sorted(shares.profiles, key=lambda one: one.point)
    labels = {profile.point for profile in profiles}
    precedences = {key: precedences_in(shares.queues[key]) for key in weights}
    queues = {precedence: str(own[0]) for own in precedences.values() for precedence in own}
    if low_latency:
        queues[PREMIUM] = "low-latency"
    return CosQueueGroup(
        name,
        tuple(PrecedenceQueue(one, queue, one in labels) for one, queue in sorted(queues.items())),
        tuple(QueueWeight(*one) for one in sorted((precedences[key][0], weight) for key, weight in weights.items())),
        low_latency,
        tuple(profiles),
    )


def weights_of(percents: Mapping[str, int], mtu: int, where: str) -> dict[str, int]:
    """Weights whose quanta stand to each other as the shares do: what is promised is rounded up, best effort down.

    The smallest share gets one MTU a round.

    Raises:
        Unrenderable: the shares are further apart than the weights go.
    """
    smallest = min(percents.values())
    weights = {}
    for key, percent in percents.items():
        more = mtu * percent - mtu * smallest
        steps = more // (smallest * WEIGHT_BYTES)
        if key != Service.BEST_EFFORT:
            steps = -(-more // (smallest * WEIGHT_BYTES))
        weights[key] = WEIGHT.at_least(1 + steps, where, f"a weight for {percent} % of {key}", "")
    return weights


def _low_latency(shares: _Shares, weights: Mapping[str, int], mtu: int, device: Device) -> str:
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
