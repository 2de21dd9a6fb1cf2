"""Rates over time: what the slot tables leave on a path, and the profile of rates that a need is given.

A rate is a payload rate, integer bits per second; a volume is counted in microbits, so that rate times microseconds is
a volume without rounding. Headers are counted by `arithmetic`, as those of a fixed request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from slotcar.admission.arithmetic import payload_bytes, payload_rate_bps, scaled_up
from slotcar.admission.model import Demand
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.resources import crossed_by
from slotcar.base.timebase import Window
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.reservation.model import Reservation
from slotcar.reservation.need import MICROBITS_PER_BYTE as MICROBITS_PER_BYTE

SECOND_US = 1_000_000


class RateStep(NamedTuple):
    """One rate over `[start_us, end_us)`."""

    start_us: int
    end_us: int
    rate_bps: int

    @property
    def microbits(self) -> int:
        return (self.end_us - self.start_us) * self.rate_bps


#: Steps, ascending and disjoint. Of a need, those with a rate above 0 only; of what is free, without a gap.
Profile: TypeAlias = tuple[RateStep, ...]


class Crossing(NamedTuple):
    """A resource that a flow crosses, and what `payload_bytes` of payload take there."""

    resource: ResourceId
    wire_bytes: int = 1
    payload_bytes: int = 1

    @classmethod
    def of(cls, demand: Demand) -> Crossing:
        """Whatever the demand's own amounts are."""
        return cls(demand.resource, demand.wire_bytes, demand.payload_bytes)

    def amount(self, rate_bps: int) -> int:
        """What a payload rate takes, rounded up."""
        return scaled_up(rate_bps, self.wire_bytes, self.payload_bytes)

    def rate_bps(self, free: int) -> int:
        """The highest payload rate that takes at most `free`; 0 at least."""
        return payload_rate_bps(free, self.wire_bytes, self.payload_bytes)


def crossings(reservation: Reservation, path: Path, network: Network) -> tuple[Crossing, ...]:
    """What one direction's payload takes of every resource of its path, each once, in their order.

    Raises:
        KeyError: the path names an interface that the network has not.
    """
    wire: dict[ResourceId, int] = {}
    for resource, overhead_bytes in crossed_by(path, reservation, network):
        wire[resource] = wire.get(resource, 0) + reservation.packet_size_bytes + overhead_bytes
    payload = payload_bytes(reservation.packet_size_bytes, reservation.protocol)
    return tuple(Crossing(resource, wire_bytes, payload) for resource, wire_bytes in wire.items())


def microbits(steps: Iterable[RateStep]) -> int:
    """The volume that steps move."""
    return sum(step.microbits for step in steps)


def merged(steps: Iterable[RateStep]) -> Profile:
    """The same without steps of rate 0 and without borders between equal rates."""
    joined: list[RateStep] = []
    for step in steps:
        if not step.rate_bps or step.start_us >= step.end_us:
            continue
        if joined and joined[-1].end_us == step.start_us and joined[-1].rate_bps == step.rate_bps:
            joined[-1] = RateStep(joined[-1].start_us, step.end_us, step.rate_bps)
        else:
            joined.append(step)
    return tuple(joined)


def clipped(steps: Iterable[RateStep], start_us: int, end_us: int) -> Profile:
    """What lies in `[start_us, end_us)`, steps of rate 0 too."""
    inside = [step for step in steps if step[0] < end_us and start_us < step[1]]
    for number in {0, len(inside) - 1} if inside else ():  # those in the middle lie inside whole
        first_us, last_us, rate_bps = inside[number]
        inside[number] = RateStep(max(first_us, start_us), min(last_us, end_us), rate_bps)
    return tuple(inside) if start_us < end_us else ()


def aligned(first: Sequence[RateStep], second: Sequence[RateStep]) -> list[tuple[int, int, int, int]]:
    """`(start_us, end_us, rate of first, rate of second)` between all borders of both; 0 where one has no step."""
    borders = sorted({border for steps in (first, second) for step in steps for border in step[:2]})
    rows, places = [], [0, 0]
    for start_us, end_us in pairwise(borders):
        rates = []
        for number, steps in enumerate((first, second)):
            while places[number] < len(steps) and steps[places[number]].end_us <= start_us:
                places[number] += 1
            step = steps[places[number]] if places[number] < len(steps) else None
            rates.append(step.rate_bps if step and step.start_us <= start_us else 0)
        rows.append((start_us, end_us, rates[0], rates[1]))
    return rows


def excess(first: Sequence[RateStep], second: Sequence[RateStep]) -> Profile:
    """Where and by how much the first is above the second."""
    return merged(RateStep(start, end, max(0, one - other)) for start, end, one, other in aligned(first, second))


def profile_demands(crossings: Sequence[Crossing], profile: Profile) -> tuple[tuple[Demand, ...], tuple[Window, ...]]:
    """A profile as the slot tables take it: demands, and windows one for each step."""
    demands = tuple(
        Demand(crossing.resource, amounts[:1] if len(set(amounts)) == 1 else amounts, *crossing[1:])
        for crossing in crossings
        for amounts in [tuple(crossing.amount(step.rate_bps) for step in profile)]
    )
    return demands, tuple(Window.of_us(step.start_us, step.end_us) for step in profile)
