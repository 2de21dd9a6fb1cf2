"""What a problem document says beside its sentence."""

from __future__ import annotations

from typing import TypedDict


class Mistake(TypedDict):
    """One wrong value of a request."""

    key: str
    message: str
    value: str
    hint: str


class QuotaOfOwner(TypedDict):
    owner: str
    what: str
    limit: int
    in_use: int
    asked: int
