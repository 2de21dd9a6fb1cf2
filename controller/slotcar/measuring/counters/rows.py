"""What was counted, as steps that the store keeps, with what was reserved in the same time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from slotcar.base.assured import class_key
from slotcar.base.timebase import to_us
from slotcar.base.vocabulary import RESERVED_SERVICES, Direction
from slotcar.measuring.counters.increments import Increment
from slotcar.measuring.counters.steps import parted, steps_of
from slotcar.network.model import InterfaceId
from slotcar.platforms.counting import Count, FlowPlace, QueuePlace
from slotcar.platforms.intent.flows import flow_of_number
from slotcar.platforms.intent.model import QosIntent
from slotcar.store.counts import OUT, CountedStep

MILLION = 1_000_000
_DIRECTIONS = (Direction.FORWARD, Direction.REVERSE)


def counted_steps(listed: Iterable[Increment], intent: QosIntent, step_s: int) -> Iterator[CountedStep]:
    """The steps of a device. What is reserved is what `intent` has."""
    flows = {(one.interface.name, one.number): one for one in intent.flows}
    queues = {(one.interface.name, queue.key): queue for one in intent.egress for queue in one.queues}
    for one in listed:
        place = one.place
        if isinstance(place, FlowPlace):
            flow = flows[place.interface, place.number]
            entry, bit = flow_of_number(place.number)
            whose = (entry, _DIRECTIONS[bit].value, class_key(flow.service, flow.assured.name))
            rate_bps = flow.cir_bps if flow.service in RESERVED_SERVICES else 0
        else:
            queue = queues[place.interface, place.service]
            whose = (0, OUT, queue.key)
            rate_bps = queue.rate_bps if queue.service in RESERVED_SERVICES else 0
        yield from _steps(one, whose, InterfaceId(device=intent.device, name=place.interface), rate_bps, step_s)


def _steps(
    one: Increment, whose: tuple[int, str, str], where: InterfaceId, rate_bps: int, step_s: int
) -> Iterator[CountedStep]:
    steps = list(steps_of(to_us(one.start), to_us(one.end), step_s * MILLION))
    lengths_us = [length_us for _, length_us in steps]
    numbers = [parted(number, lengths_us) for number in _numbers(one.count)]
    reserved = parted(rate_bps * sum(lengths_us) // MILLION, lengths_us)
    for place, (start_us, length_us) in enumerate(steps):
        is_last = place == len(steps) - 1
        yield CountedStep(
            *whose, where.device, where.name, step_s, start_us,
            length_us if one.count else 0,
            reserved[place] if one.count else 0,
            *(parts[place] for parts in numbers),
            remarks=(one.remark.value,) if one.remark and is_last else (),
        )  # fmt: skip


def _numbers(count: Count | None) -> list[int]:
    count = count or Count()
    parts = (count.in_profile, count.out_of_profile, count.dropped)
    return [getattr(part, one.name) for part in parts for one in fields(part)]


def places_of(intent: QosIntent) -> set[FlowPlace | QueuePlace]:
    """Where the intent has something that counts."""
    flows = {FlowPlace(one.interface.name, one.number) for one in intent.flows}
    return flows | {QueuePlace(one.interface.name, queue.key) for one in intent.egress for queue in one.queues}
