"""What was stamped of a packet, and what follows of its one-way delay."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stamp:
    """One packet at the sender, and one copy of it at the receiver.

    Attributes:
        sequence: the packet's number, in the order of sending. A packet that arrives twice has two stamps.
        sent_us: when its first bit left the sender, by the sender's clock.
        received_us: when its last bit reached the receiver, by the receiver's clock; None where it never did.
    """

    sequence: int
    sent_us: int
    received_us: int | None


@dataclass(frozen=True, slots=True)
class Delay:
    """The singleton Type-P-One-way-Delay of one packet (RFC 7679 §3).

    Attributes:
        sequence: the packet's number.
        sent_us: T, when it was sent.
        delay_us: dT; None is undefined: the packet did not arrive within the waiting time, and is lost (RFC 7680 §2).
    """

    sequence: int
    sent_us: int
    delay_us: int | None

    @property
    def lost(self) -> bool:
        """Type-P-One-way-Packet-Loss of the packet: 1, as RFC 7680 §2.4 has it, where its delay is undefined."""
        return self.delay_us is None

    @property
    def received_us(self) -> int | None:
        """When its first copy reached the receiver; None where it is lost."""
        return None if self.delay_us is None else self.sent_us + self.delay_us
