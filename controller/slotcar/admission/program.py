"""The linear program of a joint plan: constant rates in coarse slots that move every transfer's volume in time.

Each slot of the grid counts with the least rate that is free anywhere in it, so that whatever the program finds fits.
It is solved behind `LinearSolver`, in floating point: what it says is a proposal, which the exact slot tables judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from slotcar.admission.deadline import Transfer
from slotcar.admission.free import free_in
from slotcar.admission.kernels import Ints
from slotcar.admission.rates import Crossing, Profile, RateStep
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.steady import Floats
from slotcar.admission.tables import SlotTables
from slotcar.network.model import Sls
from slotcar.timebase import Window

#: The grid's slot, unless the window makes more than `MOST_SLOTS` of them: they are longer then.
SLOT_US = 600_000_000
MOST_SLOTS = 96
#: A variable is a rate in Mbit/s: neither solver nor reader has to do with numbers of twelve digits.
_BPS_PER_UNIT = 1_000_000


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """Minimise `cost @ x` with `0 <= x <= upper` and, for each row, the sum of its coefficients times x <= its bound.

    Attributes:
        cost, upper: one for each column.
        starts, columns, coefficients: of row i those from `starts[i]` to `starts[i + 1]`. bounds: one for each row.
    """

    cost: Floats
    upper: Floats
    starts: Ints
    columns: Ints
    coefficients: Floats
    bounds: Floats

    @property
    def rows(self) -> list[tuple[dict[int, float], float]]:
        """`({column: coefficient}, bound)`, for who reads or solves it slowly."""
        parts = [slice(*ends) for ends in pairwise(self.starts.tolist())]
        return [
            (dict(zip(self.columns[part].tolist(), self.coefficients[part].tolist(), strict=True)), bound)
            for part, bound in zip(parts, self.bounds.tolist(), strict=True)
        ]


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
    most = np.array([one.transfer.at_most_bps for one in movables], dtype=np.int64)[columns.numbers]
    rates = np.clip(np.rint(np.asarray(values) * _BPS_PER_UNIT), 0, most).astype(np.int64)
    steps: list[list[RateStep]] = [[] for _ in movables]
    for number, slot, rate_bps in zip(columns.numbers.tolist(), columns.slots.tolist(), rates.tolist(), strict=True):
        start_us, end_us = slots[slot]
        steps[number].append(RateStep(start_us, end_us, rate_bps))
    return [tuple(one) for one in steps]


def _slots(windows: Sequence[Window]) -> list[tuple[int, int]]:
    """Parts of time, cut at every start and deadline and at multiples of the slot."""
    borders = {border for window in windows for border in (window.start_us, window.end_us)}
    first, last = min(borders), max(borders)
    length_us = max(SLOT_US, -(-(last - first) // MOST_SLOTS))
    borders |= set(range(-(-first // length_us) * length_us, last, length_us))
    return list(pairwise(sorted(borders)))


class _Variables(NamedTuple):
    """The program's variables: one for each pair of a transfer and a slot of its window."""

    numbers: Ints
    slots: Ints


def _columns(movables: Sequence[Movable], slots: Sequence[tuple[int, int]]) -> _Variables:
    begins = {start_us: slot for slot, (start_us, _) in enumerate(slots)}
    ends = {end_us: slot + 1 for slot, (_, end_us) in enumerate(slots)}
    spans = [np.arange(begins[one.window.start_us], ends[one.window.end_us]) for one in movables]
    numbers = np.repeat(np.arange(len(movables)), [len(span) for span in spans])
    return _Variables(numbers, np.concatenate(spans))


def _program(
    tables: SlotTables,
    movables: Sequence[Movable],
    slots: Sequence[tuple[int, int]],
    columns: _Variables,
    sls: Mapping[str, Sls],
) -> LinearProgram:
    """Volumes that are reached, resources that carry all, and whatever is early before what is late.

    A resource that carries a slot's variables even if all are at their most is left out there.
    """
    cuts = np.array([*(slot[0] for slot in slots), slots[-1][1]])
    resources, ratios = _ratios(movables)
    own = ratios[:, columns.numbers]
    free = _free(tables, resources, cuts, sls)
    microbits = np.array([one.transfer.microbits for one in movables], dtype=np.float64)
    part = np.diff(cuts)[columns.slots] * _BPS_PER_UNIT / microbits[columns.numbers]
    upper = np.array([one.transfer.at_most_bps for one in movables], dtype=np.float64)[columns.numbers] / _BPS_PER_UNIT
    for place in range(len(resources)):
        crossing = own[place] > 0
        upper[crossing] = np.minimum(upper[crossing], free[place, columns.slots[crossing]] / own[place, crossing])
    rows, variables, coefficients, bounds = (
        [columns.numbers],
        [np.arange(len(part))],
        [-part],
        [-np.ones(len(movables))],
    )
    for place in range(len(resources)):
        tight = np.bincount(columns.slots, own[place] * upper, len(slots)) > free[place]
        indices = np.flatnonzero((own[place] > 0) & tight[columns.slots])
        numbered = sum(map(len, bounds)) + np.cumsum(tight) - 1
        rows.append(numbered[columns.slots[indices]])
        variables.append(indices)
        coefficients.append(own[place, indices])
        bounds.append(free[place, tight])
    row, bound = np.concatenate(rows), np.concatenate(bounds)
    order = np.argsort(row, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(bound)))))
    of_rows = np.concatenate(variables)[order], np.concatenate(coefficients)[order]
    return LinearProgram(part * columns.slots, upper, starts, *of_rows, bound)


def _ratios(movables: Sequence[Movable]) -> tuple[list[ResourceId], Floats]:
    """The resources that are crossed, and `[resource, transfer]` what a payload takes there; 0 where it does not cross."""
    crossed = {crossing.resource: None for one in movables for crossing in one.transfer.crossings}
    places = {resource: place for place, resource in enumerate(crossed)}
    ratios = np.zeros((len(places), len(movables)))
    for number, one in enumerate(movables):
        for resource, wire_bytes, payload_bytes in one.transfer.crossings:
            ratios[places[resource], number] = wire_bytes / payload_bytes
    return list(places), ratios


def _free(tables: SlotTables, resources: Sequence[ResourceId], cuts_us: Ints, sls: Mapping[str, Sls]) -> Floats:
    """`[resource, slot]`: the least that is free throughout, in the program's unit."""
    whole = Window.of_us(int(cuts_us[0]), int(cuts_us[-1]))
    least = [free_in(tables, [Crossing(one)], whole, sls).least_between(cuts_us) for one in resources]
    return np.array(least, dtype=np.float64).reshape(len(resources), len(cuts_us) - 1) / _BPS_PER_UNIT
