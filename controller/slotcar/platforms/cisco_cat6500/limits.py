"""What a Catalyst 6500 can express: the PFC's policers, the queues of its port types, and the operator's options.

Page numbers are of Cisco, "Catalyst 6500 Series Switch Cisco IOS Software Configuration Guide, Release 12.1 E", chapter 31.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from slotcar.base.vocabulary import Protocol
from slotcar.network.model import Device
from slotcar.platforms.capability import Capability, Range, limit_words
from slotcar.platforms.cisco_cat6500.facts import CatalystOptions
from slotcar.platforms.model import BeyondLimit, Unrenderable
from slotcar.platforms.options import options_of

SOURCE = "Catalyst 6500 IOS Configuration Guide 12.1E, chapter 31 (pp. 31-31, 31-46, 31-69); D7.3 §8.1.1, §8.2"
#: CIR and PIR: 32 kb/s to 4 Gb/s (p. 31-46). The hardware knows multiples of a grain, which is 32768 up to 2**21 and
#: doubles with every power of two above (p. 31-31). The ends are the outermost multiples.
LEAST_GRAIN_BPS = 32_768
FIRST_LIMIT_BPS = 2**21
HIGHEST_GRAIN_BPS = 2**26
RATE_BPS = Range(LEAST_GRAIN_BPS, 4_000_000_000 // HIGHEST_GRAIN_BPS * HIGHEST_GRAIN_BPS, LEAST_GRAIN_BPS)
#: Token buckets: entered as 1000 to 31250000 (p. 31-46).
BURST_BYTES = Range(1_000, 31_250_000)
#: "at least the rate value divided by 4000" (p. 31-46).
RATE_OVER_BURST = 4_000
#: What the PFC holds (CatOS command reference 8.1, "set qos policer": the same hardware).
MOST_POLICERS = 1_023
MOST_MICROFLOW_POLICERS = 63
#: Time that a bucket must hold at its rate: D7.3 §8.1.1 measured 2.5 MB for one TCP flow at 50 Mb/s, 40 KB for UDP at
#: 80 Mb/s, both from a gigabit interface. SCTP was not measured, and has a window as TCP has.
MEASURED_US: dict[Protocol, int] = {Protocol.TCP: 400_000, Protocol.SCTP: 400_000, Protocol.UDP: 4_000}
LONGEST_POLICER_NAME = 31
LONGEST_NAME = 40
_PORT = re.compile(r"^(Fast|Gigabit|TenGigabit)?Ethernet\d+/\d+$")


@dataclass(frozen=True, slots=True)
class PortType:
    """A port's transmit queues. `random_detect`: its thresholds are WRED's, else tail drop's (D7.3 §8.1.1, Queuing)."""

    name: str
    capability: Capability
    random_detect: bool


def _port_type(name: str, queues: int, priority: bool) -> PortType:
    limits = Capability(
        dscp=True,
        queues=queues,
        priority_queue=priority,
        ecn=False,
        police_bps=RATE_BPS,
        burst_bytes=BURST_BYTES,
        weight=Range(1, 255),
        weight_unit="part of the sum of both queues' weights; Slotcar writes percent",
        source=SOURCE,
    )
    return PortType(name, limits, random_detect=priority)


PORT_TYPES: dict[str, PortType] = {
    "1p2q2t": _port_type("1p2q2t", 3, True),
    "2q2t": _port_type("2q2t", 2, False),
}
DEFAULT_PORT_TYPE = "1p2q2t"


def where(device: str, interface: str) -> str:
    return f"{device} {interface}"


def port_type(device: Device, interface: str) -> PortType:
    """The port's type.

    Raises:
        Unrenderable: the interface is no port.
    """
    if _PORT.match(interface) is None:
        raise Unrenderable(f"{where(device.name, interface)}: a Catalyst's queues are a port's, and this is none")
    return PORT_TYPES[options_of(device, CatalystOptions).of_interface("port_type", interface)]


def approximates(device: Device) -> bool:
    return options_of(device, CatalystOptions).approximate


def grain_bps(rate_bps: int) -> int:
    """The step between the rates that the hardware knows around `rate_bps` (p. 31-31).

    >>> grain_bps(2_097_152), grain_bps(2_097_153), grain_bps(50_000_000), grain_bps(300_000_000)
    (32768, 65536, 1048576, 8388608)
    """
    grain, limit = LEAST_GRAIN_BPS, FIRST_LIMIT_BPS
    while rate_bps > limit:
        grain, limit = grain * 2, limit * 2
    return grain


def rate(rate_bps: int, place: str) -> int:
    """The least rate that the hardware keeps as written and that is no less than `rate_bps`.

    Raises:
        Unrenderable: above the PFC's highest rate.
    """
    grain = grain_bps(rate_bps)
    least = max(RATE_BPS.floor, -(-rate_bps // grain) * grain)
    if least > RATE_BPS.ceiling:
        words = limit_words(rate_bps, RATE_BPS.ceiling, "bit/s")
        raise BeyondLimit(f"{place}: a policer's rate of {words}", least, RATE_BPS.ceiling)
    return least


def burst(burst_bytes: int, rate_bps: int, protocol: Protocol | None, device: Device, place: str) -> int:
    """The bucket for at least `burst_bytes`: enlarged to what `protocol` was measured to need at this rate, as far as
    the device's ceiling lets it (D7.3 §8.1.1), and to what the rate itself needs (p. 31-46). None is an aggregate.

    Raises:
        Unrenderable: above the PFC's largest bucket.
    """
    measured = 0
    if protocol is not None:
        measured = min(-(-rate_bps * MEASURED_US[protocol] // 8_000_000), device.burst_ceiling_bytes)
    least = max(burst_bytes, measured, -(-rate_bps // RATE_OVER_BURST))
    return PORT_TYPES[DEFAULT_PORT_TYPE].capability.burst(least, place)
