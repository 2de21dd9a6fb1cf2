"""What a Linux router can express, as far as iproute2 prints it back unchanged (`numbers.py`)."""

from __future__ import annotations

from controller.render.capability import Capability, Range
from controller.vocabulary import Platform

#: The least rate of a standing class, bit/s: one full packet in about 1.5 s, so practically nothing.
LEAST_RATE_BPS = 8_000
#: From 1 Tb/s on tc prints whole Gb/s only; a policer's bucket is a 32-bit number of bytes.
MOST_RATE_BPS = 999_999_000_000
LINUX = Capability(
    platform=Platform.LINUX_TC,
    dscp=True,
    queues=4,
    priority_queue=True,
    ecn=True,
    police_bps=Range(LEAST_RATE_BPS, MOST_RATE_BPS, 8),
    burst_bytes=Range(1, 2**32 - 1),
    weight=Range(LEAST_RATE_BPS, MOST_RATE_BPS, 8),
    weight_unit="bit/s guaranteed by an HTB class, which strict ranks serve in turn",
    source="iproute2 6.1, tc_util.c and tc_core.c; Linux 6.1, net/sched",
)
