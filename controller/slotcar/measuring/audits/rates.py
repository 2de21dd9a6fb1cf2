"""What devices counted of an SLS's class where its aggregate leaves the domain. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.base.timebase import Window
from slotcar.measuring.audits.histogram import MILLION
from slotcar.measuring.audits.judging import RateCount
from slotcar.network.model import InterfaceId, Network, Sls
from slotcar.store.counts import CountedStep


def ways_out(sls: Sls, network: Network) -> tuple[InterfaceId, ...]:
    """The interfaces of its scope; where none are named, all of its domain but where it comes in and those inside."""
    if sls.egresses or sls.scope:
        return sls.egresses
    return tuple(
        InterfaceId(device=device.name, name=name)
        for device in network.devices.values()
        if device.domain == sls.downstream
        for name, interface in device.interfaces.items()
        if (interface.neighbour is None or network.devices[interface.neighbour.device].domain != sls.downstream)
        and InterfaceId(device=device.name, name=name) != sls.ingress
    )


def rate_count(steps: Iterable[CountedStep], window: Window, service: str) -> RateCount | None:
    """What lies whole within a window; None where nothing does. Of several ways out, the one that was counted least."""
    counted_us: dict[tuple[str, str], int] = {}
    sent_bytes = dropped_packets = 0
    for one in steps:
        end_us = one.start_us + one.step_s * MILLION
        if one.service != service or one.start_us < window.start_us or end_us > window.end_us:
            continue
        place = (one.device, one.interface)
        counted_us[place] = counted_us.get(place, 0) + one.counted_us
        sent_bytes += one.in_profile_bytes
        dropped_packets += one.dropped_packets
    return RateCount(min(counted_us.values()), sent_bytes, dropped_packets) if counted_us else None
