"""Capacity, reserved and free of resources over time, exact or in so many steps at most. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from slotcar.admission import SlotTables
from slotcar.admission.kernels import Ints
from slotcar.admission.resource_id import KINDS, SLS, NoSuchResource, ResourceId, describe
from slotcar.base.timebase import Window, from_us, iso
from slotcar.network.model import Network, Sls
from slotcar.views.documents import window_document
from slotcar_client.wire import documents

#: Beyond these a chart shows no more than its columns of pixels.
MOST_STEPS = 2_000


class CourseStep(NamedTuple):
    """What is reserved from `start_us` on, until the next step.

    Of a step that was rounded, `reserved_bps` is the highest in it, `least_bps` the least, and `free_bps` the least.
    """

    start_us: int
    reserved_bps: int
    least_bps: int
    free_bps: int


@dataclass(frozen=True, slots=True)
class Course:
    """One resource over a window. All amounts are in the unit of the resource's kind, bit/s of a line only.

    Attributes:
        columns: starts (us), reserved and free of every step, exact.
    """

    resource: ResourceId
    capacity_bps: int
    window: Window
    columns: tuple[Ints, Ints, Ints]

    @property
    def peak_bps(self) -> int:
        return int(self.columns[1].max(initial=0))

    @property
    def free_bps(self) -> int:
        """What is free over the whole window."""
        return int(self.columns[2].min(initial=self.capacity_bps))

    @property
    def tightest(self) -> Window | None:
        """The first time at which least is free; None where nothing is reserved, and it is free throughout."""
        starts, _, free = self.columns
        if not free.size or self.free_bps == self.capacity_bps:
            return None
        first = int(np.argmin(free))
        last = first
        while last + 1 < free.size and free[last + 1] == free[first]:
            last += 1
        end_us = int(starts[last + 1]) if last + 1 < starts.size else self.window.end_us
        return Window.of_us(int(starts[first]), end_us)

    def steps(self, most: int = MOST_STEPS) -> tuple[tuple[CourseStep, ...], bool]:
        """At most `most` steps (1 at least), and whether they are rounded.

        Rounded, the window is cut in equal parts, each with its highest and its least level: a chart that took every
        n-th step instead would miss what is short.
        """
        starts, reserved, free = self.columns
        if starts.size <= most:
            listed = zip(starts.tolist(), reserved.tolist(), reserved.tolist(), free.tolist(), strict=True)
            return tuple(CourseStep(*one) for one in listed), False
        edges = np.linspace(int(starts[0]), self.window.end_us, most + 1).astype(np.int64)
        first = np.searchsorted(starts, edges[:-1], "right") - 1
        beyond = np.maximum(np.searchsorted(starts, edges[1:], "left"), first + 1)
        places = np.column_stack([first, beyond]).ravel()
        # A place at the end of an array is none for `reduceat`: each array has one level more, which no part takes.
        highest, least, least_free = (
            how.reduceat(np.append(levels, levels[-1]), places)[::2]
            for how, levels in ((np.maximum, reserved), (np.minimum, reserved), (np.minimum, free))
        )
        rounded = zip(edges[:-1].tolist(), highest.tolist(), least.tolist(), least_free.tolist(), strict=True)
        return tuple(CourseStep(*one) for one in rounded), True


def courses(
    tables: SlotTables, names: Sequence[ResourceId], window: Window, agreements: Mapping[str, Sls]
) -> tuple[Course, ...]:
    """The resources over what the tables keep of the window; none where they keep nothing of it."""
    start_us = max(window.start_us, tables.floor_us)
    if start_us >= window.end_us:
        return ()
    whole = Window.of_us(start_us, window.end_us)
    return tuple(_course(tables, name, whole, agreements) for name in names)


def tightest_course(
    tables: SlotTables, names: Sequence[ResourceId], window: Window, agreements: Mapping[str, Sls]
) -> Course | None:
    """The one of which the greatest part is taken at some moment; of equal ones the first by name. None where nothing is.

    Of each only its peak is looked for: a network has thousands.
    """
    start_us = max(window.start_us, tables.floor_us)
    if start_us >= window.end_us or not names:
        return None
    whole = Window.of_us(start_us, window.end_us)

    def taken(name: ResourceId) -> Fraction:
        agreement = agreements.get(name.place) if name.kind == SLS else None
        if agreement is not None and agreement.validity is not None:
            free_bps = _course(tables, name, whole, agreements).free_bps
        else:
            free_bps = max(tables.capacity(name) - tables.peak(name, whole), 0)
        return Fraction(tables.capacity(name) - free_bps, tables.capacity(name) or 1)

    part, name = min(((-taken(name), name) for name in names), key=lambda one: (one[0], str(one[1])))
    return _course(tables, name, whole, agreements) if part else None


def _course(tables: SlotTables, name: ResourceId, window: Window, agreements: Mapping[str, Sls]) -> Course:
    capacity_bps = tables.capacity(name)
    starts, reserved = tables.step_columns(name, window)
    agreement = agreements.get(name.place) if name.kind == SLS else None
    if agreement is None or agreement.validity is None:
        return Course(name, capacity_bps, window, (starts, reserved, np.maximum(capacity_bps - reserved, 0)))
    # Nothing of an SLS is free while it does not hold.
    validity = agreement.validity
    inside = [us for us in (validity.start_us, validity.end_us) if window.start_us < us < window.end_us]
    cut = np.unique(np.append(starts, np.array(inside, dtype=np.int64)))
    levels = reserved[np.searchsorted(starts, cut, "right") - 1]
    holds = (cut >= validity.start_us) & (cut < validity.end_us)
    return Course(name, capacity_bps, window, (cut, levels, np.where(holds, np.maximum(capacity_bps - levels, 0), 0)))


def named_resource(text: str, network_resources: Mapping[ResourceId, int]) -> ResourceId:
    """
    Raises:
        NoSuchResource.
    """
    try:
        name = ResourceId.parse(text)
    except ValueError:
        name = None
    if name is None or name not in network_resources:
        raise NoSuchResource(
            f"there is no resource {text}: say an interface's share such as `if:anl-7507-1:ATM1/0/0:out:ip-premium`, or"
            " an SLS such as `sls:esnet-lbnl`, as GET /v1/resources lists them"
        )
    return name


def resource_names(
    capacities: Mapping[ResourceId, int], network: Network, device: str | None = None, domain: str | None = None
) -> Iterator[str]:
    """Names of the resources that have a capacity, sorted; an SLS stands with the device where it is policed."""
    for name in sorted(str(one) for one, capacity in capacities.items() if capacity):
        where = device_of(ResourceId.parse(name), network)
        of = network.devices[where].domain if where in network.devices else None
        if device in (None, where) and domain in (None, of):
            yield name


def device_of(resource: ResourceId, network: Network) -> str:
    """The device of an interface's share, or where an SLS is policed; empty where the network has it no more."""
    if resource.interface is not None:
        return resource.interface.device
    if resource.kind not in KINDS:
        return resource.place if resource.place in network.devices else ""
    agreement = network.sls.get(resource.place)
    return agreement.ingress.device if agreement else ""


def course_document(course: Course, network: Network, points: int = 0) -> documents.Resource:
    """`points`: at most so many steps; none are told where it is 0."""
    steps, rounded = course.steps(points) if points else ((), False)
    tightest = course.tightest
    return {
        "resource": str(course.resource),
        "place": describe(course.resource),
        "device": device_of(course.resource, network),
        "unit": course.resource.kind_of.unit,
        "capacity_bps": course.capacity_bps,
        "window": window_document(course.window),
        "reserved_bps": course.peak_bps,
        "free_bps": course.free_bps,
        "tightest": window_document(tightest) if tightest else None,
        "rounded": rounded,
        "steps": [
            {
                "at": iso(from_us(step.start_us)),
                "reserved_bps": step.reserved_bps,
                "least_reserved_bps": step.least_bps,
                "free_bps": step.free_bps,
            }
            for step in steps
        ],
    }
