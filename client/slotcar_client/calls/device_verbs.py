"""Devices: what they are to have, what they have, what was pushed to them, and holds on them."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar_client.calls.requests import Time, pages, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def configurations(at: Time | None = None, device: Iterable[str] = ()) -> Conversation[list[documents.Configuration]]:
    """What devices are to have at an instant; not for requesters."""
    return (yield from send(verbs.Configurations(time_text(at), list(device) or None)))["items"]


def device_states() -> Conversation[list[documents.DeviceState]]:
    """The last known state of every device, which is not read for it; not for requesters."""
    return (yield from send(verbs.DeviceStates()))["items"]


def revisions(*, before: str | None = None, limit: int | None = None) -> Conversation[list[documents.Revision]]:
    """What was pushed, the latest first, or the latest before one: all of it, or the first `limit`; not for requesters."""
    return (yield from pages(verbs.Revisions(before), limit, cursor="before"))


def holds() -> Conversation[list[documents.Hold]]:
    """The routers that are held, by name; not for requesters."""
    return (yield from send(verbs.Holds()))["items"]


def differences(device: Iterable[str] = ()) -> Conversation[documents.Comparison]:
    """As `difference` of each of these devices, or of all, read at once."""
    return (yield from send(verbs.Differences(list(device) or None)))


def adopt(device: str) -> Conversation[documents.Adoption]:
    """Lets Slotcar manage a device that it has never managed; look at its `difference` before. For operators."""
    return (yield from send(verbs.Adopt(device)))


def hold(device: str, reason: str = "", *, until: Time | None = None) -> Conversation[documents.Hold]:
    """Has a router left alone as it is, until `until` or its release; for operators."""
    return (yield from send(verbs.Hold(device, reason, time_text(until))))


def release(device: str) -> Conversation[documents.Hold]:
    """Ends the hold of a router, and gives it; for operators."""
    return (yield from send(verbs.Release(device)))


def difference(device: str) -> Conversation[documents.DifferenceOfDevice]:
    """What a device has beside what it is to have; reads it, which takes seconds. Not for requesters."""
    return (yield from send(verbs.Difference(device)))
