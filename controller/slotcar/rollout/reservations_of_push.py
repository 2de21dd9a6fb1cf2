"""For which reservations a push changes a device: what starts, ends or changes, or what it puts in place again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from slotcar.rollout.model import ConfiguredReservation

#: An event names so many of each kind, and counts the others.
MOST_NAMED = 20


def reservations_of_push(
    before: Sequence[ConfiguredReservation], after: Sequence[ConfiguredReservation], at: datetime
) -> dict[str, Any]:
    """Details of an event, for a device whose configuration changes at `at`.

    Args:
        before: what the device was configured for. after: what it is to be configured for.

    Returns:
        `starting`, `ending`, `changing` and, only where nothing is in these, `active`: names `OWNER/NAME` in order, at most
        `MOST_NAMED` of each; `not_named` counts the others. `boundary`: the latest slot boundary that brought it about, ISO
        8601; left out where somebody's request did, or where nobody knows.
    """
    before_by_handle, after_by_handle = ({one.handle: one for one in some} for some in (before, after))
    starting = [one for handle, one in after_by_handle.items() if handle not in before_by_handle]
    ending = [one for handle, one in before_by_handle.items() if handle not in after_by_handle]
    changing = [
        one
        for handle, one in after_by_handle.items()
        if handle in before_by_handle and _form(one) != _form(before_by_handle[handle])
    ]
    changed = bool(starting or ending or changing)
    kinds = {
        "starting": starting,
        "ending": ending,
        "changing": changing,
        "active": [] if changed else after_by_handle.values(),
    }
    named = {kind: sorted(one.name for one in some) for kind, some in kinds.items()}
    begun = [*starting, *(one for one in changing if one.start != before_by_handle[one.handle].start)]
    instants = [
        *_instants(one.start for one in begun),
        *(end for end in _instants(one.end for one in ending) if end <= at),
    ]
    document: dict[str, Any] = {kind: names[:MOST_NAMED] for kind, names in named.items() if names}
    if not_named := sum(len(names[MOST_NAMED:]) for names in named.values()):
        document["not_named"] = not_named
    if instants:
        document["boundary"] = max(instants).astimezone(UTC).isoformat()
    return document


def _form(one: ConfiguredReservation) -> tuple[int, datetime | None]:
    return one.version, one.start


def _instants(some: Iterable[datetime | None]) -> list[datetime]:
    return [one for one in some if one is not None]
