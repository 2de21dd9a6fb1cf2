"""What a device has counted of each reserved flow and of each service's queue, as IP bytes.

A platform that counts has `counters.py` in its folder, with the read-only commands and what their answers say. Devices
count frames, each in its own way: bytes are those of IP packets here, so that places can be compared with each other
and with what receivers measure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

from slotcar.base.registry import facts_of, folder_of
from slotcar.network.model import Device
from slotcar.platforms.intent.model import QosIntent
from slotcar.platforms.model import Configuration


@dataclass(frozen=True, slots=True, order=True)
class FlowPlace:
    """Where a flow is policed: `number` is its `EdgeFlow.number`."""

    interface: str
    number: int


@dataclass(frozen=True, slots=True, order=True)
class QueuePlace:
    """A queue on an interface's way out: of a service, or of a class of the assured rate, by its key."""

    interface: str
    service: str


Place = FlowPlace | QueuePlace


@dataclass(frozen=True, slots=True)
class Amount:
    """Packets, and the bytes of their IP packets."""

    packets: int = 0
    ip_bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.packets + other.packets, self.ip_bytes + other.ip_bytes)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.packets - other.packets, self.ip_bytes - other.ip_bytes)

    @property
    def is_negative(self) -> bool:
        return self.packets < 0 or self.ip_bytes < 0


NOTHING = Amount()


@dataclass(frozen=True, slots=True)
class Count:
    """What was counted at one place since its counters began. No packet is in two of the parts.

    Attributes:
        in_profile: passed on as what was reserved; of a queue all that left it.
        out_of_profile: passed on as something else, or to be dropped first.
        dropped: at the policer, or by the queue. Of a queue devices count no dropped bytes: there they are 0.
        age_s: how long ago the counters began, whole seconds; None where the device does not say.
    """

    in_profile: Amount = NOTHING
    out_of_profile: Amount = NOTHING
    dropped: Amount = NOTHING
    age_s: int | None = field(default=None, compare=False, kw_only=True)


Counts = Mapping[Place, Count]


class Counting(Protocol):
    """`counters.py` of a platform's folder. Pure."""

    def commands(self, device: Device) -> tuple[str, ...]:
        """What to ask; changes nothing on the device."""
        ...

    def counts(self, outputs: Mapping[str, str], device: Device, intent: QosIntent, running: Configuration) -> Counts:
        """What the answers say of the flows and the queues that `intent` has on the device.

        Args:
            running: what of Slotcar's was on the device in the same reading.

        Raises:
            Unreadable: an answer is missing, or is not what the platform prints.
        """
        ...


def counting_of(device: Device) -> Counting | None:
    """None where nothing is known of what the device counts."""
    if not facts_of(device.platform).counts:
        return None
    counting: Counting = import_module(f"{folder_of(device.platform)}.counters").COUNTERS
    return counting


def without_header(packets: int, octets: int, header_bytes: int) -> Amount:
    """The IP bytes in so many bytes of frames, each of which was counted with `header_bytes` beside its IP packet.

    Below zero where bytes are counted in 32 bits, began again, and packets did not: what follows from two readings is
    right all the same.
    """
    return Amount(packets, octets - header_bytes * packets)
