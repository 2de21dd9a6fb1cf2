"""The sender's window by the round-trip time: the reference's rule for the base connection (NICT AF). Pure.

The round-trip time goes up: the window goes up by binary search towards `cwnd_max`, each step between a least and a
greatest one. It goes down: the window goes at once to the lower value. So the rate stays at the committed one while a
queue fills, and no queue overflows when it has drained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

#: TCP's own needs at least so much.
LEAST_BYTES = 16 << 10
#: The rule's steps, in segments; a linear increase was too slow and a faster one lost many packets, says the reference.
LEAST_STEP_SEGMENTS, GREATEST_STEP_SEGMENTS = 1, 32


@dataclass(frozen=True, slots=True)
class Window:
    """The present one, in bytes, and the round-trip time that it was found for."""

    window_bytes: int
    rtt_us: int


def wanted_bytes(rate_bps: int, rtt_us: int) -> int:
    """`cwnd_max`: bandwidth times delay, rounded up."""
    return max(LEAST_BYTES, -(-rate_bps * rtt_us // 8_000_000))


def first(rate_bps: int, rtt_us: int) -> Window:
    return Window(wanted_bytes(rate_bps, rtt_us), rtt_us)


def after(window: Window, rate_bps: int, rtt_us: int, segment_bytes: int) -> Window:
    """The window after a measurement of the round-trip time.

    Args:
        rate_bps: the committed rate. rtt_us: smoothed. segment_bytes: of one segment.
    """
    most = wanted_bytes(rate_bps, rtt_us)
    if most <= window.window_bytes:
        return Window(most, rtt_us)
    half = (most - window.window_bytes) // 2
    step = max(LEAST_STEP_SEGMENTS * segment_bytes, min(GREATEST_STEP_SEGMENTS * segment_bytes, half))
    return replace(window, window_bytes=min(most, window.window_bytes + step), rtt_us=rtt_us)
