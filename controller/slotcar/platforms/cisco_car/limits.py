"""What a Cisco 7500 with CAR and ToS-based WFQ can express."""

from __future__ import annotations

from slotcar.platforms.capability import Capability, Range

#: IOS takes no burst of less than the rate divided by this.
RATE_OVER_BURST = 2_000
#: The four classes of ToS-based WFQ are the two low bits of the precedence; class 0 has what the weights leave.
CAR = Capability(
    dscp=False,
    queues=4,
    priority_queue=False,
    ecn=False,
    police_bps=Range(8_000, 2_000_000_000, 8_000),
    burst_bytes=Range(1_000, 512_000_000),
    weight=Range(1, 99),
    weight_unit="percent of the interface, 99 at most together",
    source='IOS 12.1 "Quality of Service Solutions Command Reference": rate-limit, fair-queue tos, fair-queue weight',
)
