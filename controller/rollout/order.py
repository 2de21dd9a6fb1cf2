"""In which order the devices of a path act at a boundary: what a path carries is there before anybody admits into it.

At a start the devices inside a path act a little before those that police and mark at its edge; at an end a little after
(GARA §4: a premium packet must find its queue all the way). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.path.model import crossed
from controller.timeline import Active

#: More than the skew between devices that act by themselves, and far below a person's notice.
APART = timedelta(milliseconds=250)
#: Boundaries that are closer together keep their instants: no step may pass another's.
ALONE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Boundary:
    """An instant, who is active from then on, and how much earlier (below zero) or later some devices act."""

    at: datetime
    active: Sequence[Active]
    shifts: Mapping[str, timedelta]

    def instant(self, device: str) -> datetime:
        """When this device acts."""
        return self.at + self.shifts.get(device, timedelta())


def ordered(
    at: datetime, active: Sequence[Active], coming: Sequence[tuple[datetime, Sequence[Active]]]
) -> list[Boundary]:
    """The boundaries `coming` (ascending, after `at`), with the order of the devices at each. `active` is until the first.

    Where slots begin and others end at one instant, all devices act at it: for a moment both would be reserved, and
    nobody admitted that.
    """
    found: list[Boundary] = []
    before = active
    for index, (instant, after) in enumerate(coming):
        earlier = coming[index - 1][0] if index else at
        later = coming[index + 1][0] if index + 1 < len(coming) else None
        alone = instant - earlier >= ALONE and (later is None or later - instant >= ALONE)
        found.append(Boundary(instant, after, _shifts(before, after) if alone else {}))
        before = after
    return found


def _shifts(before: Sequence[Active], after: Sequence[Active]) -> dict[str, timedelta]:
    had, has = ({(one.entry.handle, one.window.start): one for one in some} for some in (before, after))
    begun = [one for key, one in has.items() if key not in had]
    ended = [one for key, one in had.items() if key not in has]
    if bool(begun) == bool(ended):
        return {}
    inner = _inner(begun or ended)
    return dict.fromkeys(sorted(inner), -APART if begun else APART)


def _inner(changing: Collection[Active]) -> set[str]:
    """The devices of their paths that admit for none of them."""
    paths = [path for one in changing for path in one.entry.paths]
    # Where the first device is of a domain without QoS, the first behind it admits.
    admitting = [
        next((hop.device for hop in path.hops if hop.device not in path.unreserved_devices), "") for path in paths
    ]
    return crossed(paths) - set(admitting)
