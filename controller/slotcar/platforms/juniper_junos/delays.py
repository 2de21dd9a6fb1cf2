"""What Junos's schedulers surely give premium: `strict-high` goes before every other (Class of Service User Guide)."""

from __future__ import annotations

from slotcar.admission.service_curves import ServiceCurve, TokenBucket, strict_priority
from slotcar.network.model import Device
from slotcar.platforms.hardware_queue import longest_bytes, require_premium, require_unshaped, ring_packets
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.juniper_junos.document import port_and_unit
from slotcar.platforms.juniper_junos.egress import schedules_units
from slotcar.platforms.juniper_junos.facts import JunosOptions
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.options import options_of

_OF_ROUNDS = "which has its transmit rate in rounds that Juniper does not print"


def service_curve(egress: Egress, queue: Queue, device: Device, before: TokenBucket) -> ServiceCurve:
    """
    Raises:
        Unrenderable: of another service, of an interface or unit that is shaped, and where its hardware queue is not known.
    """
    require_premium(egress, queue, _OF_ROUNDS)
    name = egress.interface.name
    port, _ = port_and_unit(name, device.name)
    if name in options_of(device, JunosOptions).shaped or schedules_units(device, port):
        raise Unrenderable(
            f"{egress.interface}: it is shaped, and how long its shaper waits for tokens is not printed, so no delay is"
            " bounded there"
        )
    require_unshaped(egress, queue)
    return strict_priority(egress.capacity_bps, longest_bytes(egress, device), ring_packets(egress, device))
