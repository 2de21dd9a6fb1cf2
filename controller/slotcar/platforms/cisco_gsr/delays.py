"""What a 12000's modified deficit round robin surely gives premium, in the low-latency queue (Cisco, document 18841).

In strict priority it goes before all others; alternating, it comes after each of the other queues, with the quantum
that is configured. What is counted is the way out: on the way into the fabric nothing waits that the fabric can carry.
"""

from __future__ import annotations

from slotcar.admission.service_curves import (
    ServiceCurve,
    TokenBucket,
    alternate_priority,
    behind_a_ring,
    strict_priority,
)
from slotcar.network.model import Device
from slotcar.platforms.cisco_gsr.egress import cos_queue_groups, mtu_bytes
from slotcar.platforms.cisco_gsr.facts import GsrOptions, LowLatency
from slotcar.platforms.cisco_gsr.limits import WEIGHT_BYTES
from slotcar.platforms.hardware_queue import longest_bytes, require_premium, ring_packets
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.options import options_of

_EXCESS = "whose queue excess may fill as far as the mean of WRED lets it, and how far that lags is the line card's"


def service_curve(egress: Egress, queue: Queue, device: Device, before: TokenBucket) -> ServiceCurve:
    """
    Raises:
        Unrenderable: of another service, and where the card's hardware queue is not known.
    """
    require_premium(egress, queue, _EXCESS)
    longest, ring = longest_bytes(egress, device), ring_packets(egress, device)
    if options_of(device, GsrOptions).low_latency is LowLatency.STRICT:
        return strict_priority(egress.capacity_bps, longest, ring)
    outputs = cos_queue_groups([egress], device)
    group = outputs.groups[outputs.tx_cos[egress.interface.name]]
    mtu = mtu_bytes(egress.interface.name)
    quanta = [_quantum_bytes(mtu, one.weight) for one in group.weights]
    own = _quantum_bytes(mtu, int(group.low_latency.rpartition(" ")[2]))
    curve = alternate_priority(egress.capacity_bps, own, quanta, longest)
    return behind_a_ring(curve, egress.capacity_bps, ring, longest)


def _quantum_bytes(mtu: int, weight: int) -> int:
    return mtu + (weight - 1) * WEIGHT_BYTES
