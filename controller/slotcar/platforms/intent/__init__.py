"""The wanted QoS of every device at an instant: a pure function of what is active and of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slotcar.platforms.intent.model import (
    ActiveReservation,
    AggregatePolicer,
    EdgeFlow,
    Egress,
    FlowMatch,
    QosIntent,
    Queue,
)

if TYPE_CHECKING:
    from slotcar.platforms.intent.build import intents_at as intents_at

__all__ = [
    "ActiveReservation",
    "AggregatePolicer",
    "EdgeFlow",
    "Egress",
    "FlowMatch",
    "QosIntent",
    "Queue",
    "intents_at",
]


def __getattr__(name: str) -> Any:
    """Loads what builds intents only for who builds them: Ansible's plugins read and compare configurations."""
    if name != "intents_at":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from slotcar.platforms.intent.build import intents_at

    return intents_at
