"""A request beside what is reserved already, resource by resource. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slotcar.admission.model import Demand
from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import to_us
from slotcar.desk.overview import Effect
from slotcar.reservation.model import Slot
from slotcar.views.boundary import DiffGroup, hunks_of
from slotcar.views.capacity import Course

#: Of a picture; the table beside it is exact.
POINTS = 200
WIDTH, HEIGHT = 1000, 100


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """Amounts are in the resource's unit.

    Attributes:
    others_bps: the highest that others have while the request is open; free_bps: what is left at least beside both.
    reserved_area, own_area: polygons of a picture; the request stands on top of the others.
    """

    resource: ResourceId
    capacity_bps: int
    others_bps: int
    own_bps: int
    free_bps: int
    reserved_area: str
    own_area: str
    rounded: bool

    @property
    def percent(self) -> int:
        return 100 - self.free_bps * 100 // self.capacity_bps if self.capacity_bps else 100


def resource_rows(effect: Effect) -> tuple[ResourceRow, ...]:
    """The tightest first."""
    amounts = {demand.resource: demand for demand in effect.wanted.demands}
    slots = effect.wanted.reservation.slots
    rows = [_row(course, amounts[course.resource], slots) for course in effect.courses if course.resource in amounts]
    return tuple(sorted(rows, key=lambda row: (-row.percent, row.resource)))


def _row(course: Course, demand: Demand, slots: Sequence[Slot]) -> ResourceRow:
    steps, rounded = course.steps(POINTS)
    levels = [(step.start_us, step.reserved_bps, _own_bps(demand, slots, step.start_us)) for step in steps]
    while_open = [(reserved, own) for _, reserved, own in levels if own]
    others = max((max(0, reserved - own) for reserved, own in while_open), default=0)
    total = max((reserved for reserved, _ in while_open), default=0)
    ends = [start for start, _, _ in levels[1:]] + [course.window.end_us]
    first, span = course.window.start_us, course.window.end_us - course.window.start_us
    boxes = [
        (_x(start, first, span), _x(end, first, span), max(0, reserved - own), reserved)
        for (start, reserved, own), end in zip(levels, ends, strict=True)
    ]
    return ResourceRow(
        course.resource, course.capacity_bps, others, demand.peak, max(0, course.capacity_bps - total),
        _area([(left, right, 0, low) for left, right, low, _ in boxes], course.capacity_bps),
        _area([(left, right, low, high) for left, right, low, high in boxes], course.capacity_bps), rounded,
    )  # fmt: skip


def _own_bps(demand: Demand, slots: Sequence[Slot], at_us: int) -> int:
    amounts = demand.over(len(slots))
    return next(
        (amounts[place] for place, slot in enumerate(slots) if to_us(slot.start) <= at_us < to_us(slot.end)), 0
    )


def _x(at_us: int, first: int, span: int) -> float:
    return round((at_us - first) / span * WIDTH, 2)


def _area(boxes: Sequence[tuple[float, float, int, int]], capacity_bps: int) -> str:
    """An SVG path of boxes `(left, right, low, high)`; empty ones are left out."""
    top = capacity_bps or 1

    def y(level: int) -> float:
        return round(HEIGHT - min(level / top, 1.0) * HEIGHT, 2)

    return "".join(f"M{left} {y(low)}V{y(high)}H{right}V{y(low)}Z" for left, right, low, high in boxes if high > low)


def device_groups(effect: Effect) -> tuple[DiffGroup, ...]:
    """The effect's changes of devices; devices that change alike are grouped."""
    devices_of: dict[tuple[str, ...], list[str]] = {}
    for device, diff in effect.explanation.lines.items():
        devices_of.setdefault(diff, []).append(device)
    return tuple(DiffGroup(tuple(names), tuple(hunks_of(diff))) for diff, names in devices_of.items())
