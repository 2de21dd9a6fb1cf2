"""What a Cisco 12000 can express."""

from __future__ import annotations

import re
from dataclasses import replace

from slotcar.network.model import Device
from slotcar.platforms.capability import Capability, Range
from slotcar.platforms.cisco_gsr.facts import GsrOptions
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.options import options_of

GSR = Capability(
    dscp=False,
    queues=8,
    priority_queue=True,
    ecn=False,
    police_bps=Range(8_000, 10_000_000_000),
    burst_bytes=Range(1_000, 512_000_000),
    weight=Range(1, 99),
    weight_unit="%",
    source="IOS 12.0S command reference; Cisco document 18841, MDRR and WRED on the 12000; D7.3 §8.3",
    classes=64,
)
#: Weights of cos-queue-groups. A queue of weight W sends MTU + (W - 1) x 512 bytes a round (document 18841).
WEIGHT = Range(1, 2_048)
WEIGHT_BYTES = 512
#: Packets of a WRED threshold.
THRESHOLD = Range(1, 1_048_575)
LONGEST_NAME = 40
_SLOT = re.compile(r"^\D+(\d+)/")


def capability_of(device: Device) -> Capability:
    """`slotcar_options.queues`: what the device's poorest line card has."""
    return replace(GSR, queues=options_of(device, GsrOptions).queues)


def slot_of(interface: str, device: Device) -> int:
    """The line card's slot: the number before the first slash.

    Raises:
        Unrenderable: the name has none.
    """
    match = _SLOT.match(interface)
    if match is None:
        raise Unrenderable(f"{device.name} {interface}: no slot in this name, and cos-queue-groups go by slot")
    return int(match[1])
