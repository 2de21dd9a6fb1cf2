"""Policers whose bucket is smaller than one TCP connection needs, because of the device's largest burst. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from slotcar.admission.arithmetic import policer_rate_bps
from slotcar.intent.flows import first_ingress
from slotcar.network.model import Network
from slotcar.platforms.model import Approximation
from slotcar.timeline import Active
from slotcar.units import format_bytes_about, format_latency, format_rate
from slotcar.vocabulary import RESERVED_SERVICES, Protocol


def burst_notes(active: Iterable[Active], network: Network) -> dict[str, tuple[Approximation, ...]]:
    """By device, what its ceiling takes from TCP reservations that enter there: rate times round-trip time is what one
    connection needs (GARA §5.1; D7.3 §8.1.1 measured 2.5 MB at 50 Mb/s and 400 ms)."""
    notes: dict[str, list[Approximation]] = defaultdict(list)
    for one in active:
        reservation = one.entry.reservation
        if reservation.protocol is not Protocol.TCP or reservation.service not in RESERVED_SERVICES:
            continue
        for way, path in zip(reservation.direction.ways, one.entry.paths, strict=True):
            ingress, rate_bps = first_ingress(path, network), one.slot.rate_bps(way)
            if ingress is None or not rate_bps:
                continue
            device = network.devices[ingress.device]
            needed = -(
                -policer_rate_bps(rate_bps, reservation.packet_size_bytes, reservation.protocol)
                * reservation.rtt_us
                // 8_000_000
            )
            if needed > device.burst_ceiling_bytes:
                flow = f"{reservation.owner}/{reservation.name} {way.value}"
                words = (
                    f"{flow}: one TCP connection of {format_latency(reservation.rtt_us)} needs a burst of"
                    f" {format_bytes_about(needed)} at {format_rate(rate_bps)}, and has"
                    f" {format_bytes_about(device.burst_ceiling_bytes)} (slotcar_burst_ceiling): it may stay below its"
                    " rate (GARA §5.1, D7.3 §8.1.1)"
                )
                notes[device.name].append(Approximation(device.name, f"burst of {flow}", words))
    return {name: tuple(listed) for name, listed in notes.items()}
