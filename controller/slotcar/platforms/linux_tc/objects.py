"""The kernel's objects that Slotcar owns. `templates/linux-tc/` has their lines: tc's own commands without the verb.

What the kernel shows of an object is kept as an attribute; what it takes and does not show (RED's averaging) follows from
those, so that an object read back gives the line that made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from slotcar.platforms.templates import Family

TEMPLATES = Family("linux-tc")
#: Slotcar's own major numbers: a root qdisc 51c0: and its leaves are ours, every other one is somebody else's.
ROOT = "51c0:"
#: How many classes of the assured rate an interface has numbers for.
MOST_CLASSES = 8
LEAVES = {"10": "51c1:", "20": "51c2:", "30": "51c3:", "40": "51c4:"}
#: A class of ets is a band, counted from 1, so its classes cannot have the others' numbers.
LEAVES |= {f"{band:x}": f"51c{band:x}:" for band in range(1, 4 + MOST_CLASSES)}
#: Those of the second class of an assured rate, and of the others.
LEAVES |= {f"2{number}": f"51d{number}:" for number in range(1, MOST_CLASSES)}
LINK_CLASS = f"{ROOT}1"
#: The root's own: where what nobody classified goes, and a ratio that every class overrides.
DEFAULT_MINOR, R2Q = "0x30", 10
#: Preferences of filters that are ours. Operators' filters stand before them or after them, not between.
FIRST_PREFERENCE, LAST_PREFERENCE = 20_800, 20_899
POLICE_MTU = "16Kb"
QUANTUM_BYTES = 10_000
AVERAGE_PACKET_BYTES = 1_000
#: Bits of the kernel's average queue, less the sign.
AVERAGE_BITS = 31


class _Class:
    """Where a class stands in Slotcar's own tree."""

    __slots__ = ()
    minor: str

    @property
    def parent(self) -> str:
        return ROOT if self.minor == "1" else LINK_CLASS

    @property
    def classid(self) -> str:
        return f"{ROOT}{self.minor}"


class _Leaf:
    """Where a class's queue stands."""

    __slots__ = ()
    minor: str

    @property
    def parent(self) -> str:
        return f"{ROOT}{self.minor}"

    @property
    def handle(self) -> str:
        return LEAVES[self.minor]


class _Average:
    """RED's mean queue, which the kernel takes and does not show."""

    __slots__ = ()
    average_packet_bytes = AVERAGE_PACKET_BYTES
    min_bytes: int
    max_bytes: int

    @property
    def burst_packets(self) -> int:
        return burst_packets(self.min_bytes, self.max_bytes)


@dataclass(frozen=True, slots=True)
class Clsact:
    device: str


@dataclass(frozen=True, slots=True)
class Root:
    handle: ClassVar = ROOT
    default: ClassVar = DEFAULT_MINOR
    r2q: ClassVar = R2Q
    device: str


@dataclass(frozen=True, slots=True)
class HfscRoot:
    """`overhead_bytes` are those beyond what the kernel counts; HFSC has no notion of its own, so the qdisc is told."""

    handle: ClassVar = ROOT
    device: str
    default: str
    overhead_bytes: int


@dataclass(frozen=True, slots=True)
class EtsRoot:
    """Enhanced transmission selection (IEEE 802.1Qaz): `strict` bands in turn, then a band for each of the quanta.

    `priomap` leads packets to a band that no filter has led into a class.
    """

    handle: ClassVar = ROOT
    device: str
    strict: int
    quanta: tuple[int, ...]
    priomap: tuple[int, ...]
    overhead_bytes: int

    @property
    def bands(self) -> int:
        return self.strict + len(self.quanta)


@dataclass(frozen=True, slots=True)
class Curve:
    """A service curve: `burst_bps` for the first `burst_us`, then `rate_bps` (Stoica, Zhang, Ng: H-FSC)."""

    rate_bps: int
    burst_bps: int = 0
    burst_us: int = 0


@dataclass(frozen=True, slots=True)
class HfscClass(_Class):
    """`minor` as in HTB. A class without a real-time curve has no promise of its own time, only its part of the link's."""

    device: str
    minor: str
    real_time: Curve | None
    link_share: Curve | None
    upper_limit: Curve | None

    @property
    def curves(self) -> tuple[tuple[str, Curve], ...]:
        """The curves that it has, each after tc's word for it."""
        curves = {"rt": self.real_time, "ls": self.link_share, "ul": self.upper_limit}
        return tuple((name, curve) for name, curve in curves.items() if curve is not None)


@dataclass(frozen=True, slots=True)
class HtbClass(_Class):
    """`minor` is `1` for the link and `10` .. `40` for the services; the link's has no priority."""

    quantum_bytes: ClassVar = QUANTUM_BYTES
    device: str
    minor: str
    priority: int | None
    rate_bps: int
    ceil_bps: int
    burst_bytes: int
    cburst_bytes: int
    overhead_bytes: int


@dataclass(frozen=True, slots=True)
class Fifo(_Leaf):
    device: str
    minor: str
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class Red(_Leaf, _Average):
    """Random early detection with ECN marks. The averaging constants follow from the thresholds and the link.

    `hard_drop`: above the upper threshold packets are dropped, also those that could be marked (RFC 3168 §7). Where they
    are marked and stay, ends that can go no slower hold the queue there, and all without ECN is dropped.
    """

    device: str
    minor: str
    limit_bytes: int
    min_bytes: int
    max_bytes: int
    ecn: bool
    hard_drop: bool
    bandwidth_bps: int
    mark_denominator: int

    @property
    def probability(self) -> str:
        return f"{1 / self.mark_denominator:.6g}"


@dataclass(frozen=True, slots=True)
class Gred(_Leaf):
    """WRED's frame: one queue, a drop profile for each colour, chosen by the filter's class (RFC 2597)."""

    device: str
    minor: str
    limit_bytes: int
    profiles: int = 4
    default: int = 3
    grio: bool = True


#: One of how many packets is dropped at the upper threshold, by profile: in, out, far out.
ONE_OF = {1: 50, 2: 10, 3: 2}


@dataclass(frozen=True, slots=True)
class GredProfile(_Leaf, _Average):
    device: str
    minor: str
    profile: int
    limit_bytes: int
    min_bytes: int
    max_bytes: int
    priority: int
    ecn: bool
    hard_drop: bool
    bandwidth_bps: int
    one_of: int

    @property
    def probability(self) -> str:
        return f"{1 / self.one_of:.6g}"


@dataclass(frozen=True, slots=True)
class Key:
    """One field that a packet must have: `dst_port 5001`."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Police:
    """A policer's `conform` and `exceed` say what follows: `ok`, `drop`, `pipe` or `continue`."""

    kind: ClassVar = "police"
    rate_bps: int
    burst_bytes: int
    exceed: str
    conform: str

    @property
    def mtu(self) -> str:
        return POLICE_MTU


@dataclass(frozen=True, slots=True)
class Mark:
    """Sets the six bits of the code point and leaves ECN's two alone (RFC 3168); the header's checksum follows."""

    kind: ClassVar = "mark"
    dscp: int

    @property
    def dsfield(self) -> str:
        return hex(self.dscp << 2)


@dataclass(frozen=True, slots=True)
class Checksum:
    kind: ClassVar = "checksum"


@dataclass(frozen=True, slots=True)
class Steer:
    """Into a class, by the number behind the root's."""

    kind: ClassVar = "steer"
    minor: str

    @property
    def classid(self) -> str:
        return f"{ROOT}{self.minor}"


@dataclass(frozen=True, slots=True)
class Pass:
    kind: ClassVar = "pass"


@dataclass(frozen=True, slots=True)
class Other:
    """What Slotcar would never write, as tc prints it, so that it differs."""

    kind: ClassVar = "other"
    text: str


Action = Police | Mark | Checksum | Steer | Pass | Other


@dataclass(frozen=True, slots=True)
class Filter:
    """A flower filter and its actions, in order."""

    device: str
    hook: str
    preference: int
    handle: int
    keys: tuple[Key, ...]
    actions: tuple[Action, ...]
    classid: str = ""

    @property
    def number(self) -> str:
        return hex(self.handle)


TcObject = Clsact | Root | HfscRoot | EtsRoot | HtbClass | HfscClass | Fifo | Red | Gred | GredProfile | Filter
#: By kind its template, in the order in which they can be made.
_TEMPLATES: dict[type, str] = {
    Clsact: "qdisc-clsact",
    Root: "qdisc-htb",
    HfscRoot: "qdisc-hfsc",
    EtsRoot: "qdisc-ets",
    HtbClass: "class-htb",
    HfscClass: "class-hfsc",
    Fifo: "qdisc-bfifo",
    Red: "qdisc-red",
    Gred: "qdisc-gred",
    GredProfile: "qdisc-gred-profile",
    Filter: "filter",
}
_KINDS = tuple(_TEMPLATES)


@dataclass(frozen=True, slots=True)
class Tc:
    """What Slotcar owns on a router: by interface, then in the order in which it can be made, then by its own numbers."""

    objects: tuple[TcObject, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "objects", tuple(sorted(self.objects, key=_order)))

    def lines(self) -> tuple[str, ...]:
        """Canonical lines: equal meaning, equal bytes."""
        return tuple(map(line_of, self.objects))


@lru_cache(maxsize=1 << 16)
def line_of(one: TcObject) -> str:
    template = _TEMPLATES[type(one)]
    return TEMPLATES.line(template, **{template.partition("-")[0]: one})


def _order(one: TcObject) -> tuple[object, ...]:
    rank: tuple[object, ...] = tuple(str(getattr(one, name)) for name in ("minor", "profile") if hasattr(one, name))
    if isinstance(one, Filter):
        rank = one.hook, one.preference, one.handle
    return one.device, _KINDS.index(type(one)), rank


def mark(dscp: int) -> tuple[Mark, Checksum]:
    return Mark(dscp), Checksum()


def steer(minor: str) -> tuple[Steer, Pass]:
    """Into the service's class; it must end in a terminal action, or the filter's class is not noted for GRED."""
    return Steer(minor), Pass()


#: What Slotcar's own filters match, in its canonical order.
KEY_NAMES = ("ip_proto", "dst_ip", "src_ip", "dst_port", "src_port", "ip_tos")


def code_point(dscp: int) -> Key:
    return Key("ip_tos", f"{hex(dscp << 2)}/0xfc")


def burst_packets(min_bytes: int, max_bytes: int) -> int:
    """tc's own advice for RED's `burst`, (2 min + max) / (3 packets), rounded up; less where the kernel would refuse it.

    tc makes the averaging constant W = 2**-log of it, the first with which `burst - min + 1` packets are at most
    (1 - (1 - W)**burst) / W (`tc_red_eval_ewma`). The kernel keeps the average in 32 bits: a threshold and `log` must fit
    (`red_check_params`). From some 500 Mb/s on, tc's advice is more than that.
    """
    advised = (2 * min_bytes + max_bytes) // (3 * AVERAGE_PACKET_BYTES) + 1
    weight = 2.0 ** -(AVERAGE_BITS - max_bytes.bit_length())
    if advised + 1 - min_bytes / AVERAGE_PACKET_BYTES <= (1 - (1 - weight) ** advised) / weight:
        return advised
    least = min_bytes // AVERAGE_PACKET_BYTES
    return int(min_bytes / AVERAGE_PACKET_BYTES + (1 - (1 - weight) ** least) / weight) - 1
