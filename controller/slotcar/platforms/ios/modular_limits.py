"""What IOS's modular QoS can express, in two generations."""

from __future__ import annotations

from dataclasses import replace

from slotcar.network.model import Device
from slotcar.platforms.capability import Capability, Range
from slotcar.platforms.ios.facts import ModularOptions
from slotcar.platforms.options import options_of

#: IOS 12.2T to 12.4: CBWFQ before the hierarchical queueing framework.
CLASSIC = Capability(
    dscp=True,
    queues=64,
    priority_queue=True,
    ecn=True,
    police_bps=Range(8_000, 200_000_000),
    burst_bytes=Range(1_000, 51_200_000),
    weight=Range(1, 75),
    weight_unit="%",
    source="IOS 12.2T command reference: police (two rates), bandwidth (max-reserved-bandwidth is 75 by default), class",
    classes=64,
)
#: From 12.4(20)T on, and IOS-XE.
HQF = Capability(
    dscp=True,
    queues=64,
    priority_queue=True,
    ecn=True,
    police_bps=Range(8_000, 64_000_000_000),
    burst_bytes=Range(1_000, 512_000_000),
    weight=Range(1, 99),
    weight_unit="%",
    source="12.2(33) and IOS-XE command references: police (policy map), bandwidth, class; Cisco-IOS-XE-policy.yang 16.9",
    classes=256,
)
#: `shape average` takes rates in steps of 8 kb/s.
SHAPE_CLASSIC_BPS, SHAPE_HQF_BPS = Range(8_000, 154_400_000, 8_000), Range(8_000, 10_000_000_000, 8_000)
#: A name of a class map, policy map or list.
LONGEST_NAME = 40
#: Packets of a WRED threshold (random-detect dscp).
THRESHOLD = Range(1, 4_096)


def has_hqf(device: Device) -> bool:
    return options_of(device, ModularOptions).hqf


def capability_of(device: Device) -> Capability:
    """What the release takes; `slotcar_options.police_at_most` where the router's own limit is another."""
    release = HQF if has_hqf(device) else CLASSIC
    most_bps = options_of(device, ModularOptions).police_at_most
    return replace(release, police_bps=replace(release.police_bps, ceiling=most_bps)) if most_bps else release


def shape_range_of(device: Device) -> Range:
    release = SHAPE_HQF_BPS if has_hqf(device) else SHAPE_CLASSIC_BPS
    most_bps = options_of(device, ModularOptions).shape_at_most
    return replace(release, ceiling=most_bps) if most_bps else release
