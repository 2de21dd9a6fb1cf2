"""Slotcar's API for programs: `Slotcar`, `AsyncSlotcar`, and the exceptions that they raise."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slotcar_client.client import AsyncSlotcar, Slotcar, connect_async
    from slotcar_client.connecting import connect
    from slotcar_client.contexts import NoContext
    from slotcar_client.transport import Retries
    from slotcar_client.wire.errors import (
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
#: Where what is no error comes from.
_MODULES = {"NoContext": "contexts", "Retries": "transport", "connect": "connecting"} | dict.fromkeys(
    ("AsyncSlotcar", "Slotcar", "connect_async"), "client"
)


def __getattr__(name: str) -> Any:
    """Imports a name once it is asked for: `slotcar_client.wire` does without httpx, which takes long to import."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'wire.errors')}"), name)
