"""The network and its resources."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar_client import answers
from slotcar_client.calls.requests import Time, next_page, send_json, time_text
from slotcar_client.transport import Conversation


def resources(
    resource: Iterable[str] = (), *, device: str | None = None, domain: str | None = None, since: Time | None = None,
    until: Time | None = None, points: int | None = None,
) -> Conversation[list[answers.Resource]]:  # fmt: skip
    """Capacity, reserved and free of these resources, or of all, from now for a day where neither is said; with at most
    `points` steps of each. Not for requesters."""
    query = {
        "resource": list(resource), "device": device, "domain": domain, "from": time_text(since), "until": time_text(until),
        "points": points,
    }  # fmt: skip
    listed: list[answers.Resource] = []
    after: str | None = None
    while True:
        page = yield from send_json("GET", "/v1/resources", query | {"after": after})
        listed += page["items"]
        after = next_page(page, after)
        if after is None:
            return listed


def network() -> Conversation[answers.Topology]:
    """Domains, devices, links, SLSs and end systems; not for requesters."""
    return (yield from send_json("GET", "/v1/network"))
