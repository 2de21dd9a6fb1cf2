"""Throughput: the goodput of RFC 2647 §3.17, bits that reached their destination for each unit of time.

Unit: bits a second, of payload or of whole packets as `packet_bytes` says. Sampling: the packets whose first copy was
received in a half-open interval of the receiver's clock; a lost packet, a late one and a second copy count nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from slotcar.measuring.metrics.model import Delay


@dataclass(frozen=True, slots=True)
class ReceivedInterval:
    """What arrived in `[start_us, start_us + the series' interval)`."""

    start_us: int
    received_packets: int
    received_bps: int


def received_bps(stream: Sequence[Delay], packet_bytes: int, start_us: int, end_us: int) -> int:
    """The rate at which packets of one size arrived in `[start_us, end_us)`, rounded down.

    Raises:
        ValueError: the interval is empty.
    """
    if end_us <= start_us:
        raise ValueError(f"the interval is empty ([{start_us}, {end_us}) us)")
    arrived = sum(start_us <= at_us < end_us for at_us in _arrivals(stream))
    return arrived * packet_bytes * 8_000_000 // (end_us - start_us)


def series(
    stream: Sequence[Delay], packet_bytes: int, start_us: int, end_us: int, interval_us: int
) -> tuple[ReceivedInterval, ...]:
    """The rate in each interval from `start_us` to `end_us`; a rest shorter than one interval is left out.

    Raises:
        ValueError: `interval_us` is not positive.
    """
    if interval_us <= 0:
        raise ValueError(f"the interval must be positive (got {interval_us} us)")
    counts = Counter((at_us - start_us) // interval_us for at_us in _arrivals(stream))
    return tuple(
        ReceivedInterval(
            start_us + index * interval_us, counts[index], counts[index] * packet_bytes * 8_000_000 // interval_us
        )
        for index in range((end_us - start_us) // interval_us)
    )


def _arrivals(stream: Sequence[Delay]) -> list[int]:
    return [packet.received_us for packet in stream if packet.received_us is not None]
