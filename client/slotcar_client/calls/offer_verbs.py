"""What is offered to a caller: its rights, end systems, services and limits."""

from __future__ import annotations

from slotcar_client.calls.requests import send
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def whoami() -> Conversation[documents.Caller]:
    """Whom the token stands for, and until when."""
    return (yield from send(verbs.Whoami()))


def endpoints() -> Conversation[documents.Endpoints]:
    """What may be a source or a destination."""
    return (yield from send(verbs.Endpoints()))


def services() -> Conversation[list[documents.Service]]:
    return (yield from send(verbs.Services()))["items"]


def limits(owner: str | None = None) -> Conversation[documents.Limits]:
    """The operator's limits, and what the owner has of its quotas."""
    return (yield from send(verbs.Limits(owner)))
