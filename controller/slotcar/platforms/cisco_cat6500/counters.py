"""What the policers of a Catalyst's PFC counted: bytes of IP packets (configuration guide 12.1E, p. 31-46), and no packets.

`show policy-map interface` prints them for each forwarding engine ("Earl in slot"). Policers of `police flow` are one for
each connection and print none; what its ports send no command counts by class.
"""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.base.vocabulary import Service
from slotcar.network.model import Device
from slotcar.platforms.counting import Amount, Count, Counts, FlowPlace, Place
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.ios.counters import POLICIES, answer, records
from slotcar.platforms.ios.objects import FLOW, PREFIX
from slotcar.platforms.model import Configuration


class CatalystCounters:
    def commands(self, device: Device) -> tuple[str, ...]:
        return (POLICIES,)

    def counts(self, outputs: Mapping[str, str], device: Device, intent: QosIntent, running: Configuration) -> Counts:
        printed = answer(outputs, POLICIES, device)
        flows = {(one.interface.name, f"{FLOW}{one.number}"): one for one in intent.flows}
        counts: dict[Place, Count] = {}
        for row in records("show-policy-map-interface-pfc", printed, device, POLICIES):
            flow = flows.get((row["interface"], row["class"]))
            if flow is None or row["policy"] != PREFIX + row["interface"]:
                continue
            place = FlowPlace(flow.interface.name, flow.number)
            counts[place] = _sum(counts.get(place, Count()), _policed(row, flow))
        return counts


COUNTERS = CatalystCounters()


def _policed(row: Mapping[str, str], flow: EdgeFlow) -> Count:
    within, beyond = (Amount(ip_bytes=int(row[part])) for part in ("forwarded", "exceeded"))
    if flow.service is Service.IP_PREMIUM:
        return Count(within, dropped=beyond)
    return Count(within, beyond) if flow.service is Service.ASSURED_RATE else Count(within + beyond)


def _sum(one: Count, other: Count) -> Count:
    """Of two engines."""
    return Count(
        one.in_profile + other.in_profile, one.out_of_profile + other.out_of_profile, one.dropped + other.dropped
    )
