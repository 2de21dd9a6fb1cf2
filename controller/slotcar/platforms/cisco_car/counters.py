"""What CAR counts of flows. What leaves by `fair-queue tos` no command counts by class."""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.network.model import Device
from slotcar.platforms.counting import Counts
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.counters import RATE_LIMITS, answer, rate_limited
from slotcar.platforms.ios.ingress import list_of
from slotcar.platforms.model import Configuration


class CarCounters:
    def commands(self, device: Device) -> tuple[str, ...]:
        return (RATE_LIMITS,)

    def counts(self, outputs: Mapping[str, str], device: Device, intent: QosIntent, running: Configuration) -> Counts:
        return rate_limited(answer(outputs, RATE_LIMITS, device), device, intent, _lists(intent, running))


def _lists(intent: QosIntent, running: Configuration) -> dict[int, int]:
    """The numbered list that each flow has on the router, by the flow's number: the one that permits its packets. Which it
    is to have may be another, while flows come and go."""
    if not isinstance(running.objects, Ios):
        return {}
    by_match = {one.permits: int(one.name) for one in running.objects.lists.values() if one.numbered}
    flows = ((flow.number, list_of(flow, "").permits) for flow in intent.flows)
    return {number: by_match[permits] for number, permits in flows if permits in by_match}


COUNTERS = CarCounters()
