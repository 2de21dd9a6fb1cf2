"""What a Catalyst's port surely gives premium: strict priority where it has such a queue, and else nothing.

Its weighted round robin does not keep to its weights: D7.3 §8.1.1 measured that a share of 2 % took 8.5 times its weight.
"""

from __future__ import annotations

from slotcar.admission.service_curves import ServiceCurve, TokenBucket, strict_priority
from slotcar.network.model import Device
from slotcar.platforms.cisco_cat6500.limits import port_type
from slotcar.platforms.hardware_queue import longest_bytes, require_premium, ring_packets
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.model import Unrenderable

_BY_WEIGHT = "which has its weight of a round robin that was measured not to keep to it (D7.3 §8.1.1)"


def service_curve(egress: Egress, queue: Queue, device: Device, before: TokenBucket) -> ServiceCurve:
    """
    Raises:
        Unrenderable: of another service, of a port without a priority queue, and where its hardware queue is not known.
    """
    require_premium(egress, queue, _BY_WEIGHT)
    kind = port_type(device, egress.interface.name)
    if not kind.capability.priority_queue:
        raise Unrenderable(
            f"{egress.interface}: a {kind.name} port has no priority queue for ip-premium, {_BY_WEIGHT}"
        )
    return strict_priority(egress.capacity_bps, longest_bytes(egress, device), ring_packets(egress, device))
