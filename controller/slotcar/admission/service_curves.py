"""What a scheduler surely gives a queue, as a rate after a latency: network calculus' rate-latency service curves.

Source: J.-Y. Le Boudec, P. Thiran, Network Calculus, Springer LNCS 2050: §1.3 (rate-latency functions), §1.4 (bounds),
§1.5.2 (concatenation). Times are rounded up and rates down, so each curve is under what
the scheduler gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

BIT_NS = 8_000_000_000


def sending_ns(size_bytes: int, rate_bps: int) -> int:
    """How long so many bytes take at a rate, nanoseconds, rounded up."""
    return -(-size_bytes * BIT_NS // rate_bps)


def sent_bytes(rate_bps: int, time_ns: int) -> int:
    """How many bytes a rate sends in a time, rounded up."""
    return -(-rate_bps * time_ns // BIT_NS)


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """What comes in any time t: at most `burst_bytes` and `rate_bps` x t (RFC 2697 and the like)."""

    burst_bytes: int = 0
    rate_bps: int = 0


@dataclass(frozen=True, slots=True)
class ServiceCurve:
    """A queue that waits gets at least `rate_bps` x (t - `latency_ns`) in any time t.

    Attributes:
        grows: the rate is what those who are there were admitted for, and each other flow brings its own with it.
        full_bytes: others' excess may fill the queue up to this length, whatever the bursts are; None: only what conforms
            waits in it.
        output_bytes: what may leave the interface at once, beyond its line's rate, or that which follows.
        output_bps: the queue is shaped to this rate; None: to none but the line's.

    Raises:
        ValueError: no rate, or a latency below 0.
    """

    rate_bps: int
    latency_ns: int = 0
    grows: bool = False
    full_bytes: int | None = None
    output_bytes: int = 0
    output_bps: int | None = None

    def __post_init__(self) -> None:
        if self.rate_bps < 1 or self.latency_ns < 0:
            raise ValueError(f"a service curve has a rate and a latency (got {self.rate_bps}, {self.latency_ns})")


def strict_priority(line_bps: int, longest_packet_bytes: int, ring_packets: int = 0) -> ServiceCurve:
    """The queue that is served before all others: it waits for the packet that the line has begun, and has all of the
    line then (Le Boudec and Thiran, §2.1.1; non-preemptive).

    Behind the scheduler so many packets may stand in a row of the hardware's, in the order in which they came there. Of
    what the line sends after the queue was empty for the last time, only these are others'.
    """
    latency_ns = sending_ns((1 + ring_packets) * longest_packet_bytes, line_bps)
    return ServiceCurve(line_bps, latency_ns, output_bytes=longest_packet_bytes)


def behind_a_ring(curve: ServiceCurve, line_bps: int, ring_packets: int, longest_packet_bytes: int) -> ServiceCurve:
    """A queue's curve where so many packets may stand in the hardware's row behind its scheduler."""
    late_ns = sending_ns(ring_packets * longest_packet_bytes, line_bps)
    return replace(curve, latency_ns=curve.latency_ns + late_ns)


def behind(line_bps: int, before: TokenBucket, longest_packet_bytes: int) -> ServiceCurve:
    """What strict priority leaves, behind what is served before (Le Boudec and Thiran, §6.2.1).

    Raises:
        ValueError: it leaves nothing.
    """
    left_bps = line_bps - before.rate_bps
    if left_bps < 1:
        raise ValueError(f"what is served before it takes {before.rate_bps} of {line_bps} bit/s")
    latency_ns = sending_ns(before.burst_bytes + longest_packet_bytes, left_bps)
    return ServiceCurve(left_bps, latency_ns, output_bytes=longest_packet_bytes)


def deficit_round_robin(
    line: ServiceCurve, quantum_bytes: int, others_bytes: Sequence[int], longest_packet_bytes: int
) -> ServiceCurve:
    """A band of deficit round robin with `quantum_bytes`, beside bands with the other quanta, of what `line` gives them
    together (Boyer, Stea, Sofack, Deficit Round Robin with network calculus, VALUETOOLS 2012, theorem 1).

    In a time in which the band waits and is served k times it sends at least k quanta less a packet, and each other
    band at most k + 1 of its own and a packet. So the line sends at most
    D + (F - Q) x ((D + l) / Q + 1) + n x l, for D bytes of the band, F the sum of all n + 1 quanta and l the longest
    packet.
    """
    whole = quantum_bytes + sum(others_bytes)
    packet, rest = longest_packet_bytes, sum(others_bytes)
    missed_bytes = -(-(rest * (quantum_bytes + packet) + quantum_bytes * len(others_bytes) * packet) // whole)
    rate_bps = line.rate_bps * quantum_bytes // whole
    return ServiceCurve(rate_bps, line.latency_ns + sending_ns(missed_bytes, rate_bps), output_bytes=line.output_bytes)


def alternate_priority(
    line_bps: int, quantum_bytes: int, others_bytes: Sequence[int], longest_packet_bytes: int
) -> ServiceCurve:
    """The low-latency queue of modified deficit round robin where it alternates with each of the other n queues in turn
    (Cisco, document 18841: a queue is served while its deficit is above 0, and what it sends too much is deducted).

    By the argument of `deficit_round_robin`: served k times while it waits it sends at least k quanta less a packet, and
    the others are served k + 1 times together, each at most k / n + 1 times. So it is as if it had n quanta a round.
    """
    if not others_bytes:
        return strict_priority(line_bps, longest_packet_bytes)
    line = ServiceCurve(line_bps, output_bytes=longest_packet_bytes)
    return deficit_round_robin(line, quantum_bytes * len(others_bytes), others_bytes, longest_packet_bytes)


def self_clocked(
    line_bps: int, weight: int, weights: int, other_queues: int, longest_packet_bytes: int
) -> ServiceCurve:
    """A queue of self-clocked fair queueing with `weight` of `weights`: each packet leaves by the time that its own rate
    gives, and a packet of each other queue later (Golestani, INFOCOM 1994; as a guaranteed rate node Goyal, Lam, Vin,
    Multimedia Systems 5, 1997; its service curve Le Boudec and Thiran, §2.1.3)."""
    rate_bps = line_bps * weight // weights
    late_ns = sending_ns(other_queues * longest_packet_bytes, line_bps)
    return ServiceCurve(rate_bps, late_ns, output_bytes=longest_packet_bytes)


def in_a_row(curves: Sequence[ServiceCurve]) -> ServiceCurve:
    """What queues give together that the same flows cross one after another: the slowest rate after all latencies
    (Le Boudec and Thiran, §1.5.2). A burst waits once for the slowest, and not in each: bursts are paid only once.
    """
    return ServiceCurve(min(one.rate_bps for one in curves), sum(one.latency_ns for one in curves))
