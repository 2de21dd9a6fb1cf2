"""Admission by brute force: a list of reservations, every question answered by looking at all of them.

Slow and plain on purpose, it shares no code with the slot tables. Times are microseconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slotcar.admission import SlotTables, kernels

Span = tuple[int, int]
Held = tuple[str, int, int, int]


@dataclass
class Oracle:
    """What is held: (resource, start, end, rate), each as often as it was added."""

    capacities: Mapping[str, int]
    held: list[Held] = field(default_factory=list)

    def add(self, amounts: Mapping[str, int], spans: Iterable[Span]) -> None:
        self.held += [(name, start, end, rate) for start, end in spans for name, rate in amounts.items()]

    def remove(self, amounts: Mapping[str, int], spans: Iterable[Span]) -> None:
        for start, end in spans:
            for name, rate in amounts.items():
                self.held.remove((name, start, end, rate))

    def level(self, resource: str, moment: int) -> int:
        return sum(rate for name, start, end, rate in self.held if name == resource and start <= moment < end)

    def peak(self, resource: str, span: Span) -> int:
        """A sum of rates can only rise where a reservation starts."""
        rises = [start for name, start, _, _ in self.held if name == resource and span[0] < start < span[1]]
        return max(self.level(resource, moment) for moment in (span[0], *rises))

    def steps(self, resource: str, span: Span) -> tuple[tuple[int, int], ...]:
        moments = {moment for row in self.held for moment in row[1:3] if span[0] < moment < span[1]}
        points = [(span[0], self.level(resource, span[0]))]
        for moment in sorted(moments):
            level = self.level(resource, moment)
            if level != points[-1][1]:
                points.append((moment, level))
        return tuple(points)

    def fits(self, amounts: Mapping[str, int], spans: Sequence[Span]) -> bool:
        return all(
            self.peak(name, span) + rate <= self.capacities.get(name, 0)
            for name, rate in amounts.items()
            for span in spans
        )

    def nearest_shift(self, amounts: Mapping[str, int], spans: Sequence[Span], most: int) -> int | None:
        """The least shift that fits puts some window's start where some reservation ends, or is none at all."""
        shifts = {end - start for _, _, end, _ in self.held for start, _ in spans}
        for shift in sorted({0} | {shift for shift in shifts if 0 < shift <= most}):
            if self.fits(amounts, [(start + shift, end + shift) for start, end in spans]):
                return shift
        return None


def check_form(tables: SlotTables, *, lost: bool = False) -> None:
    """The arrays under the tables are what `kernels` says: canonical, measured, no block used twice, none `lost`."""
    state = tables._state
    pool, dirs, meta = state.pool, state.dirs, state.meta
    free = state.free[: int(state.head[kernels.FREE])].tolist()
    used: list[int] = []
    room: list[tuple[int, int]] = []
    for offset, cap, length in meta.tolist():
        assert 1 <= length <= cap
        room.append((offset, offset + cap))
        times, levels = [], []
        for slot in range(offset, offset + length):
            block, count = int(dirs[kernels.BLOCK_ID, slot]), int(dirs[kernels.COUNT, slot])
            assert 1 <= count <= kernels.BLOCK
            own = pool[block, kernels.LEVELS, :count] + dirs[kernels.LAZY, slot]
            assert dirs[kernels.FIRST, slot] == pool[block, kernels.TIMES, 0]
            assert dirs[kernels.HIGHEST, slot] == own.max()
            times.append(pool[block, kernels.TIMES, :count])
            levels.append(own)
            used.append(block)
        all_times, all_levels = np.concatenate(times), np.concatenate(levels)
        assert all_times[0] == kernels.BEGINNING
        assert all_levels[0] == all_levels[-1] == 0
        assert (np.diff(all_times) > 0).all()
        assert (np.diff(all_levels) != 0).all(), "a breakpoint stands only where the level changes"
        assert (all_levels >= 0).all()
    assert len(set(used + free)) == len(used + free)
    assert set(used + free) <= set(range(pool.shape[0]))
    assert lost or len(used + free) == pool.shape[0]
    room.sort()
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(room))
    assert room[-1][1] <= int(state.head[kernels.TAIL]) <= dirs.shape[1]
