"""SLSs between domains that have a controller each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcar_client.calls.requests import Time, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def open_sls(sls: Mapping[str, Any]) -> Conversation[documents.NeighbourSls]:
    """Opens an SLS with a neighbour, in the words of an inventory and with its `name`.

    Raises:
        Conflict: one of the two domains refuses; the message says which, in its numbers.
    """
    return (yield from send(verbs.OpenSls(sls)))


def change_sls(name: str, change: Mapping[str, Any]) -> Conversation[documents.NeighbourSls]:
    """Changes what is said of an SLS that was agreed on; the rest stays.

    Raises:
        Conflict: one of the two domains refuses, for it has promised more, for example.
    """
    return (yield from send(verbs.ChangeSls(name, change)))


def end_sls(name: str, at: Time | None = None, *, reason: str = "") -> Conversation[documents.NeighbourSls]:
    """Ends an SLS that was agreed on, before its window does.

    Raises:
        Conflict: something is promised of it from then on.
    """
    return (yield from send(verbs.EndSls(name, time_text(at), reason)))


def slss() -> Conversation[documents.NeighbourSlss]:
    """SLSs with neighbours, and what is promised of them; for operators and auditors."""
    return (yield from send(verbs.Slss()))
