"""Whether a sender sent what it was asked for, by the stamps of what left it for the wire: one that was starved measures
the machine and not the routers. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from slotcar_lab.experiments.figures import Phase, during
from slotcar_lab.metrics.model import Delay

#: Less of what was asked for than this, and the figure is the sender's.
LEAST_PART = 0.97
#: A sender that is kept from its work pauses for longer than two packets are apart, and this.
PAUSE_S = 0.25


class Policed(NamedTuple):
    """What a policer lets pass of IP packets since an instant, seconds since the epoch."""

    since: float
    rate_bps: float
    bucket_bytes: float


def above(stream: Sequence[Delay], packet_bytes: int, policed: Sequence[Policed]) -> tuple[Delay, ...]:
    """The packets that an exact policer would have dropped as they left the sender: its routers are not to blame for them.

    Args:
        policed: ascending; the first holds before its instant too.
    """
    tokens, last_s, dropped = float(policed[0].bucket_bytes), None, []
    for packet in sorted(stream, key=lambda one: one.sent_us):
        now_s = packet.sent_us / 1e6
        if last_s is not None:
            tokens = _filled(tokens, policed, last_s, now_s)
        last_s = now_s
        if tokens >= packet_bytes - 1e-6:
            tokens -= packet_bytes
        else:
            dropped.append(packet)
    return tuple(dropped)


def _filled(tokens: float, policed: Sequence[Policed], begin_s: float, end_s: float) -> float:
    for number, one in enumerate(policed):
        since_s = begin_s if number == 0 else max(begin_s, one.since)
        until_s = min(end_s, policed[number + 1].since) if number + 1 < len(policed) else end_s
        if until_s > since_s:
            tokens = min(one.bucket_bytes, tokens + (until_s - since_s) * one.rate_bps / 8)
    return tokens


def part_sent(stream: Sequence[Delay], phase: Phase, packets_ps: float) -> float:
    """What left the sender in a phase, against what was asked of it: 1 is all."""
    due_packets = packets_ps * (phase.end - phase.start)
    return len(during(stream, phase)) / due_packets if due_packets > 0 else 0.0


def longest_pause_s(stream: Sequence[Delay], phase: Phase) -> float:
    """Between two packets that left the sender one after the other."""
    stamps = sorted(packet.sent_us for packet in during(stream, phase))
    return max((after - before for before, after in pairwise(stamps)), default=0) / 1e6


def pause_doubt(name: str, stream: Sequence[Delay], phase: Phase, packets_ps: float) -> str:
    """Why the sender of a steady flow was starved, in words; empty where it was not."""
    pause_s = longest_pause_s(stream, phase)
    if pause_s <= 2 / packets_ps + PAUSE_S:
        return ""
    return f"{name} paused for {pause_s:.1f} s and was to send a packet every {1 / packets_ps:.3f} s: it was starved"
