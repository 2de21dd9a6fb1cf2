"""What routers do behind and beside their schedulers, as far as a delay is promised over them."""

from __future__ import annotations

from slotcar.base.registry import RouterWithHardware
from slotcar.base.vocabulary import LONGEST_PACKET_BYTES, Service
from slotcar.network.model import Device
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.options import options_of


def ring_packets(egress: Egress, device: Device) -> int:
    """How many packets of others the hardware of an interface may send before a packet that its scheduler just chose.

    Raises:
        Unrenderable: nobody said.
    """
    packets: int | None = options_of(device, RouterWithHardware).of_interface("transmit_ring", egress.interface.name)
    if packets is None:
        raise Unrenderable(
            f"{egress.interface}: how many packets {device.platform} keeps in its hardware, behind its scheduler, is not"
            " known here, and each of them goes first; say `slotcar_options: {transmit_ring: PACKETS}`"
        )
    return packets


def require_premium(egress: Egress, queue: Queue, why: str) -> None:
    """
    Raises:
        Unrenderable: of another service, whose delay nothing bounds for the reason that is given.
    """
    if queue.service is not Service.IP_PREMIUM:
        raise Unrenderable(
            f"{egress.interface}: nothing bounds the delay of {queue.key}, {why}; ip-premium's can be promised"
        )


def require_unshaped(egress: Egress, queue: Queue) -> None:
    """
    Raises:
        Unrenderable: premium is shaped towards an SLS, by a shaper whose waits for tokens nobody prints.
    """
    if queue.shaper:
        raise Unrenderable(
            f"{egress.interface}: ip-premium is shaped towards an SLS there, and how long the shaper waits for tokens is"
            " not printed, so no delay is bounded"
        )


def longest_bytes(egress: Egress, device: Device) -> int:
    """The longest packet that anybody sends there, as the line counts it."""
    return LONGEST_PACKET_BYTES + device.interfaces[egress.interface.name].overhead_bytes
