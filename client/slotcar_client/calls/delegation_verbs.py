"""Delegations: rights on one reservation that its owner hands to somebody else, limited in time."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar_client.calls.requests import Time, pages, send, time_text
from slotcar_client.calls.reservation_verbs import handle_of
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def delegate(
    which: str, to: str, may: Iterable[str], until: Time, *, version: int | None = None
) -> Conversation[documents.Entry]:
    """Hands rights on it (`modify`, `progress`, `see`, …) to a caller before `until`, in the place of what it had.

    Raises:
        Conflict: to oneself, or for longer than the reservation lasts.
    """
    handle = yield from handle_of(which)
    return (yield from send(verbs.Delegate(handle, to, tuple(may), time_text(until), version)))


def withdraw(which: str, to: str, *, version: int | None = None) -> Conversation[documents.Entry]:
    """Takes back at once what somebody was handed.

    Raises:
        Conflict: it has nothing of it.
    """
    return (yield from send(verbs.Withdraw((yield from handle_of(which)), to, version)))


def delegations(*, limit: int | None = None) -> Conversation[list[documents.Delegated]]:
    """Those that run: what one was handed, and what of one's owner is in others' hands."""
    return (yield from pages(verbs.Delegations(), limit=limit))
