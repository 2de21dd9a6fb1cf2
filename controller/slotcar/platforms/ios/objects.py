"""IOS's objects as values, those of every platform that has them. A line of a device that is in no form that Slotcar writes
is kept as it is (`other`), so that it differs and is taken back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

PREFIX = "SLOTCAR-"
DEFAULT_CLASS = "class-default"
#: A flow's class and, where lists have names, its list: this and the flow's number.
FLOW = f"{PREFIX}F"
_FLOW = re.compile(rf"^{FLOW}(\d+)$")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of an access list that permits what goes from one host to another; or a remark."""

    protocol: str = ""
    source: str = ""
    source_port: int | None = None
    destination: str = ""
    destination_port: int | None = None
    remark: str = ""
    other: str = ""

    @property
    def ends(self) -> tuple[str | int | None, ...]:
        return self.protocol, self.source, self.source_port, self.destination, self.destination_port


@dataclass(frozen=True, slots=True)
class AccessList:
    """An extended access list; a numbered one where its name is a number."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def numbered(self) -> bool:
        return self.name.isdigit()

    @property
    def permits(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.protocol)


@dataclass(frozen=True, slots=True)
class Match:
    """One `match` of a class map: by access list, or by code points."""

    acl: str = ""
    field: str = ""
    points: tuple[str | int, ...] = ()
    other: str = ""

    @property
    def numbered(self) -> bool:
        return self.acl.isdigit()


@dataclass(frozen=True, slots=True)
class ClassMap:
    """`how` is `match-all` or `match-any`."""

    name: str
    how: str
    matches: tuple[Match, ...]

    @property
    def acl(self) -> str | None:
        """The access list that the class matches by; None where it matches by code point."""
        return next((match.acl for match in self.matches if match.acl), None)

    @property
    def points(self) -> frozenset[str | int]:
        return frozenset(point for match in self.matches for point in match.points)


@dataclass(frozen=True, slots=True)
class Police:
    """A policer of the modular command line: one rate, two (`pir_bps`), or aware of the colours that two classes tell."""

    cir_bps: int
    bc_bytes: int
    conform: str
    exceed: str
    violate: str = ""
    pir_bps: int | None = None
    be_bytes: int | None = None
    conform_color: str = ""
    exceed_color: str = ""


@dataclass(frozen=True, slots=True)
class PfcPolice:
    """A policer of a Catalyst's policy feature card. `peak_bps` 0: it has one rate."""

    rate_bps: int
    burst_bytes: int
    most_bytes: int
    conform: str
    exceed: str
    peak_bps: int = 0
    violate: str = ""
    microflow: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """`set ip dscp ef`: the code point that a class gets."""

    field: str
    point: str | int


@dataclass(frozen=True, slots=True)
class DropProfile:
    """WRED of one code point: thresholds in packets; at the upper one, one packet in `denominator` is dropped."""

    point: str | int
    min_packets: int
    max_packets: int
    denominator: int


@dataclass(frozen=True, slots=True)
class RandomDetect:
    """WRED of a class. `field` is what its profiles go by, `dscp` or `precedence`."""

    field: str
    profiles: tuple[DropProfile, ...] = ()
    ecn: bool = False

    @property
    def by_dscp(self) -> bool:
        return self.field == "dscp"


@dataclass(frozen=True, slots=True)
class PolicyClass:
    """A class inside a policy map; its actions in the order in which Slotcar writes them.

    Attributes:
        priority: strict priority; `priority_percent` what it may take of the link, where the platform is told.
        shape_bc_bits: with `shape_bps`, what may leave at once; nothing in excess of it then. None: the release's own.
        aggregate: a Catalyst's aggregate policer, by name.
        other: lines that are in no form that Slotcar writes.
    """

    name: str
    trust: bool = False
    aggregate: str = ""
    police: Police | None = None
    pfc_police: PfcPolice | None = None
    mark: Mark | None = None
    shape_bps: int | None = None
    shape_bc_bits: int | None = None
    service_policy: str = ""
    priority: bool = False
    priority_percent: int | None = None
    bandwidth_percent: int | None = None
    fair_queue: bool = False
    queue_limit_packets: int | None = None
    random_detect: RandomDetect | None = None
    other: tuple[str, ...] = ()

    @property
    def flow(self) -> int | None:
        """The flow's number, of a flow's class."""
        match = _FLOW.match(self.name)
        return int(match[1]) if match else None

    @property
    def weight(self) -> int:
        """The share that the class takes, percent; 0 for one that only marks or polices."""
        return (self.priority_percent or 0) + (self.bandwidth_percent or 0)


@dataclass(frozen=True, slots=True)
class PolicyMap:
    name: str
    classes: tuple[PolicyClass, ...]


@dataclass(frozen=True, slots=True)
class RateLimitList:
    """`access-list rate-limit`: the packets of a precedence."""

    number: int
    precedence: int


@dataclass(frozen=True, slots=True)
class RateLimit:
    """CAR: one `rate-limit` of an interface. `by_precedence`: its list is a `RateLimitList`."""

    acl: int
    by_precedence: bool
    rate_bps: int
    burst_bytes: int
    excess_burst_bytes: int
    conform: str
    exceed: str
    way: str = "input"


@dataclass(frozen=True, slots=True)
class TosWeight:
    tos: int
    percent: int


@dataclass(frozen=True, slots=True)
class CosMap:
    """Classes of service that a threshold of a transmit queue is for."""

    queue: int
    threshold: int
    cos: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WrrQueue:
    """Thresholds of a transmit queue, percent of it: WRED's lower and upper ones, or those of tail drop."""

    number: int
    minima: tuple[int, ...] = ()
    maxima: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Wrr:
    """A Catalyst port's transmit queues. `bandwidth` and `limits` of each queue."""

    bandwidth: tuple[int, ...]
    limits: tuple[int, ...]
    queues: tuple[WrrQueue, ...]
    cos_maps: tuple[CosMap, ...]
    priority_cos: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Interface:
    """Owned lines under an interface.

    Attributes:
        input_policy, output_policy: what `service-policy` attaches.
        tx_cos: the cos-queue-group of its output.
        trust: `mls qos trust dscp`.
        tos_weights: of `fair-queue tos`; empty where it has none.
    """

    name: str
    trust: bool = False
    rate_limits: tuple[RateLimit, ...] = ()
    tos_weights: tuple[TosWeight, ...] = ()
    input_policy: str = ""
    output_policy: str = ""
    tx_cos: str = ""
    wrr: Wrr | None = None


@dataclass(frozen=True, slots=True)
class PrecedenceQueue:
    """A precedence of a cos-queue-group: its queue, and whether it has a drop profile (a label of the same number)."""

    precedence: int
    queue: str
    profile: bool


@dataclass(frozen=True, slots=True)
class QueueWeight:
    queue: int
    weight: int


@dataclass(frozen=True, slots=True)
class CosQueueGroup:
    """MDRR of a 12000's line card. `low_latency` is `strict-priority` or `alternate-priority WEIGHT`; empty without."""

    name: str
    queues: tuple[PrecedenceQueue, ...] = ()
    weights: tuple[QueueWeight, ...] = ()
    low_latency: str = ""
    profiles: tuple[DropProfile, ...] = ()
    other: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlotTable:
    """`slot-table-cos`: the cos-queue-group towards all slots."""

    name: str
    group: str


@dataclass(frozen=True, slots=True)
class RxCosSlot:
    """The slot table of a line card's receive side."""

    slot: int
    table: str


@dataclass(frozen=True, slots=True)
class AggregatePolicer:
    """`mls qos aggregate-policer`: one policer that classes name."""

    name: str
    police: PfcPolice


@dataclass(frozen=True, slots=True)
class MapEntry:
    """`mls qos map TABLE DSCP to VALUE`; the table is `dscp-cos` or `policed-dscp normal-burst` or `… max-burst`."""

    table: str
    dscp: int
    value: int


def named(objects: Iterable[_T], key: Callable[[_T], str] = lambda one: one.name) -> dict[str, _T]:  # type: ignore[attr-defined]
    return {key(one): one for one in objects}


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts `POS2/0` before `POS10/0`."""
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name) if part)


def by_number(name: str) -> tuple[str, int]:
    """Sorts `SLOTCAR-F2` before `SLOTCAR-F10`, by the number at the end alone."""
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or 0)


def sorted_by(key: Callable[[str], object], objects: Mapping[str, _T]) -> dict[str, _T]:
    return dict(sorted(objects.items(), key=lambda item: key(item[0])))  # type: ignore[arg-type,return-value]
