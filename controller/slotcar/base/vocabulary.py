"""The field's own words, shared by every room: services, code points, directions, protocols."""

from __future__ import annotations

from enum import StrEnum

from slotcar_client.wire.states import OnFailure as OnFailure


# docs/design.md rule 17.
class Service(StrEnum):
    """The four services; the value is what an operator writes."""

    IP_PREMIUM = "ip-premium"
    ASSURED_RATE = "assured-rate"
    BEST_EFFORT = "best-effort"
    QBSS = "qbss"


#: The longest packet of those that nobody has said the size of, as IP: Ethernet's MTU.
LONGEST_PACKET_BYTES = 1_500
ETHERNET_HEADER_BYTES = 14
#: The services that are promised a rate. Best effort and QBSS take what is left.
RESERVED_SERVICES = (Service.IP_PREMIUM, Service.ASSURED_RATE)


class Direction(StrEnum):
    """Which way the reserved traffic goes: source to destination, back, or both."""

    FORWARD = "forward"
    REVERSE = "reverse"
    BOTH = "both"

    @property
    def ways(self) -> tuple[Direction, ...]:
        """The single directions in it, forward first."""
        return (Direction.FORWARD, Direction.REVERSE) if self is Direction.BOTH else (self,)


class IfUnready(StrEnum):
    """What becomes of a slot when a device of its path cannot be made ready for it.

    `delay`: it begins nowhere, and late on all devices once all are ready. `alarm`: likewise, and operators are called
    before its start. `degrade`: it begins on the devices that are ready. `refuse`: it is cancelled before its start, and
    what it held is free for others.
    """

    DELAY = "delay"
    DEGRADE = "degrade"
    REFUSE = "refuse"
    ALARM = "alarm"


class Shape(StrEnum):
    """What a deadline transfer's profile looks like where there is a choice: as few and as low steps as move the volume,
    or all that is free from the beginning, or from the end.
    """

    STEADY = "steady"
    EARLIEST = "earliest"
    LATEST = "latest"


class Profile(StrEnum):
    """A kind of applications, which asks the network for what it needs by its name (D7.3 §3.1)."""

    INTERACTIVE = "interactive"
    TRANSACTIONS = "transactions"
    BULK = "bulk"
    TEST = "test"


class Protocol(StrEnum):
    TCP = "tcp"
    UDP = "udp"
    SCTP = "sctp"

    @property
    def has_window(self) -> bool:
        """Whether its sender has as much under way as a window holds, and slows down where packets are lost: what polices
        it must take a window at once (GARA §5.1 of TCP; RFC 9260 §7 of SCTP)."""
        return self is not Protocol.UDP


class Scheduler(StrEnum):
    """What serves an interface's queues on a Linux router: each does one thing that the others do not.

    `htb` holds the link's rate and serves by strict rank; `hfsc` gives premium a delay that does not follow from its rate;
    `ets` shapes nothing, for a physical line that is itself the bottleneck (D7.3 §8.1.1: DRR beside strict priority).
    """

    HTB = "htb"
    HFSC = "hfsc"
    ETS = "ets"


class InterfaceRole(StrEnum):
    """Where an interface stands in RFC 2475's picture.

    `edge` faces hosts (flows are classified, policed and marked on their way in), `inter-domain` faces a peer
    (aggregates are policed against an SLS on their way in), `core` is inside a domain (scheduling only).
    """

    EDGE = "edge"
    CORE = "core"
    INTER_DOMAIN = "inter-domain"


#: DSCP of each service's conforming traffic (RFC 3246, RFC 2597, RFC 2474, D7.3 §8.1.3).
DSCP: dict[Service, int] = {
    Service.IP_PREMIUM: 46,
    Service.ASSURED_RATE: 10,
    Service.BEST_EFFORT: 0,
    Service.QBSS: 8,
}
#: AF11, AF12, AF13: green, yellow, red of RFC 2698.
ASSURED_DSCPS: tuple[int, int, int] = (10, 12, 14)
#: IP precedence where a device knows no DSCP (GARA §4.2 marks premium with precedence).
PRECEDENCE: dict[Service, int] = {
    Service.IP_PREMIUM: 5,
    Service.ASSURED_RATE: 3,
    Service.BEST_EFFORT: 0,
    Service.QBSS: 1,
}


class Marking(StrEnum):
    """What devices tell services by: the six bits of the code point, or its three upper ones."""

    DSCP = "dscp"
    PRECEDENCE = "precedence"


#: Code points by marking, as DSCPs: a precedence P is DSCP 8P. Of an assured rate the conforming one, then its excess; by
#: precedence that is one lower, yellow and red alike (D7.3 §8.3 drops by precedence so).
CODE_POINTS: dict[Marking, dict[Service, tuple[int, ...]]] = {
    Marking.DSCP: {service: (dscp,) for service, dscp in DSCP.items()} | {Service.ASSURED_RATE: ASSURED_DSCPS},
    Marking.PRECEDENCE: {service: (8 * precedence,) for service, precedence in PRECEDENCE.items()}
    | {
        Service.ASSURED_RATE: (8 * PRECEDENCE[Service.ASSURED_RATE],) + 2 * (8 * PRECEDENCE[Service.ASSURED_RATE] - 8,)
    },
}


def service_of(dscp: int, marking: Marking) -> Service:
    """What a device that tells services by `marking` takes a code point for; best effort where it is no service's.

    >>> [service_of(dscp, Marking.PRECEDENCE).value for dscp in (46, 10, 24)], service_of(10, Marking.DSCP).value
    (['ip-premium', 'qbss', 'assured-rate'], 'assured-rate')
    """
    code_point = dscp if marking is Marking.DSCP else dscp // 8 * 8
    return next(
        (service for service, code_points in CODE_POINTS[marking].items() if code_point in code_points),
        Service.BEST_EFFORT,
    )
