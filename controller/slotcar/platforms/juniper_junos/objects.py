"""What Slotcar writes on a router with Junos. One template prints each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotcar.base.flow_match import FlowMatch

#: Every name of Slotcar's begins with it; of a flow's policer and term, the flow's number follows.
PREFIX = "SLOTCAR-"
FLOW = f"{PREFIX}F"
#: The one term that Slotcar has in an operator's filter.
TERM_OF_OTHERS = "SLOTCAR"
PREMIUM, ASSURED, QBSS = (f"{PREFIX}{name}" for name in ("EF", "AF1", "QBSS"))
#: The forwarding class of an assured class that has a name, which follows.
ASSURED_CLASS = f"{PREFIX}AC-"
#: The classifier and the rewrite rule have one name: they are of different kinds.
CODE_POINTS = f"{PREFIX}DSCP"


@dataclass(frozen=True, slots=True)
class Policer:
    """`firewall policer`. `demote_to`: the forwarding class of what exceeds, with loss priority `high`; without one it is
    dropped."""

    template: ClassVar[str] = "policer"
    name: str
    rate_bps: int
    burst_bytes: int
    demote_to: str | None = None


@dataclass(frozen=True, slots=True)
class ThreeColorPolicer:
    """`firewall three-color-policer`: two rates, colour-blind (RFC 2698); with `aware` one rate, colour-aware, whose excess
    burst is `peak_burst_bytes` (RFC 2697)."""

    template: ClassVar[str] = "three-color-policer"
    name: str
    committed_bps: int
    committed_burst_bytes: int
    peak_bps: int
    peak_burst_bytes: int
    aware: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """A term of Slotcar's own filters.

    Attributes:
        match: a flow's packets; None for those of `dscps`, or for all.
        three_color: `two-rate` or `single-rate` where the policer has three colours, which are the loss priority then.
        clears_dscp: the code point becomes 0.
        goes_on: the next term is asked, too; else the packet is accepted.
        counter: counts what meets the term.
    """

    name: str
    match: FlowMatch | None = None
    dscps: tuple[int, ...] = ()
    policer: str | None = None
    three_color: str | None = None
    forwarding_class: str | None = None
    loss_priority: str | None = None
    clears_dscp: bool = False
    goes_on: bool = False
    counter: str | None = None

    @property
    def has_conditions(self) -> bool:
        return self.match is not None or bool(self.dscps)


@dataclass(frozen=True, slots=True)
class Filter:
    """`firewall family inet filter`, whose terms are asked in turn."""

    template: ClassVar[str] = "filter"
    name: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """The term in an operator's filter that asks one of Slotcar's first."""

    template: ClassVar[str] = "call"
    operators: str
    filter: str


@dataclass(frozen=True, slots=True)
class Attached:
    """An interface's `filter input`."""

    template: ClassVar[str] = "attached"
    port: str
    unit: int
    filter: str


@dataclass(frozen=True, slots=True)
class ForwardingClass:
    template: ClassVar[str] = "forwarding-class"
    name: str
    queue: int


@dataclass(frozen=True, slots=True)
class CodePoints:
    """The code points of a forwarding class: pairs of a loss priority and a code point as six bits."""

    forwarding_class: str
    points: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Classifier:
    """`classifiers dscp`: on the way in, beside those that Junos has by default."""

    template: ClassVar[str] = "classifier"
    name: str
    classes: tuple[CodePoints, ...]


@dataclass(frozen=True, slots=True)
class RewriteRule:
    """`rewrite-rules dscp`: on the way out; what it does not name is left as it is."""

    template: ClassVar[str] = "rewrite-rule"
    name: str
    classes: tuple[CodePoints, ...]


@dataclass(frozen=True, slots=True)
class DropProfile:
    """`drop-profiles`, interpolated: from `low_percent` of the queue on, rising to `drop_percent` at `high_percent`."""

    template: ClassVar[str] = "drop-profile"
    name: str
    low_percent: int
    high_percent: int
    drop_percent: int


@dataclass(frozen=True, slots=True)
class Scheduler:
    """`schedulers`.

    Attributes:
        rate_bps: `transmit-rate`; None for what the others leave.
        rate_limited: it sends no more than its rate while the interface is full.
        shaped_bps, shaped_burst_bytes: `shaping-rate` and its `burst-size`; it never sends more (MX with MPCs, Junos 11.4).
        buffer_us, buffer_percent: `buffer-size`; one of them.
        profiles: pairs of a loss priority and a drop profile.
    """

    template: ClassVar[str] = "scheduler"
    name: str
    priority: str
    rate_bps: int | None = None
    rate_limited: bool = False
    shaped_bps: int | None = None
    shaped_burst_bytes: int | None = None
    buffer_us: int | None = None
    buffer_percent: int | None = None
    profiles: tuple[tuple[str, str], ...] = ()
    ecn: bool = False


@dataclass(frozen=True, slots=True)
class SchedulerMap:
    """`scheduler-maps`: pairs of a forwarding class and its scheduler."""

    template: ClassVar[str] = "scheduler-map"
    name: str
    schedulers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TrafficControlProfile:
    """`traffic-control-profiles`: a scheduler map within a rate that is less than the line's."""

    template: ClassVar[str] = "traffic-control-profile"
    name: str
    scheduler_map: str
    shaped_bps: int


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What serves an interface's output: of the port, or with `unit` of one unit of it. `name` is a scheduler map's, or a
    traffic control profile's where it is shaped."""

    template: ClassVar[str] = "scheduled"
    port: str
    unit: int | None
    name: str
    shaped: bool = False


@dataclass(frozen=True, slots=True)
class Marked:
    """A unit's classifier and rewrite rule."""

    template: ClassVar[str] = "marked"
    port: str
    unit: int
    classifier: str
    rewrite_rule: str


Object = (
    Policer | ThreeColorPolicer | Filter | Call | Attached | ForwardingClass | Classifier | RewriteRule | DropProfile
    | Scheduler | SchedulerMap | TrafficControlProfile | Scheduled | Marked
)  # fmt: skip
