"""The network and its resources."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar_client.calls.requests import Time, pages, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def resources(
    resource: Iterable[str] = (), *, device: str | None = None, domain: str | None = None, since: Time | None = None,
    until: Time | None = None, points: int | None = None,
) -> Conversation[list[documents.Resource]]:  # fmt: skip
    """Capacity, reserved and free of these resources, or of all, from now for a day where neither is said; with at most
    `points` steps of each. Not for requesters."""
    verb = verbs.Resources(list(resource) or None, device, domain, time_text(since), time_text(until), points or 0)
    return (yield from pages(verb))


def network() -> Conversation[documents.Topology]:
    """Domains, devices, links, SLSs and end systems; not for requesters."""
    return (yield from send(verbs.Network()))
