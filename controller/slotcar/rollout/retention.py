"""Which revisions of the archive nobody can need any more: a pure function, and the leader's doing of it once a day."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import structlog

from slotcar.base.problems import InvalidInput
from slotcar.rollout.archive import STAMP, Archive

log = structlog.get_logger(__name__)
EVERY = timedelta(days=1)

#: Of each device its revisions, oldest first, each with the handles of the reservations that it carries after it.
History = Mapping[str, Sequence[tuple[str, Collection[str]]]]


def dispensable(history: History) -> list[str]:
    """Of revisions that are all older than what is to be kept, those that may go: oldest first.

    Kept is, of each device, the last, so that what the device had at any later time stays known; and for each
    reservation that this one carries, the one that it came with and the one before that, where there is one: what
    the device had before the reservation, and since when.
    """
    old = {revision for revisions in history.values() for revision, _ in revisions}
    needed = set()
    for revisions in history.values():
        last, handles = revisions[-1]
        needed.add(last)
        for handle in handles:
            first = len(revisions) - 1
            while first and handle in revisions[first - 1][1]:
                first -= 1
            needed |= {revision for revision, _ in revisions[max(0, first - 1) : first + 1]}
    return sorted(old - needed)


@dataclass(slots=True)
class Retention:
    """Forgets what is older than `keep`, at most once a day; what goes wrong is logged and tried again a day later."""

    archive: Archive
    keep: timedelta
    _looked_at: datetime | None = field(default=None)

    def look(self, now: datetime) -> None:
        if self._looked_at is not None and timedelta() <= now - self._looked_at < EVERY:
            return
        self._looked_at = now
        try:
            before = f"{(now - self.keep).astimezone(UTC):{STAMP}}"
            good = set(self.archive.revisions())
            failed = [one for one in self.archive.revisions(taken_back=True) if one < before and one not in good]
            if forgotten := [one for one in dispensable(self._history(before)) + failed if self.archive.forget(one)]:
                log.info("old revisions forgotten", count=len(forgotten), until=max(forgotten))
        except (InvalidInput, OSError, ValueError) as error:
            log.warning("old revisions are kept", error=str(error))

    def clock_was_set(self, now: datetime) -> None:
        """After the clock was set nothing is forgotten for a day, because the ages of revisions may be wrong."""
        self._looked_at = now

    def _history(self, before: str) -> History:
        history: dict[str, list[tuple[str, Collection[str]]]] = {}
        for revision in self.archive.revisions():
            if revision >= before:
                break
            for name, some in self.archive.reservations_of(revision).items():
                history.setdefault(name, []).append((revision, {one.handle for one in some}))
        return history
