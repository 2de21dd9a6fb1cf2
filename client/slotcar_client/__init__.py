"""Slotcar's API for programs: `Slotcar`, `AsyncSlotcar`, and the exceptions that they raise."""

from slotcar_client.client import AsyncSlotcar, Slotcar, connect, connect_async
from slotcar_client.contexts import NoContext
from slotcar_client.errors import (
    Conflict,
    NoAnswer,
    NotAllowed,
    NotFound,
    Problem,
    QuotaExceeded,
    Refused,
    SlotcarError,
    StaleVersion,
    Unavailable,
    Wrong,
)
from slotcar_client.transport import Retries

__all__ = [
    "AsyncSlotcar",
    "Conflict",
    "NoAnswer",
    "NoContext",
    "NotAllowed",
    "NotFound",
    "Problem",
    "QuotaExceeded",
    "Refused",
    "Retries",
    "Slotcar",
    "SlotcarError",
    "StaleVersion",
    "Unavailable",
    "Wrong",
    "connect",
    "connect_async",
]
