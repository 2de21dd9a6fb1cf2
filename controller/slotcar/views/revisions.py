"""Revisions of the archive in pages, the latest first: only the folders that a page is about are read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from slotcar.base.timebase import iso
from slotcar.rollout.archive import STAMP, Archive
from slotcar_client.wire import documents

#: So far back it is looked for what a device was configured for before.
LOOK_BACK = 200


def revisions_page(archive: Archive, before: str | None, limit: int) -> tuple[list[documents.Revision], str | None]:
    """At most `limit` revisions that are older than `before` (the latest ones where it is None), and the `before` of the
    next page; None on the last.

    Of each: `revision`, `at`, the `devices` that had it, the names that `came` and `went` by it, and the revision that an
    operator took back by it.

    Raises:
        InvalidInput: a file of the archive is broken.
    """
    older = [name for name in archive.revisions() if before is None or name < before]
    page, rest = older[-limit:], older[:-limit]
    after = _ReservationsAfter(archive)
    listed: list[documents.Revision] = []
    for place in range(len(older) - 1, len(older) - len(page) - 1, -1):
        name = older[place]
        now = after.of(name)
        before_push = {device: after.last(device, older[max(0, place - LOOK_BACK) : place]) for device in now}
        added = {one for device in now for one in now[device] - before_push[device]}
        removed = {one for device in now for one in before_push[device] - now[device]}
        at = datetime.strptime(name.partition("Z")[0] + "Z", STAMP).replace(tzinfo=UTC, microsecond=0)
        listed.append(
            {
                "revision": name,
                "at": iso(at),
                "devices": sorted(now),
                "came": sorted(added),
                "went": sorted(removed),
                "rollback_of": archive.rollback_of(name),
            }
        )
    return listed, page[0] if rest and page else None


class _ReservationsAfter:
    """What devices were configured for after a revision, each revision read once."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._known: dict[str, Mapping[str, frozenset[str]]] = {}

    def of(self, revision: str) -> Mapping[str, frozenset[str]]:
        if revision not in self._known:
            self._known[revision] = {
                device: frozenset(one.name for one in some)
                for device, some in self._archive.reservations_of(revision).items()
            }
        return self._known[revision]

    def last(self, device: str, revisions: list[str]) -> frozenset[str]:
        for name in reversed(revisions):
            if device in (reservations := self.of(name)):
                return reservations[device]
        return frozenset()
