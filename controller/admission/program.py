"""The linear program of a joint plan: constant rates in coarse slots that move every transfer's volume in time.

Each slot of the grid counts with the least rate that is free anywhere in it, so that whatever the program finds fits.
It is solved behind `LinearSolver`, in floating point: what it says is a proposal, which the exact slot tables judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from controller.admission.deadline import Transfer
from controller.admission.free import free_in
from controller.admission.rates import Crossing, Profile, RateStep
from controller.admission.resource_id import ResourceId
from controller.admission.tables import SlotTables
from controller.network.model import Sls
from controller.timebase import Window

#: The grid's slot, unless the window makes more than `MOST_SLOTS` of them: they are longer then.
SLOT_US = 600_000_000
MOST_SLOTS = 96
#: A variable is a rate in Mbit/s: neither solver nor reader has to do with numbers of twelve digits.
_BPS_PER_UNIT = 1_000_000


@dataclass(slots=True)
class LinearProgram:
    """Minimise `cost @ x` with `0 <= x <= upper` and, for each row, the sum of `coefficient * x[column]` <= its bound.

    Attributes:
        cost, upper: one for each column.
        rows: `({column: coefficient}, bound)`.
    """

    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float]] = field(default_factory=list)


class LinearSolver(Protocol):
    """Solves linear programs, to floating-point precision (HiGHS, for one)."""

    def solve(self, program: LinearProgram) -> Sequence[float] | None:
        """The values of all columns; None where no values meet all bounds, or none were found in time."""
        ...


class Movable(NamedTuple):
    """A volume that must lie somewhere in its window: from the end of the frozen horizon, for what may be moved."""

    transfer: Transfer
    window: Window


def joint_profiles(
    tables: SlotTables, movables: Sequence[Movable], solver: LinearSolver, sls: Mapping[str, Sls] | None = None
) -> list[Profile] | None:
    """A profile for each, in proportion to the solver's rates, rounded to whole bits per second; None where it has none.

    `tables` hold nothing of what is movable. Rounding may leave a profile short or a resource exceeded by some bits per
    second: the caller judges it.
    """
    slots = _slots([one.window for one in movables])
    columns = _columns(movables, slots)
    values = solver.solve(_program(tables, movables, slots, columns, sls or {}))
    if values is None:
        return None
    steps: list[list[RateStep]] = [[] for _ in movables]
    for (number, slot), value in zip(columns, values, strict=True):
        rate_bps = min(movables[number].transfer.at_most_bps, max(0, round(value * _BPS_PER_UNIT)))
        steps[number].append(RateStep(*slots[slot], rate_bps))
    return [tuple(one) for one in steps]


def _slots(windows: Sequence[Window]) -> list[tuple[int, int]]:
    """Parts of time, cut at every start and deadline and at multiples of the slot."""
    borders = {border for window in windows for border in (window.start_us, window.end_us)}
    first, last = min(borders), max(borders)
    length_us = max(SLOT_US, -(-(last - first) // MOST_SLOTS))
    borders |= set(range(-(-first // length_us) * length_us, last, length_us))
    return list(pairwise(sorted(borders)))


def _columns(movables: Sequence[Movable], slots: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A variable for each (transfer, slot) of the transfer's window, by their numbers."""
    return [
        (number, slot)
        for number, one in enumerate(movables)
        for slot, (start_us, end_us) in enumerate(slots)
        if one.window.start_us <= start_us and end_us <= one.window.end_us
    ]


def _program(
    tables: SlotTables,
    movables: Sequence[Movable],
    slots: Sequence[tuple[int, int]],
    columns: Sequence[tuple[int, int]],
    sls: Mapping[str, Sls],
) -> LinearProgram:
    """Volumes that are reached, resources that carry all, and whatever is early before what is late."""
    program = LinearProgram()
    volumes: list[dict[int, float]] = [{} for _ in movables]
    carried: dict[ResourceId, dict[int, dict[int, float]]] = {}
    for column, (number, slot) in enumerate(columns):
        transfer, (start_us, end_us) = movables[number].transfer, slots[slot]
        part = (end_us - start_us) * _BPS_PER_UNIT / transfer.microbits
        program.cost.append(part * slot)
        program.upper.append(transfer.at_most_bps / _BPS_PER_UNIT)
        volumes[number][column] = -part
        for crossing in transfer.crossings:
            row = carried.setdefault(crossing.resource, {}).setdefault(slot, {})
            row[column] = crossing.wire_bytes / crossing.payload_bytes
    program.rows = [(row, -1.0) for row in volumes]
    whole, cuts = Window.of_us(slots[0][0], slots[-1][1]), np.array([*(slot[0] for slot in slots), slots[-1][1]])
    for resource, rows in carried.items():
        free = free_in(tables, [Crossing(resource)], whole, sls).least_between(cuts).tolist()
        program.rows += [(row, free[slot] / _BPS_PER_UNIT) for slot, row in rows.items()]
    return program
