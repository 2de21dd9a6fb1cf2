"""What Junos can express, on MX routers with Trio line cards."""

from __future__ import annotations

from slotcar.platforms.capability import Capability, Range

#: `weight` is in bit/s: a scheduler's `transmit-rate`.
JUNOS = Capability(
    dscp=True,
    queues=8,
    priority_queue=True,
    ecn=True,
    police_bps=Range(8_000, 100_000_000_000),
    burst_bytes=Range(1_500, 100_000_000_000),
    weight=Range(3_200, 160_000_000_000),
    weight_unit="bit/s",
    source="Junos OS 24.4, Routing Policies, Firewall Filters, and Traffic Policers User Guide: bandwidth-limit,"
    " burst-size-limit; Class of Service User Guide (Routers): transmit-rate, forwarding-classes",
    classes=None,
)
#: `shaping-rate` of an interface or a unit.
SHAPE_BPS = Range(1_000, 160_000_000_000)
#: `buffer-size temporal`; longer queues are cut to it.
BUFFER_US = Range(1, 500_000)
#: Forwarding classes of one router, its own four among them.
MOST_CLASSES = 16
#: A name of a filter, policer, scheduler or map.
LONGEST_NAME = 64
#: Filters that one filter may refer to, and levels of such references.
NESTED_FILTERS, NESTED_LEVELS = 256, 1
