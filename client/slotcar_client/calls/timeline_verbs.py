"""Slot boundaries, and what was reserved in a month."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from slotcar_client.calls.requests import Time, items, pages, send_json, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents


def timeline(
    *, since: Time | None = None, until: Time | None = None, hours: float | None = None, device: Iterable[str] = (),
    reservation: str | None = None, owner: str | None = None, name: str | None = None, label: str | None = None,
    limit: int | None = None,
) -> Conversation[list[documents.TimelineItem]]:  # fmt: skip
    """Slot boundaries from an hour back to 24 hours ahead, where neither is said: all of them, or the first `limit`."""
    query = {
        "from": time_text(since), "until": time_text(until), "hours": hours, "device": list(device), "owner": owner,
        "name": name, "reservation": reservation, "label": label,
    }  # fmt: skip
    return (yield from pages("/v1/timeline", query, limit=limit, cursor="from"))


def boundaries(
    *, since: Time | None = None, until: Time | None = None, limit: int | None = None
) -> Conversation[list[documents.BoundaryCount]]:
    """The next boundaries, counted: all of them, or the first `limit`; from now for 31 days where neither is said."""
    query = {"from": time_text(since), "until": time_text(until)}
    return (yield from pages("/v1/boundaries", query, limit=limit, cursor="from"))


def boundary(instant: Time) -> Conversation[documents.BoundaryView]:
    """What happens at an instant, how far each device is, and what changes on them."""
    return (yield from send_json("GET", f"/v1/boundaries/{quote(time_text(instant) or '', safe='')}"))


def usage(
    *, by: str | None = None, since: Time | None = None, until: Time | None = None, owner: str | None = None
) -> Conversation[list[documents.Usage]]:
    """What was reserved in each month, by `owner`, `sls` or `domain`; this month where no time is said."""
    return (
        yield from items("/v1/usage", {"by": by, "from": time_text(since), "until": time_text(until), "owner": owner})
    )
