"""The network and its resources."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar_client.calls.requests import Time, pages, send_json, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents

#: Of one page; the API gives no more.
RESOURCES_PAGE = 50


def resources(
    resource: Iterable[str] = (), *, device: str | None = None, domain: str | None = None, since: Time | None = None,
    until: Time | None = None, points: int | None = None,
) -> Conversation[list[documents.Resource]]:  # fmt: skip
    """Capacity, reserved and free of these resources, or of all, from now for a day where neither is said; with at most
    `points` steps of each. Not for requesters."""
    query = {
        "resource": list(resource), "device": device, "domain": domain, "from": time_text(since), "until": time_text(until),
        "points": points,
    }  # fmt: skip
    return (yield from pages("/v1/resources", query, RESOURCES_PAGE))


def network() -> Conversation[documents.Topology]:
    """Domains, devices, links, SLSs and end systems; not for requesters."""
    return (yield from send_json("GET", "/v1/network"))
