"""What a Linux router can express, as far as iproute2 prints it back unchanged (`numbers.py`)."""

from __future__ import annotations

from dataclasses import replace

from slotcar.base.vocabulary import Scheduler
from slotcar.network.model import Device, Interface
from slotcar.platforms.capability import Capability, Range
from slotcar.platforms.linux_tc.facts import LinuxOptions
from slotcar.platforms.linux_tc.objects import MOST_CLASSES
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.options import options_of

#: The least rate of a standing class, bit/s: one full packet in about 1.5 s, so practically nothing.
LEAST_RATE_BPS = 8_000
#: From 1 Tb/s on tc prints whole Gb/s only; a policer's bucket is a 32-bit number of bytes.
MOST_RATE_BPS = 999_999_000_000
#: HFSC keeps a rate as a 32-bit number of bytes a second; above 1 Gb/s tc prints whole Mb/s.
MOST_HFSC_BPS = 34_359_000_000
LINUX = Capability(
    dscp=True,
    queues=3 + MOST_CLASSES,
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


def line_rate_bps(device: Device, interface: Interface) -> int:
    """Rate of the physical line: the option `line_rate`, else the slowest Ethernet that has the capacity.

    Raises:
        Unrenderable: the capacity is above the line's.
    """
    line_bps: int | None = options_of(device, LinuxOptions).of_interface("line_rate", interface.id.name)
    if line_bps is None:
        rates = (mbps * 1_000_000 for mbps in ETHERNET_MBPS)
        return next((rate for rate in rates if rate >= interface.capacity_bps), interface.capacity_bps)
    if interface.capacity_bps > line_bps:
        raise Unrenderable(
            f"{interface.id}: a capacity of {interface.capacity_bps} bit/s, and slotcar_options.line_rate says that"
            f" the line has {line_bps} bit/s; mend one of them"
        )
    return line_bps
