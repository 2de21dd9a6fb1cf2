"""The field's own words, shared by every room: services, code points, directions, protocols, platforms."""

from __future__ import annotations

from enum import StrEnum


class Service(StrEnum):
    """The four services of DESIGN.md; the value is what an operator writes."""

    IP_PREMIUM = "ip-premium"
    ASSURED_RATE = "assured-rate"
    BEST_EFFORT = "best-effort"
    QBSS = "qbss"


class Direction(StrEnum):
    """Which way the reserved traffic goes: source to destination, back, or both."""

    FORWARD = "forward"
    REVERSE = "reverse"
    BOTH = "both"


class Protocol(StrEnum):
    TCP = "tcp"
    UDP = "udp"


class Platform(StrEnum):
    """A device's configuration language. Each has a module in `controller/render/` and a template family."""

    LINUX_TC = "linux-tc"
    CISCO_CAR = "cisco-car"
    CISCO_MQC = "cisco-mqc"
    CISCO_GSR = "cisco-gsr"
    CISCO_CAT6500 = "cisco-cat6500"
    CISCO_IOSXE_NETCONF = "cisco-iosxe-netconf"


#: Platforms whose configuration is IOS's command line.
IOS = frozenset({Platform.CISCO_CAR, Platform.CISCO_MQC, Platform.CISCO_GSR, Platform.CISCO_CAT6500})


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
