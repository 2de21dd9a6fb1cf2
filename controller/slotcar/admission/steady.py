"""Steady profiles: one constant rate over the whole window, else as few steps as move the volume.

Steps begin and end on a grid of whole minutes of the clock, and at the window's own ends. Floating point only proposes
where the steps begin; whether they move the volume is decided in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from slotcar.admission.free import Free
from slotcar.admission.rates import SECOND_US, Profile, RateStep, merged, microbits

MINUTE_US = 60_000_000
#: Tried in this order: a finer grid has more cells than a search can look at where free rates change often.
GRIDS_US = (MINUTE_US, 10 * MINUTE_US, 60 * MINUTE_US, 360 * MINUTE_US)
MOST_CELLS = 200
#: Who needs more steps than this is filled earliest first.
MOST_STEPS = 8

Floats: TypeAlias = NDArray[np.float64]


def steady_profile(usable: Free, needed_microbits: int, at_least_bps: int = 0) -> Profile | None:
    """The steadiest profile that moves the volume; None where no grid has one of at most `MOST_STEPS` steps.

    Args:
        usable: the rates that may be used; each 0 or `at_least_bps` at least.
    """
    start_us, end_us = int(usable.starts_us[0]), usable.end_us
    constant_bps = max(-(-needed_microbits // (end_us - start_us)), at_least_bps)
    if constant_bps <= int(usable.rates_bps.min()):
        return _ended(RateStep(start_us, end_us, constant_bps), needed_microbits, at_least_bps)
    for grid_us in GRIDS_US:
        cells = on_grid(usable, grid_us)
        if len(cells.starts_us) <= MOST_CELLS:
            return _fewest_steps(cells.profile(), needed_microbits, at_least_bps)
    return None


def _ended(step: RateStep, needed_microbits: int, at_least_bps: int) -> Profile:
    """The step as a profile. Where only `at_least` makes it so fast, it ends as soon as the volume is moved."""
    if step.rate_bps > at_least_bps:
        return (step,)
    return (step._replace(end_us=step.start_us + -(-needed_microbits // step.rate_bps)),)


def on_grid(usable: Free, grid_us: int) -> Free:
    """The least rate of each part between grid times, equal neighbours joined.

    A part at either end that is shorter than the grid, and than a minute, is no part of its own.
    """
    starts, start_us, end_us = usable.starts_us, int(usable.starts_us[0]), usable.end_us
    down = starts[1:] // grid_us * grid_us
    up = np.where(down == starts[1:], down, down + grid_us)
    cuts = np.unique(np.concatenate((down, up, np.array([start_us, end_us]))))
    short_us = min(grid_us, MINUTE_US)
    inside = (start_us + short_us <= cuts) & (cuts <= end_us - short_us)
    cuts = cuts[inside | (cuts == start_us) | (cuts == end_us)]
    least = usable.least_between(cuts)
    changes = np.concatenate(([True], least[1:] != least[:-1]))
    return Free(cuts[:-1][changes], least[changes], end_us)


def coarse(free: Free, most: int) -> Free:
    """The same where it has at most `most` steps (1 or more), else the least rates on the finest grid that has no more."""
    if len(free.starts_us) <= most:
        return free
    length_us = free.end_us - int(free.starts_us[0])
    grid_us = SECOND_US
    while grid_us < length_us:
        if len((rough := on_grid(free, grid_us)).starts_us) <= most:
            return rough
        grid_us = next((one for one in GRIDS_US if one > grid_us), 2 * grid_us)
    return Free(free.starts_us[:1], free.rates_bps.min(keepdims=True), free.end_us)


def _fewest_steps(cells: Profile, needed_microbits: int, at_least_bps: int) -> Profile | None:
    """By dynamic programming: `best[k]` is the most volume that a number of steps moves in the first k cells."""
    volumes = _volumes(cells)
    best = np.zeros(len(cells) + 1)
    choices: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
    for _ in range(min(MOST_STEPS, len(cells))):
        candidates = best[:, None] + volumes
        maxima, first = candidates.max(axis=0), candidates.argmax(axis=0)
        best = np.maximum.accumulate(maxima)
        # Where the last of these steps ends: what follows it is a pause.
        last = np.maximum.accumulate(np.where(maxima == best, np.arange(len(best)), 0))
        choices.append((first, last))
        if best[-1] >= needed_microbits * (1 - 1e-12):
            steps = _steps(cells, choices)
            if microbits(steps) >= needed_microbits:
                return _lowered(steps, needed_microbits, at_least_bps)
    return None


def _volumes(cells: Profile) -> Floats:
    """`[i, k]`: what one step over the cells i .. k-1 moves, at their least rate; -inf where k <= i."""
    size = len(cells)
    volumes = np.full((size + 1, size + 1), -np.inf)
    rates = np.array([cell.rate_bps for cell in cells], dtype=np.float64)
    ends = np.array([cell.end_us - cells[0].start_us for cell in cells], dtype=np.float64)
    for first, cell in enumerate(cells):
        least = np.minimum.accumulate(rates[first:])
        volumes[first, first + 1 :] = least * (ends[first:] - (cell.start_us - cells[0].start_us))
    volumes[0, 0] = 0
    return volumes


def _steps(cells: Profile, choices: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]) -> Profile:
    steps, end = [], len(cells)
    for first, last in reversed(choices):
        end = int(last[end])
        start = int(first[end])
        if start < end:
            least = min(cell.rate_bps for cell in cells[start:end])
            steps.append(RateStep(cells[start].start_us, cells[end - 1].end_us, least))
        end = start
    return merged(reversed(steps))


def _lowered(steps: Profile, needed_microbits: int, at_least_bps: int) -> Profile:
    """The same under the lowest ceiling that still moves the volume, whose last step ends when it is done."""
    low, high = max(at_least_bps, 1) - 1, max(step.rate_bps for step in steps)
    while high - low > 1:
        middle = (low + high) // 2
        enough = microbits(_under(steps, middle)) >= needed_microbits
        low, high = (low, middle) if enough else (middle, high)
    lowered = merged(_under(steps, high))
    if high > at_least_bps:
        return lowered
    before = microbits(lowered[:-1])
    return (*lowered[:-1], *_ended(lowered[-1], needed_microbits - before, at_least_bps))


def _under(steps: Profile, ceiling_bps: int) -> Profile:
    return tuple(step._replace(rate_bps=min(step.rate_bps, ceiling_bps)) for step in steps)
