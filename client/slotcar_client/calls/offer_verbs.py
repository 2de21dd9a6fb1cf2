"""What is offered to a caller: its rights, end systems, services and limits."""

from __future__ import annotations

from slotcar_client.calls.requests import items, send_json
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents


def whoami() -> Conversation[documents.Caller]:
    """Whom the token stands for, and until when."""
    return (yield from send_json("GET", "/v1/whoami"))


def endpoints() -> Conversation[documents.Endpoints]:
    """What may be a source or a destination."""
    return (yield from send_json("GET", "/v1/endpoints"))


def services() -> Conversation[list[documents.Service]]:
    return (yield from items("/v1/services"))


def limits(owner: str | None = None) -> Conversation[documents.Limits]:
    """The operator's limits, and what the owner has of its quotas."""
    return (yield from send_json("GET", "/v1/limits", {"owner": owner}))
