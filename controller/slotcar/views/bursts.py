"""Buckets that are too small for what comes to them: a policer's for one TCP connection, because of the device's largest
burst, and an SLS's for a flow. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from slotcar.admission.arithmetic import policer_rate_bps
from slotcar.base.units import format_bytes_about, format_latency, format_rate
from slotcar.base.vocabulary import RESERVED_SERVICES, Direction
from slotcar.book.timeline import Active
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.platforms.intent.flows import committed, first_ingress
from slotcar.platforms.model import Approximation
from slotcar.reservation.model import Reservation


def burst_notes(active: Iterable[Active], network: Network) -> dict[str, tuple[Approximation, ...]]:
    """By device, what its buckets take from reservations that cross it."""
    notes: dict[str, list[Approximation]] = defaultdict(list)
    for one in active:
        reservation = one.entry.reservation
        if reservation.service not in RESERVED_SERVICES:
            continue
        for way, path in zip(reservation.ways, one.entry.paths, strict=True):
            if not (rate_bps := one.slot.rate_bps(way)):
                continue
            for note in _notes(reservation, way, path, rate_bps, network):
                notes[note.device].append(note)
    return {name: tuple(dict.fromkeys(listed)) for name, listed in notes.items()}


def _notes(
    reservation: Reservation, way: Direction, path: Path, rate_bps: int, network: Network
) -> Iterator[Approximation]:
    """A connection with a window needs rate times round-trip time (GARA §5.1; D7.3 §8.1.1 measured 2.5 MB of one of TCP at
    50 Mb/s and 400 ms). What a flow sends at once, an SLS must take at once (GARA §4.2)."""
    if (ingress := first_ingress(path, network)) is None:
        return
    device, flow = network.devices[ingress.device], f"{reservation.owner}/{reservation.name} {way.value}"
    packet_bytes, protocol = reservation.packet_size_bytes, reservation.protocol
    needed = -(-policer_rate_bps(rate_bps, packet_bytes, protocol) * reservation.rtt_us // 8_000_000)
    if protocol.has_window and needed > device.burst_ceiling_bytes:
        words = (
            f"{flow}: one {protocol.upper()} connection of {format_latency(reservation.rtt_us)} needs a burst of"
            f" {format_bytes_about(needed, up=True)} at {format_rate(rate_bps)}, and has"
            f" {format_bytes_about(device.burst_ceiling_bytes)} (slotcar_burst_ceiling): it may stay below its rate (GARA"
            " §5.1, D7.3 §8.1.1); say its path's own rtt, where that is shorter"
        )
        yield Approximation(device.name, f"burst of {flow}", words)
    _, burst_bytes = committed(reservation, rate_bps, device)
    for sls in (network.sls[name] for name in path.sls if name in network.sls):
        if burst_bytes > sls.burst_bytes:
            words = (
                f"{flow}: may send {format_bytes_about(burst_bytes, up=True)} at once, and the SLS {sls.name}"
                f" takes {format_bytes_about(sls.burst_bytes)} (burst): {_EXCESS[sls.excess]} there (GARA §4.2)"
            )
            yield Approximation(sls.ingress.device, f"burst of {flow} at the SLS {sls.name}", words)


#: What becomes of what exceeds an SLS.
_EXCESS = {"drop": "the rest is dropped", "remark": "the rest goes on as best effort"}
