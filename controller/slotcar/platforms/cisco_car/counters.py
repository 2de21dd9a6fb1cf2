"""What CAR counts of flows. What leaves by `fair-queue tos` no command counts by class."""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.network.model import Device
from slotcar.platforms.cisco_car.build import lists_of_flows
from slotcar.platforms.counting import Counts
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.ios.counters import RATE_LIMITS, answer, rate_limited


class CarCounters:
    def commands(self, device: Device) -> tuple[str, ...]:
        return (RATE_LIMITS,)

    def counts(self, outputs: Mapping[str, str], device: Device, intent: QosIntent) -> Counts:
        return rate_limited(answer(outputs, RATE_LIMITS, device), device, intent, lists_of_flows(intent, device))


COUNTERS = CarCounters()
