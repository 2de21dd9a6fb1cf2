"""Whose clock is wrong: what routers' clocks said when they were last staged. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median_low

from slotcar_client.wire.events import (
    ControllerClockOff,
    ControllerClockRight,
    DeviceClockOff,
    DeviceClockRight,
    Kind,
)

#: A clock that is off by more is named.
LIMIT_US = 2_000_000


@dataclass(frozen=True, slots=True)
class ClocksJudged:
    """Attributes:
    off_us: routers whose clock differs, and how far it is ahead of most routers' or, of two alone, of the controller's.
    controller_us: how far the controller's clock is behind that of most routers; 0 where it agrees with them.
    """

    off_us: Mapping[str, int]
    controller_us: int = 0


def judge(ahead_us: Mapping[str, int], limit_us: int = LIMIT_US) -> ClocksJudged:
    """Whose clock is wrong, judged by how far each router's clock is ahead of the controller's.

    Where more than half of three or more routers agree with each other within the limit and not with the controller, it
    is the controller that is wrong. Two against one is no majority among routers that one bad time server feeds.
    """
    if not ahead_us:
        return ClocksJudged({})
    middle = median_low(ahead_us.values())
    together = sum(abs(one - middle) <= limit_us for one in ahead_us.values())
    suspected = abs(middle) > limit_us and len(ahead_us) > 2 and 2 * together > len(ahead_us)
    reference = middle if suspected else 0
    off = {name: one - reference for name, one in sorted(ahead_us.items()) if abs(one - reference) > limit_us}
    return ClocksJudged(off, reference)


def changes(
    before: ClocksJudged, after: ClocksJudged, ahead_us: Mapping[str, int]
) -> Iterator[tuple[Kind, str | None]]:
    """One event for each clock that went wrong or right since, and its device."""
    for name in sorted(before.off_us.keys() ^ after.off_us.keys()):
        kind = DeviceClockOff if name in after.off_us else DeviceClockRight
        yield kind(ahead_us=ahead_us[name]), name
    if bool(before.controller_us) != bool(after.controller_us):
        behind_us = after.controller_us
        yield (ControllerClockOff if behind_us else ControllerClockRight)(behind_us=behind_us), None
