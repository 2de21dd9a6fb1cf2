"""What platforms that tell services by IP precedence say of an assured rate."""

from __future__ import annotations

from slotcar.base.vocabulary import Service
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.model import Approximation


def serves(intent: QosIntent, service: Service) -> bool:
    """Whether the device has a share for the service, or flows of it."""
    shares = any(queue.service is service and queue.share_ppm > 0 for one in intent.egress for queue in one.queues)
    return shares or any(flow.service is service for flow in intent.flows)


def two_colours(intent: QosIntent) -> tuple[Approximation, ...]:
    """RFC 2698 has three colours, and of an assured rate precedence can say two."""
    if not serves(intent, Service.ASSURED_RATE):
        return ()
    words = (
        "assured-rate has two colours by IP precedence: what exceeds the committed rate is dropped first, below the peak"
        " rate and above it alike"
    )
    return (Approximation(intent.device, "assured-rate colours", words),)
