"""What a modify may change, and the reservation that results. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.reservation.model import Reservation
from controller.timebase import Window, iso
from controller.verbs.errors import NotPossible


@dataclass(frozen=True, slots=True)
class Modification:
    """None leaves a value as it is. `end` and `duration` exclude each other."""

    rate_bps: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    duration: timedelta | None = None

    @property
    def changes_window(self) -> bool:
        return self.start is not None or self.end is not None or self.duration is not None


def modified(old: Reservation, change: Modification, now: datetime) -> Reservation:
    """
    Raises:
        NotPossible: nothing to change, a slot that is over, both an end and a duration, a window of a recurring
            reservation, a window that ends before it starts or lies in the past, or another start for a slot that
            has begun.
    """
    if change.rate_bps is None and not change.changes_window:
        raise NotPossible("modify needs a rate, a start, an end or a duration")
    if old.end <= now:
        raise NotPossible(f"{old.owner}/{old.name} ended at {iso(old.end)}: nothing of it can change any more")
    updates: dict[str, object] = {}
    if change.rate_bps is not None:
        updates["rate_bps"] = change.rate_bps
    if change.changes_window:
        updates["windows"] = (_window(old, change, now),)
    return Reservation.model_validate({**old.model_dump(), **updates})


def _window(old: Reservation, change: Modification, now: datetime) -> Window:
    if len(old.windows) > 1:
        raise NotPossible(
            f"{old.owner}/{old.name} recurs {len(old.windows)} times: change its recurrence in its file and apply that"
        )
    if change.end is not None and change.duration is not None:
        raise NotPossible("say an end or a duration, not both")
    window = old.windows[0]
    start = change.start or window.start
    if change.start is not None and window.start <= now and change.start != window.start:
        raise NotPossible(f"the slot began at {iso(window.start)}: its start cannot change any more, its end can")
    end = change.end or start + (change.duration or window.duration)
    if end <= start:
        raise NotPossible(f"the window would end at {iso(end)}, not after its start at {iso(start)}")
    if end <= now:
        raise NotPossible(f"the window would end at {iso(end)}, which is past; to end the slot now, cancel it")
    return Window(start, end)
