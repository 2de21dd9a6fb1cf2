"""What a Cisco 12000 can express, and the options that say which of its two command lines a device's line cards take."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from controller.network.model import Device
from controller.render.capability import Capability, Range
from controller.render.model import Unrenderable
from controller.vocabulary import Platform

GSR = Capability(
    platform=Platform.CISCO_GSR,
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
#: Numbers of flow lists that are Slotcar's unless the device's options say otherwise.
FIRST_FLOW_ACL = 2_600
FLOW_ACLS = 100
_EXTENDED = (range(100, 200), range(2_000, 2_700))
_T = TypeVar("_T", bound=StrEnum)
_SLOT = re.compile(r"^\D+(\d+)/")


class Queueing(StrEnum):
    MQC = "mqc"
    COS_QUEUE_GROUP = "cos-queue-group"


class LowLatency(StrEnum):
    STRICT = "strict"
    ALTERNATE = "alternate"


def capability_of(device: Device) -> Capability:
    """`slotcar_options.queues`: what the device's poorest line card has."""
    return replace(GSR, queues=int(device.options.get("queues", GSR.queues)))


def queueing_of(device: Device) -> Queueing:
    """
    Raises:
        Unrenderable: an option that is not one, or that the form of the configuration has no word for.
    """
    queueing = _option(device, "queueing", Queueing, Queueing.MQC)
    if queueing is Queueing.MQC and low_latency_of(device) is LowLatency.ALTERNATE:
        raise Unrenderable(
            f"{device.name}: the modular command line serves the low-latency queue in strict priority only;"
            " low_latency: alternate needs queueing: cos-queue-group"
        )
    return queueing


def low_latency_of(device: Device) -> LowLatency:
    """
    Raises:
        Unrenderable: an option that is not one.
    """
    return _option(device, "low_latency", LowLatency, LowLatency.STRICT)


def _option(device: Device, name: str, kind: type[_T], usual: _T) -> _T:
    told = str(device.options.get(name, usual))
    try:
        return kind(told)
    except ValueError as problem:
        known = " or ".join(one.value for one in kind)
        raise Unrenderable(f"{device.name}: slotcar_options.{name} is {told!r}; {known} it must be") from problem


def flow_acls_of(device: Device) -> range:
    """
    Raises:
        Unrenderable: the option's range is none of extended lists.
    """
    first = int(device.options.get("first_flow_acl", FIRST_FLOW_ACL))
    found = range(first, first + FLOW_ACLS)
    if not any(found[0] in one and found[-1] in one for one in _EXTENDED):
        raise Unrenderable(
            f"{device.name}: slotcar_options.first_flow_acl is {first}; extended lists are 100 to 199 and 2000 to 2699,"
            f" and Slotcar takes {FLOW_ACLS} of them"
        )
    return found


def slot_of(interface: str, device: Device) -> int:
    """The line card's slot: the number before the first slash.

    Raises:
        Unrenderable: the name has none.
    """
    found = _SLOT.match(interface)
    if found is None:
        raise Unrenderable(f"{device.name} {interface}: no slot in this name, and cos-queue-groups go by slot")
    return int(found[1])
