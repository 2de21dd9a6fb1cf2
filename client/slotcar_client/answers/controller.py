"""The controller itself: what it is about, and whether it is well."""

from __future__ import annotations

from typing import Literal, TypedDict


class Watch(TypedDict):
    """How a device tells of changes by itself."""

    device: str
    state: Literal["connecting", "watching", "listening", "broken", "unwatched"]
    how: str
    since: str
    message: str
    changes: int
    checks: int


class Controller(TypedDict):
    now: str
    started_at: str
    reconciles: bool
    leading: bool
    settled: bool
    checked_at: str | None
    next_boundary: str | None
    phases: dict[str, str]
    troubles: dict[str, str]
    pushes: int
    failed_pushes: int
    last_push_at: str | None
    last_revision: str
    error: str
    watches: list[Watch]


class Check(TypedDict):
    name: str
    ok: bool
    message: str


class Health(TypedDict):
    status: Literal["ok", "failing"]
    checks: list[Check]
