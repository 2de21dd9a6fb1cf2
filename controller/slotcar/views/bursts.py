"""Buckets that are too small for what comes to them: a policer's for one TCP connection, because of the device's largest
burst, and an SLS's for a flow, or for the flows that it has together. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from slotcar.admission.arithmetic import policer_rate_bps
from slotcar.base.units import format_bytes_about, format_latency, format_rate
from slotcar.base.vocabulary import RESERVED_SERVICES, Direction
from slotcar.book.timeline import Active
from slotcar.network.model import Network, Sls
from slotcar.network.path.model import Path
from slotcar.platforms.intent.flows import committed, first_ingress
from slotcar.platforms.model import Approximation
from slotcar.reservation.model import Reservation


def burst_notes(active: Iterable[Active], network: Network) -> dict[str, tuple[Approximation, ...]]:
    """By device, what its buckets take from reservations that cross it."""
    notes: dict[str, list[Approximation]] = defaultdict(list)
    bursts: dict[str, list[int]] = defaultdict(list)
    for one in active:
        reservation = one.entry.reservation
        if reservation.service not in RESERVED_SERVICES:
            continue
        own: dict[str, int] = {}  # of the paths to several receivers, an SLS carries one flow
        for way, path in zip(reservation.ways, one.entry.paths, strict=True):
            if not (rate_bps := one.slot.rate_bps(way)):
                continue
            for note in _notes(reservation, way, path, rate_bps, network):
                notes[note.device].append(note)
            own |= dict(_bursts_at_slss(reservation, path, rate_bps, network))
        for name, burst_bytes in own.items():
            bursts[name].append(burst_bytes)
    for name, of_flows in sorted(bursts.items()):
        for note in _of_aggregate(network.sls[name], of_flows):
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
    for name, burst_bytes in _bursts_at_slss(reservation, path, rate_bps, network):
        sls = network.sls[name]
        if burst_bytes > sls.burst_bytes:
            words = (
                f"{flow}: may send {format_bytes_about(burst_bytes, up=True)} at once, and the SLS {sls.name}"
                f" takes {format_bytes_about(sls.burst_bytes)} (burst): {_EXCESS[sls.excess]} there (GARA §4.2)"
            )
            yield Approximation(sls.ingress.device, f"burst of {flow} at the SLS {sls.name}", words)


def _bursts_at_slss(
    reservation: Reservation, path: Path, rate_bps: int, network: Network
) -> Iterator[tuple[str, int]]:
    """The SLSs of one direction, with what the flow may send there at once."""
    if (ingress := first_ingress(path, network)) is None:
        return
    _, burst_bytes = committed(reservation, rate_bps, network.devices[ingress.device])
    yield from ((name, burst_bytes) for name in path.sls if name in network.sls)


def _of_aggregate(sls: Sls, bursts: Sequence[int]) -> Iterator[Approximation]:
    """Flows that each fit by themselves may come at once: the aggregate's burst grows with their number."""
    fitting = [burst for burst in bursts if burst <= sls.burst_bytes]
    if sum(fitting) <= sls.burst_bytes:
        return
    together = format_bytes_about(sum(fitting), up=True)
    words = (
        f"{len(fitting)} flows may send {together} at once together, and the SLS {sls.name}"
        f" takes {format_bytes_about(sls.burst_bytes)} (burst): {_EXCESS[sls.excess]} there (GARA §4.2)"
    )
    yield Approximation(sls.ingress.device, f"bursts at the SLS {sls.name}", words)


#: What becomes of what exceeds an SLS.
_EXCESS = {"drop": "the rest is dropped", "remark": "the rest goes on as best effort"}
