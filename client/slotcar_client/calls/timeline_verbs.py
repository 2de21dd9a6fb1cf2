"""Slot boundaries, and what was reserved in a month."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from slotcar_client.calls.requests import Time, pages, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs

#: How far ahead a timeline looks where nothing is said.
AHEAD_HOURS = 24.0


def timeline(
    *, since: Time | None = None, until: Time | None = None, hours: float | None = None, device: Iterable[str] = (),
    reservation: str | None = None, owner: str | None = None, name: str | None = None, label: str | None = None,
    limit: int | None = None,
) -> Conversation[list[documents.TimelineItem]]:  # fmt: skip
    """Slot boundaries from an hour back to 24 hours ahead, where neither is said: all of them, or the first `limit`."""
    verb = verbs.Timeline(
        time_text(since), time_text(until), AHEAD_HOURS if hours is None else hours, list(device) or None, reservation,
        owner, name, label,
    )  # fmt: skip
    return (yield from pages(verb, limit=limit, cursor="since"))


def boundaries(
    *, since: Time | None = None, until: Time | None = None, limit: int | None = None
) -> Conversation[list[documents.BoundaryCount]]:
    """The next boundaries, counted: all of them, or the first `limit`; from now for 31 days where neither is said."""
    return (yield from pages(verbs.Boundaries(time_text(since), time_text(until)), limit=limit, cursor="since"))


def boundary(instant: Time) -> Conversation[documents.BoundaryView]:
    """What happens at an instant, how far each device is, and what changes on them."""
    return (yield from send(verbs.Boundary(time_text(instant))))


def usage(
    *,
    by: str | None = None,
    since: Time | None = None,
    until: Time | None = None,
    owner: str | None = None,
) -> Conversation[list[documents.Usage]]:
    """What was reserved in each month, by `owner`, `sls` or `domain`; this month where no time is said."""
    summed = cast("documents.SummedBy", by or "owner")
    return (yield from send(verbs.Usage(summed, time_text(since), time_text(until), owner)))["items"]
