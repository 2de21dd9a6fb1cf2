"""Streams of packets as tests write them."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.measuring.metrics import delay
from slotcar.measuring.metrics.model import Delay, Stamp

#: The waiting time of these streams, far over any delay in them.
WAITING_US = 60_000_000


def stream(*delays_us: int | None, every_us: int = 20_000) -> tuple[Delay, ...]:
    """A periodic stream with these delays; None is a lost packet."""
    stamps = (
        Stamp(number, number * every_us, None if taken is None else number * every_us + taken)
        for number, taken in enumerate(delays_us)
    )
    return delay.one_way(stamps, WAITING_US)


def losses(pattern: Iterable[int]) -> tuple[Delay, ...]:
    """A periodic stream by RFC 7680's singletons: 0 received, 1 lost."""
    return stream(*(None if lost else 10_000 for lost in pattern))
