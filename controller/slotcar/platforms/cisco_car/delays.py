"""What a 7500's weighted fair queueing surely gives premium's class: its weight of the line (`fair-queue tos`).

A packet gets a sequence number, of the last one of its class or of the packet that is being sent, whichever is later, and
its length over the weight more; the least is sent next (IOS, "Weighted Fair Queueing"). That is self-clocked fair queueing.
"""

from __future__ import annotations

from slotcar.admission.service_curves import ServiceCurve, TokenBucket, behind_a_ring, self_clocked
from slotcar.base.vocabulary import PRECEDENCE, Service
from slotcar.network.model import Device
from slotcar.platforms.cisco_car.build import TOS_BITS, weights_of
from slotcar.platforms.hardware_queue import longest_bytes, require_premium, ring_packets
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.model import Unrenderable

_EXCESS = "whose excess waits in the same queue, as long as its buffers are"


def service_curve(egress: Egress, queue: Queue, device: Device, before: TokenBucket) -> ServiceCurve:
    """
    Raises:
        Unrenderable: of another service, of a subinterface, without a share, and where the ring is not known.
    """
    require_premium(egress, queue, _EXCESS)
    if "." in egress.interface.name:
        raise Unrenderable(
            f"{egress.interface}: its queues are the whole interface's, which others' packets fill, too"
        )
    weights = weights_of(egress)
    own = weights[PRECEDENCE[Service.IP_PREMIUM] & TOS_BITS]
    # Class 0 has what the weights of the others leave.
    longest, ring = longest_bytes(egress, device), ring_packets(egress, device)
    curve = self_clocked(egress.capacity_bps, own, 100, len(weights), longest)
    return behind_a_ring(curve, egress.capacity_bps, ring, longest)
