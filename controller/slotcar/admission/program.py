"""The linear program of a joint plan: constant rates in blocks of time that move every transfer's volume in time.

Time is cut into slots, and each slot counts with the least rate that is free anywhere in it, so that whatever the
program finds fits. A transfer's blocks are one or more slots each: no block is shorter than a step may be, and there
are no more of them than a profile may have steps. It is solved behind `LinearSolver`, in floating point: what it says
is a proposal, which the exact slot tables judge.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from slotcar.admission.deadline import Transfer
from slotcar.admission.free import Free, free_in
from slotcar.admission.kernels import Ints
from slotcar.admission.rates import Crossing, Profile, RateStep
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.steady import Floats
from slotcar.admission.step_rules import LEAST_STEP_US, MOST_STEPS
from slotcar.admission.tables import SlotTables
from slotcar.base.timebase import Window
from slotcar.network.model import Sls

#: The grid's slot, unless the window makes more than `MOST_SLOTS` of them: they are longer then.
SLOT_US = 600_000_000
MOST_SLOTS = 96
#: Where what is free changes at most so often, slots are cut there, too.
MOST_CHANGES = 64
#: Of a transfer: as many as its steps may be, one for what does not move not counted; and more, where starts, deadlines
#: and changes of what is free make them: most blocks have the rate of a neighbour, or none.
FEW_BLOCKS = MOST_STEPS - 1
MOST_BLOCKS = 2 * MOST_STEPS
#: A variable is a rate in Mbit/s: neither solver nor reader has to do with numbers of twelve digits.
_BPS_PER_UNIT = 1_000_000
#: A rate that is rounded, and those of others beside it, may each be off by so much, their headers counted.
_ROUNDING_BPS = 4
#: Of a transfer's volume, what is asked for beyond it, so that rounding leaves it whole: at least, and at most.
_MARGINS = (1e-6, 0.01)
#: A volume counts so much: what solvers take for nothing (1e-7) is little of it then.
_VOLUME = 1_000.0
#: Of a volume: what it costs to be without the margin; to be moved to another time, once for each move before and once
#: more; to be late.
_NO_MARGIN, _MOVED, _LATE = 1_000.0, 1.0, 0.001


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
    """A volume that must lie somewhere in its window: from the end of the frozen horizon, for what may be moved.

    Attributes:
        present: where it lies now; what stays there costs nothing.
        times_moved: who was moved least is moved first.
        barred: blocks of time in which it must have no rate.
    """

    transfer: Transfer
    window: Window
    present: Profile = ()
    times_moved: int = 0
    barred: Profile = ()


class ProposedProfile(NamedTuple):
    """A profile in blocks without a gap, those of rate 0 too, and the part of it that is not where it was."""

    blocks: Profile
    moved_share: float


def joint_profiles(
    tables: SlotTables,
    movables: Sequence[Movable],
    solver: LinearSolver,
    sls: Mapping[str, Sls] | None = None,
    most_blocks: int = MOST_BLOCKS,
) -> list[ProposedProfile] | None:
    """A profile for each, in proportion to the solver's rates, rounded to whole bits per second; None where it has none.

    `tables` hold nothing of what is movable. Rounding may leave a profile short or a resource exceeded by some bits per
    second: the caller judges it.
    """
    model = _Model(tables, movables, sls or {}, most_blocks)
    values = solver.solve(model.program())
    if values is None:
        return None
    stays, new = np.asarray(values)[: 2 * len(model.numbers)].reshape(2, -1)
    most = np.array([one.transfer.at_most_bps for one in movables], dtype=np.int64)[model.numbers]
    rates = np.clip(np.rint((stays + new) * _BPS_PER_UNIT), 0, most).astype(np.int64)
    moved = np.bincount(model.numbers, new * model.parts, len(movables))
    blocks: list[list[RateStep]] = [[] for _ in movables]
    columns = (model.numbers, model.cuts_us[model.firsts], model.cuts_us[model.lasts], rates)
    for number, *step in zip(*(column.tolist() for column in columns), strict=True):
        blocks[number].append(RateStep(*step))
    return [ProposedProfile(tuple(steps), share) for steps, share in zip(blocks, moved.tolist(), strict=True)]


def _cuts(movables: Sequence[Movable], free: Iterable[Free]) -> tuple[list[int], list[int]]:
    """Where time is cut: at every start and deadline, and where what is free changes; and at multiples of the slot."""
    needed = {border for one in movables for border in (one.window.start_us, one.window.end_us)}
    first, last = min(needed), max(needed)
    changes = {time for one in free for time in one.starts_us.tolist() if first < time < last}
    if len(changes) <= MOST_CHANGES:
        needed |= changes
    length_us = max(SLOT_US, -(-(last - first) // MOST_SLOTS))
    return sorted(needed), list(range(-(-first // length_us) * length_us, last, length_us))


def _blocks(window: Window, needed: Sequence[int], grid: Sequence[int], most: int) -> list[int]:
    """The borders of at most so many blocks, far enough from each other: those that are needed first."""
    chosen = [start_us, end_us] = [window.start_us, window.end_us]
    for candidates, blocks in ((needed, most), (grid, min(most, FEW_BLOCKS))):
        inside = candidates[bisect_right(candidates, start_us) : bisect_left(candidates, end_us)]
        room = blocks + 1 - len(chosen)
        stride = max(1, -(-len(inside) // room)) if room > 0 else len(inside) + 1
        for time in inside[stride - 1 :: stride]:
            place = bisect_left(chosen, time)
            if chosen[place] - time >= LEAST_STEP_US <= time - chosen[place - 1]:
                chosen.insert(place, time)
    return chosen


class _Model:
    """The program's parts. Its columns: for each block what stays in it, then for each what is new in it, then margins.

    Attributes:
        cuts_us: the borders of the slots.
        numbers, firsts, lasts: of each block its transfer, and its slots: from `firsts` to before `lasts`.
        lengths, parts: of each block its microseconds, and what part of its transfer a unit of rate moves in it.
        within, slots: each block once for each of its slots, and that slot.
    """

    def __init__(
        self, tables: SlotTables, movables: Sequence[Movable], sls: Mapping[str, Sls], most_blocks: int
    ) -> None:
        self.movables = movables
        resources, self.ratios = _ratios(movables)
        whole = Window.of_us(min(one.window.start_us for one in movables), max(one.window.end_us for one in movables))
        free = [free_in(tables, [Crossing(one)], whole, sls) for one in resources]
        needed, grid = _cuts(movables, free)
        cuts = sorted({*needed, *grid})
        places = {time: place for place, time in enumerate(cuts)}
        self.cuts_us = np.array(cuts, dtype=np.int64)
        borders = [[places[time] for time in _blocks(one.window, needed, grid, most_blocks)] for one in movables]
        self.numbers = np.repeat(np.arange(len(movables)), [len(one) - 1 for one in borders])
        self.firsts = np.array([first for one in borders for first in one[:-1]], dtype=np.int64)
        self.lasts = np.array([last for one in borders for last in one[1:]], dtype=np.int64)
        volumes = np.array([one.transfer.microbits for one in movables], dtype=np.float64)
        self.lengths = (self.cuts_us[self.lasts] - self.cuts_us[self.firsts]).astype(np.float64)
        self.parts = self.lengths * _BPS_PER_UNIT / volumes[self.numbers]
        sizes = self.lasts - self.firsts
        self.within = np.repeat(np.arange(len(sizes)), sizes)
        self.begins = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        self.slots = np.arange(len(self.within)) - np.repeat(self.begins - self.firsts, sizes)
        least = [one.least_between(self.cuts_us) for one in free]
        self.free = np.array(least, dtype=np.float64).reshape(len(resources), len(cuts) - 1) / _BPS_PER_UNIT

    def program(self) -> LinearProgram:
        """Volumes that are reached, resources that carry all, and whatever stays before what is moved."""
        part = self.parts
        upper = self._upper()
        stays = np.minimum(upper, self._present())
        margins = self._margins()
        weights = np.array([_MOVED * (1 + one.times_moved) if one.present else 0 for one in self.movables])
        late = part * _LATE * self.firsts / len(self.cuts_us)
        rows = _Rows(len(part))
        rows.add(self.numbers, np.arange(len(part)), -_VOLUME * part, np.full(len(margins), -_VOLUME))
        rows.add_margins()
        for place, free in enumerate(self.free):
            own = self.ratios[place, self.numbers[self.within]]
            tight = np.bincount(self.slots, own * upper[self.within], len(free)) > free
            indices = np.flatnonzero((own > 0) & tight[self.slots])
            numbered = np.cumsum(tight) - 1
            rows.add(numbered[self.slots[indices]], self.within[indices], own[indices], free[tight])
        cost = (late, late + part * weights[self.numbers], np.full(len(margins), -_NO_MARGIN / _VOLUME))
        return rows.program(np.concatenate(cost), np.concatenate((stays, upper - stays, margins)))

    def _upper(self) -> Floats:
        """The most that each block can have: in each of its slots, and of each of its resources."""
        most = np.array([one.transfer.at_most_bps for one in self.movables], dtype=np.float64)[self.numbers]
        upper = most[self.within] / _BPS_PER_UNIT
        for place, free in enumerate(self.free):
            own = self.ratios[place, self.numbers[self.within]]
            crossing = own > 0
            upper[crossing] = np.minimum(upper[crossing], free[self.slots[crossing]] / own[crossing])
        least: Floats = np.minimum.reduceat(upper, self.begins)
        barred = {(number, *step[:2]) for number, one in enumerate(self.movables) for step in one.barred}
        if barred:
            least[[span in barred for span in self._spans()]] = 0
        return least

    def _spans(self) -> Iterator[tuple[int, int, int]]:
        """Each block's transfer, and its time."""
        columns = (self.numbers, self.cuts_us[self.firsts], self.cuts_us[self.lasts])
        return zip(*(column.tolist() for column in columns), strict=True)

    def _present(self) -> Floats:
        """The mean rate that each block has now."""
        moved = np.zeros(len(self.numbers))
        first = 0
        for one, count in zip(self.movables, np.bincount(self.numbers).tolist(), strict=True):
            last = first + count
            if one.present:
                cuts = np.append(self.cuts_us[self.firsts[first:last]], self.cuts_us[self.lasts[last - 1]])
                moved[first:last] = np.diff(_volume_before(cuts, one.present))
            first = last
        return moved / self.lengths / _BPS_PER_UNIT

    def _margins(self) -> Floats:
        """Of each volume, what rounding may take."""
        spans = np.array([one.window.end_us - one.window.start_us for one in self.movables], dtype=np.float64)
        volumes = np.array([one.transfer.microbits for one in self.movables], dtype=np.float64)
        return _VOLUME * np.clip(_ROUNDING_BPS * len(self.movables) * spans / volumes, *_MARGINS)


def _volume_before(times_us: Ints, profile: Profile) -> Floats:
    """What a profile moves before each of the times, microbits."""
    steps = np.array(profile, dtype=np.float64)
    inside = np.clip(times_us[:, None] - steps[:, 0], 0, steps[:, 1] - steps[:, 0])
    volumes: Floats = inside @ steps[:, 2]
    return volumes


class _Rows:
    """Rows of a program whose first `2 * blocks` columns are pairs: each coefficient stands for both of a pair."""

    def __init__(self, blocks: int) -> None:
        self.blocks, self.size = blocks, 0
        self.parts: list[tuple[Ints, Ints, Floats]] = []
        self.bounds: list[Floats] = []

    def add(self, rows: Ints, blocks: Ints, coefficients: Floats, bounds: Floats) -> None:
        """Rows that are numbered from 0 on, with their bounds."""
        for first in (0, self.blocks):
            self.parts.append((rows + self.size, blocks + first, coefficients))
        self.bounds.append(bounds)
        self.size += len(bounds)

    def add_margins(self) -> None:
        """To each of the rows so far a column of its own behind the pairs."""
        numbers = np.arange(self.size)
        self.parts.append((numbers, numbers + 2 * self.blocks, np.ones(self.size)))

    def program(self, cost: Floats, upper: Floats) -> LinearProgram:
        rows, columns, coefficients = (np.concatenate(one) for one in zip(*self.parts, strict=True))
        order = np.argsort(rows, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=self.size))))
        return LinearProgram(cost, upper, starts, columns[order], coefficients[order], np.concatenate(self.bounds))


def _ratios(movables: Sequence[Movable]) -> tuple[list[ResourceId], Floats]:
    """The resources that are crossed, and `[resource, transfer]` what a payload takes there; 0 where it does not cross."""
    crossed = {crossing.resource: None for one in movables for crossing in one.transfer.crossings}
    places = {resource: place for place, resource in enumerate(crossed)}
    ratios = np.zeros((len(places), len(movables)))
    for number, one in enumerate(movables):
        for resource, wire_bytes, payload_bytes in one.transfer.crossings:
            ratios[places[resource], number] = wire_bytes / payload_bytes
    return list(places), ratios
