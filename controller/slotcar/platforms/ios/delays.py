"""What IOS's low-latency queueing surely gives premium: strict priority (`priority percent`), behind the transmit ring.

Class-based weighted fair queueing serves nobody while the priority queue has a packet; its policer holds premium to its
share, and what it drops has no delay. What it hands to the interface's ring is sent in the order of coming
(`tx-ring-limit`).
"""

from __future__ import annotations

from slotcar.admission.service_curves import ServiceCurve, TokenBucket, strict_priority
from slotcar.network.model import Device
from slotcar.platforms.hardware_queue import longest_bytes, require_premium, require_unshaped, ring_packets
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.ios.facts import ModularOptions
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.options import options_of

_EXCESS = "whose queue excess may fill as far as the mean of WRED lets it, and how far that lags is the release's"


def service_curve(egress: Egress, queue: Queue, device: Device, before: TokenBucket) -> ServiceCurve:
    """
    Raises:
        Unrenderable: of another service, of an interface that is shaped, and where the ring is not known.
    """
    require_premium(egress, queue, _EXCESS)
    name = egress.interface.name
    if "." in name or name in options_of(device, ModularOptions).shaped:
        raise Unrenderable(
            f"{egress.interface}: it is shaped, and how long its shaper waits for tokens is the release's, so no delay is"
            " bounded there"
        )
    require_unshaped(egress, queue)
    return strict_priority(egress.capacity_bps, longest_bytes(egress, device), ring_packets(egress, device))
