"""What a Linux router can express, as far as iproute2 prints it back unchanged (`numbers.py`); the operator's options."""

from __future__ import annotations

from dataclasses import replace

from controller.network.model import Device, Interface
from controller.render.capability import Capability, Range
from controller.render.model import Unrenderable
from controller.units import UnitError, parse_rate_bps
from controller.vocabulary import Platform, Scheduler

#: The least rate of a standing class, bit/s: one full packet in about 1.5 s, so practically nothing.
LEAST_RATE_BPS = 8_000
#: From 1 Tb/s on tc prints whole Gb/s only; a policer's bucket is a 32-bit number of bytes.
MOST_RATE_BPS = 999_999_000_000
#: HFSC keeps a rate as a 32-bit number of bytes a second; above 1 Gb/s tc prints whole Mb/s.
MOST_HFSC_BPS = 34_359_000_000
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
HFSC = replace(
    LINUX,
    weight=Range(LEAST_RATE_BPS, MOST_HFSC_BPS, 8),
    weight_unit="bit/s of a link-sharing curve of HFSC",
    source="iproute2 6.1, q_hfsc.c; Linux 6.1, net/sched/sch_hfsc.c",
)
#: Linux 6.1.0-56 of Debian cuts a quantum to between 256 bytes and 1 MiB; other kernels take these, too.
ETS = replace(
    LINUX,
    weight=Range(256, 2**20),
    weight_unit="bytes that a band of ets sends in a round",
    shapes=False,
    source="iproute2 6.1, q_ets.c; Linux 6.1, net/sched/sch_ets.c",
)
CAPABILITIES: dict[Scheduler, Capability] = {Scheduler.HTB: LINUX, Scheduler.HFSC: HFSC, Scheduler.ETS: ETS}

#: Ethernet's line rates, IEEE 802.3, Mb/s.
ETHERNET_MBPS = (10, 100, 1_000, 2_500, 5_000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 800_000)
#: In how long a full burst of premium leaves, where the operator does not say: Park found 7 ms of jitter to hurt as
#: 200 ms of delay do (EMERGE, second experiment, note 1), so a queue on the path must stay below that.
PREMIUM_DELAY_US = 5_000
DELAYS_US = Range(100, 1_000_000)
#: One of so many packets is dropped or marked where best effort's mean queue is at its upper threshold: WRED's default.
MARK_DENOMINATOR = 10
MARK_DENOMINATORS = Range(1, 1_000)


def line_rate_bps(device: Device, interface: Interface) -> int:
    """Rate of the physical line: `line_rate:INTERFACE` in the device's options, else `line_rate`, else the slowest
    Ethernet that has the capacity.

    Raises:
        Unrenderable: the option is no rate, or the capacity is above the line's.
    """
    own = f"line_rate:{interface.id.name}"
    option = own if own in device.options else "line_rate"
    if option not in device.options:
        rates = (mbps * 1_000_000 for mbps in ETHERNET_MBPS)
        return next((rate for rate in rates if rate >= interface.capacity_bps), interface.capacity_bps)
    try:
        line_bps = parse_rate_bps(device.options[option])
    except UnitError as error:
        raise Unrenderable(f"{interface.id}: slotcar_options.{option} {error}") from error
    if interface.capacity_bps > line_bps:
        raise Unrenderable(
            f"{interface.id}: a capacity of {interface.capacity_bps} bit/s, and slotcar_options.{option} says that the"
            f" line has {line_bps} bit/s; mend one of them"
        )
    return line_bps


def premium_delay_us(device: Device, where: str) -> int:
    """In how long a full burst of premium must have left: the option `premium_delay_us`, else 5 ms.

    Raises:
        Unrenderable: the option is no whole number of that size.
    """
    return _whole(device, where, "premium_delay_us", PREMIUM_DELAY_US, DELAYS_US, "a whole number of microseconds")


def mark_denominator(device: Device, where: str) -> int:
    """One of how many packets best effort drops, or marks where their ends know ECN, at its upper threshold: the option
    `mark_denominator`, else 10 (Cisco's mark probability denominator).

    Raises:
        Unrenderable: the option is no whole number of that size.
    """
    return _whole(device, where, "mark_denominator", MARK_DENOMINATOR, MARK_DENOMINATORS, "a whole number")


def _whole(device: Device, where: str, option: str, usual: int, sizes: Range, kind: str) -> int:
    told = device.options.get(option, usual)
    if not isinstance(told, int) or isinstance(told, bool) or not sizes.floor <= told <= sizes.ceiling:
        raise Unrenderable(
            f"{where}: slotcar_options.{option} is {told}; say {kind} from {sizes.floor} to {sizes.ceiling}"
        )
    return told
