"""The audit log, and the webhooks that it is sent to."""

from __future__ import annotations

from typing import Any, TypedDict


class Event(TypedDict):
    sequence: int
    at: str
    kind: str
    handle: str | None
    device: str | None
    details: dict[str, Any]


class Webhook(TypedDict):
    """`signing_secret` is said once, by `webhook_add`, where the controller made it."""

    id: str
    url: str
    owner: str | None
    secret: str
    signing_secret: str | None
    kinds: list[str]
    created_at: str
    created_by: str
    waiting: int
    dead: int
    delivered_at: str | None
    last_error: str


class Tested(TypedDict):
    delivered: bool
    status: int | None
    message: str


class DeadLetter(TypedDict):
    event: Event
    attempts: int
    queued_at: str
    dead_at: str
    last_error: str
