"""The wanted QoS of every device at an instant: a pure function of what is active and of the network."""

from __future__ import annotations

from slotcar.intent.build import intents_at
from slotcar.intent.model import Active, AggregatePolicer, EdgeFlow, Egress, FlowMatch, QosIntent, Queue

__all__ = ["Active", "AggregatePolicer", "EdgeFlow", "Egress", "FlowMatch", "QosIntent", "Queue", "intents_at"]
