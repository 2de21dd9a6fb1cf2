"""In which order the devices of a path are changed at a boundary: its core before its edge where a slot starts or its
rate rises, after it where one ends or falls.

So the edge lets no premium packet in that does not find its queue all the way (GARA §4). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from slotcar.book.timeline import Active
from slotcar.network.path.model import crossed

#: More than the skew between devices that act by themselves, and far below a person's notice.
OFFSET = timedelta(milliseconds=250)
#: Boundaries that are closer together keep their instants: no step may pass another's.
MIN_DISTANCE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class DeviceBoundary:
    """An instant, who is active from then on, and how much earlier (below zero) or later some devices act."""

    at: datetime
    active: Sequence[Active]
    shifts: Mapping[str, timedelta]

    def instant(self, device: str) -> datetime:
        """When this device acts."""
        return self.at + self.shifts.get(device, timedelta())


def boundaries_in_order(
    at: datetime, active: Sequence[Active], coming: Sequence[tuple[datetime, Sequence[Active]]]
) -> list[DeviceBoundary]:
    """Each boundary of `coming` with how much earlier or later than it the devices of the core are changed.

    Where slots begin or rise and others end or fall at one instant, all devices act at it: for a moment both would be
    reserved, and nobody admitted that.

    Args:
        active: the slots that are open from `at` until the first boundary.
        coming: the boundaries after `at`, ascending, each with the slots that are open from then on.
    """
    boundaries: list[DeviceBoundary] = []
    before = active
    for index, (instant, after) in enumerate(coming):
        earlier = coming[index - 1][0] if index else at
        later = coming[index + 1][0] if index + 1 < len(coming) else None
        alone = instant - earlier >= MIN_DISTANCE and (later is None or later - instant >= MIN_DISTANCE)
        boundaries.append(DeviceBoundary(instant, after, _shifts(before, after) if alone else {}))
        before = after
    return boundaries


def _shifts(before: Sequence[Active], after: Sequence[Active]) -> dict[str, timedelta]:
    before_by_slot, after_by_slot = (
        {(one.entry.handle, one.window.start): one for one in some} for some in (before, after)
    )
    more = [one for key, one in after_by_slot.items() if _exceeds(one, before_by_slot.get(key))]
    less = [one for key, one in before_by_slot.items() if _exceeds(one, after_by_slot.get(key))]
    if bool(more) == bool(less):
        return {}
    inner = _inner(more or less)
    return dict.fromkeys(sorted(inner), -OFFSET if more else OFFSET)


def _exceeds(one: Active, other: Active | None) -> bool:
    """Whether it has something that the other has not, or a higher rate one way."""
    return other is None or any(rate > its for rate, its in zip(one.slot.rates, other.slot.rates, strict=True))


def _inner(changing: Collection[Active]) -> set[str]:
    """The devices of their paths that admit for none of them."""
    paths = [path for one in changing for path in one.entry.paths]
    # Where the first device is of a domain without QoS, the first behind it admits.
    admitting = [path.first_reserved_device for path in paths]
    return crossed(paths) - set(admitting)
