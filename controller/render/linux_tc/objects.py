"""The kernel's objects that Slotcar owns, and their lines: tc's own commands without the verb.

What the kernel tells of an object is kept as an attribute; what it takes and does not tell (RED's averaging) follows from
those, so that an object read back gives the line that made it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from controller.render.text import Family

TEMPLATES = Family("linux-tc")
#: Slotcar's own major numbers: a root qdisc 51c0: and its leaves are ours, every other one is somebody else's.
ROOT = "51c0:"
LEAVES = {"10": "51c1:", "20": "51c2:", "30": "51c3:", "40": "51c4:"}
#: A class of ets is a band, counted from 1, so its classes cannot have the others' numbers.
LEAVES |= {"1": "51c1:", "2": "51c2:", "3": "51c3:", "4": "51c4:"}
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


@dataclass(frozen=True, slots=True)
class Clsact:
    device: str

    def line(self) -> str:
        return TEMPLATES.line("clsact", device=self.device)


@dataclass(frozen=True, slots=True)
class Root:
    device: str

    def line(self) -> str:
        return TEMPLATES.line("root", device=self.device, handle=ROOT, default=DEFAULT_MINOR, r2q=R2Q)


@dataclass(frozen=True, slots=True)
class HfscRoot:
    """`overhead_bytes` are those beyond what the kernel counts; HFSC has no notion of its own, so the qdisc is told."""

    device: str
    default: str
    overhead_bytes: int

    def line(self) -> str:
        return TEMPLATES.line(
            "root-hfsc",
            device=self.device,
            handle=ROOT,
            default=self.default,
            overhead_bytes=self.overhead_bytes,
        )


@dataclass(frozen=True, slots=True)
class EtsRoot:
    """Enhanced transmission selection (IEEE 802.1Qaz): `strict` bands in turn, then a band for each of the quanta.

    `priomap` leads packets to a band that no filter has led into a class.
    """

    device: str
    strict: int
    quanta: tuple[int, ...]
    priomap: tuple[int, ...]
    overhead_bytes: int

    def line(self) -> str:
        return TEMPLATES.line(
            "root-ets",
            device=self.device,
            handle=ROOT,
            bands=self.strict + len(self.quanta),
            strict=self.strict,
            quanta=self.quanta,
            priomap=self.priomap,
            overhead_bytes=self.overhead_bytes,
        )


@dataclass(frozen=True, slots=True)
class Curve:
    """A service curve: `burst_bps` for the first `burst_us`, then `rate_bps` (Stoica, Zhang, Ng: H-FSC)."""

    rate_bps: int
    burst_bps: int = 0
    burst_us: int = 0


@dataclass(frozen=True, slots=True)
class HfscClass:
    """`minor` as in HTB. A class without a real-time curve has no promise of its own time, only its part of the link's."""

    device: str
    minor: str
    real_time: Curve | None
    link_share: Curve | None
    upper_limit: Curve | None

    def line(self) -> str:
        curves = {"rt": self.real_time, "ls": self.link_share, "ul": self.upper_limit}
        return TEMPLATES.line(
            "class-hfsc",
            device=self.device,
            parent=ROOT if self.minor == "1" else LINK_CLASS,
            classid=f"{ROOT}{self.minor}",
            curves=[{"name": name, **asdict(curve)} for name, curve in curves.items() if curve is not None],
        )


@dataclass(frozen=True, slots=True)
class HtbClass:
    """`minor` is `1` for the link and `10` .. `40` for the services; the link's has no priority."""

    device: str
    minor: str
    priority: int | None
    rate_bps: int
    ceil_bps: int
    burst_bytes: int
    cburst_bytes: int
    overhead_bytes: int

    def line(self) -> str:
        return TEMPLATES.line(
            "class",
            device=self.device,
            parent=ROOT if self.minor == "1" else LINK_CLASS,
            classid=f"{ROOT}{self.minor}",
            priority=self.priority,
            quantum_bytes=QUANTUM_BYTES,
            rate_bps=self.rate_bps,
            ceil_bps=self.ceil_bps,
            burst_bytes=self.burst_bytes,
            cburst_bytes=self.cburst_bytes,
            overhead_bytes=self.overhead_bytes,
        )


@dataclass(frozen=True, slots=True)
class Fifo:
    device: str
    minor: str
    limit_bytes: int

    def line(self) -> str:
        return TEMPLATES.line("fifo", **_place(self.device, self.minor), limit_bytes=self.limit_bytes)


@dataclass(frozen=True, slots=True)
class Red:
    """Random early detection with ECN marks. The averaging constants follow from the thresholds and the link."""

    device: str
    minor: str
    limit_bytes: int
    min_bytes: int
    max_bytes: int
    ecn: bool
    bandwidth_bps: int
    mark_denominator: int

    def line(self) -> str:
        return TEMPLATES.line(
            "red",
            **_place(self.device, self.minor),
            limit_bytes=self.limit_bytes,
            min_bytes=self.min_bytes,
            max_bytes=self.max_bytes,
            average_packet_bytes=AVERAGE_PACKET_BYTES,
            burst_packets=burst_packets(self.min_bytes, self.max_bytes),
            bandwidth_bps=self.bandwidth_bps,
            probability=f"{1 / self.mark_denominator:.6g}",
            ecn=self.ecn,
        )


@dataclass(frozen=True, slots=True)
class Gred:
    """WRED's frame: one queue, a drop profile for each colour, chosen by the filter's class (RFC 2597)."""

    device: str
    minor: str
    limit_bytes: int
    profiles: int = 4
    default: int = 3
    grio: bool = True

    def line(self) -> str:
        return TEMPLATES.line(
            "gred",
            **_place(self.device, self.minor),
            profiles=self.profiles,
            default=self.default,
            grio=self.grio,
            limit_bytes=self.limit_bytes,
        )


#: Drop probability at the upper threshold, by profile: in, out, far out.
PROBABILITY = {1: "0.02", 2: "0.1", 3: "0.5"}


@dataclass(frozen=True, slots=True)
class GredProfile:
    device: str
    minor: str
    profile: int
    limit_bytes: int
    min_bytes: int
    max_bytes: int
    priority: int
    ecn: bool
    bandwidth_bps: int

    def line(self) -> str:
        return TEMPLATES.line(
            "gred-profile",
            **_place(self.device, self.minor),
            profile=self.profile,
            limit_bytes=self.limit_bytes,
            min_bytes=self.min_bytes,
            max_bytes=self.max_bytes,
            average_packet_bytes=AVERAGE_PACKET_BYTES,
            burst_packets=burst_packets(self.min_bytes, self.max_bytes),
            bandwidth_bps=self.bandwidth_bps,
            probability=PROBABILITY.get(self.profile, "0.1"),
            priority=self.priority,
            ecn=self.ecn,
        )


@dataclass(frozen=True, slots=True)
class Key:
    """One field that a packet must have: `dst_port 5001`."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Filter:
    """A flower filter; `actions` are lines of the `action-*` templates, in order."""

    device: str
    hook: str
    preference: int
    handle: int
    keys: tuple[Key, ...]
    actions: tuple[str, ...]
    classid: str = ""

    def line(self) -> str:
        return TEMPLATES.line(
            "filter",
            device=self.device,
            hook=self.hook,
            preference=self.preference,
            handle=hex(self.handle),
            keys=self.keys,
            actions=self.actions,
            classid=self.classid,
        )


TcObject = Clsact | Root | HfscRoot | EtsRoot | HtbClass | HfscClass | Fifo | Red | Gred | GredProfile | Filter


def police(rate_bps: int, burst_bytes: int, exceed: str, conform: str) -> str:
    return TEMPLATES.line(
        "action-police", rate_bps=rate_bps, burst_bytes=burst_bytes, mtu=POLICE_MTU, exceed=exceed, conform=conform
    )


def mark(dscp: int) -> tuple[str, str]:
    """Sets the six bits of the code point and leaves ECN's two alone (RFC 3168)."""
    return (
        TEMPLATES.line("action-mark", value=hex(dscp << 2), mask="0xfc"),
        TEMPLATES.line("action-checksum"),
    )


def steer(minor: str) -> tuple[str, str]:
    """Into the service's class; it must end in a terminal action, or the filter's class is not noted for GRED."""
    return TEMPLATES.line("action-steer", classid=f"{ROOT}{minor}"), PASS


PASS = TEMPLATES.line("action-pass")


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


def _place(device: str, minor: str) -> dict[str, str]:
    return {"device": device, "parent": f"{ROOT}{minor}", "handle": LEAVES[minor]}
