"""Slot tables keep exact step functions, whatever adds and removals led to them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission import Demand, ResourceId, SlotTables, kernels, storage
from slotcar.base.timebase import Window, from_us
from tests.property.test_admission_decisions import (
    BASE_US,
    MINUTE_US,
    NAMES,
    demanded,
    limits,
    loaded,
    moments,
    occurrences,
    requests,
    spans,
    windows,
)
from tests.support.examples import examples
from tests.unit.admission.oracle import Oracle, Span, check_form

EVER = (BASE_US - 1_000, BASE_US + 100 * MINUTE_US)
#: How far a nearest window is looked for among many, in seconds.
FURTHEST = 2_000
Workload = list[tuple[dict[str, int], list[Span]]]


def functions(tables: SlotTables, start_us: int = EVER[0]) -> dict[str, tuple[tuple[int, int], ...]]:
    return {name: tables.steps(name, Window.of_us(start_us, EVER[1])) for name in NAMES}


def truth(oracle: Oracle, start_us: int = EVER[0]) -> dict[str, tuple[tuple[int, int], ...]]:
    return {name: oracle.steps(name, (start_us, EVER[1])) for name in NAMES}


@examples(37, 150)
@given(limits, requests, spans)
def test_steps_and_peaks_are_exact(capacities: dict[str, int], held: Workload, span: Span) -> None:
    tables, oracle = loaded(capacities, held)
    check_form(tables)
    assert functions(tables) == truth(oracle)
    for name in NAMES:
        assert tables.peak(name, Window.of_us(*span)) == oracle.peak(name, span)
        assert tables.steps(name, Window.of_us(*span)) == oracle.steps(name, span)


@examples(40, 100)
@given(limits, requests, requests, st.randoms(use_true_random=False))
def test_adding_and_removing_again_in_any_order_is_identity(
    capacities: dict[str, int], kept: Workload, passing: Workload, chance: random.Random
) -> None:
    tables, oracle = loaded(capacities, kept)
    for amounts, pairs in passing:
        tables.add(demanded(amounts), windows(pairs))
    chance.shuffle(passing)
    for amounts, pairs in passing:
        tables.remove(demanded(amounts), windows(pairs))
    check_form(tables)
    assert functions(tables) == truth(oracle)


def columns(held: Workload) -> list[np.ndarray]:
    rows = [
        (NAMES.index(name), start, end, rate)
        for amounts, pairs in held
        for start, end in pairs
        for name, rate in amounts.items()
    ]
    return list(np.array(rows, dtype=np.int64).reshape(-1, 4).T)


@examples(40, 100)
@given(limits, requests, requests)
def test_building_at_once_equals_adding_one_by_one(
    capacities: dict[str, int], first: Workload, more: Workload
) -> None:
    one_by_one, oracle = loaded(capacities, first)
    built = SlotTables.build(capacities, NAMES, *columns(first))
    check_form(built)
    assert functions(built) == functions(one_by_one)
    for amounts, pairs in more:
        built.add(demanded(amounts), windows(pairs))
        oracle.add(amounts, pairs)
    check_form(built)
    assert functions(built) == truth(oracle)


@examples(25, 100)
@given(limits, requests, requests, moments, st.lists(moments, max_size=3))
def test_pruning_keeps_the_future(
    capacities: dict[str, int], held: Workload, more: Workload, last: int, earlier: list[int]
) -> None:
    tables, oracle = loaded(capacities, held)
    for moment in (*earlier, last):
        tables.prune(from_us(moment))
    floor = max(*earlier, last) if earlier else last
    assert tables.floor_us == floor
    check_form(tables)
    assert functions(tables, floor) == truth(oracle, floor)
    for amounts, pairs in more:
        tables.add(demanded(amounts), windows(pairs))
        oracle.add(amounts, pairs)
    for amounts, pairs in held:
        tables.remove(demanded(amounts), windows(pairs))
        oracle.remove(amounts, pairs)
    check_form(tables)
    assert functions(tables, floor) == truth(oracle, floor)


@examples(15, 60)
@given(limits, requests, requests, st.sets(st.sampled_from(NAMES)))
def test_a_copy_and_an_excerpt_live_apart(
    capacities: dict[str, int], held: Workload, more: Workload, names: set[str]
) -> None:
    tables, oracle = loaded(capacities, held)
    copy, part = tables.copy(), tables.excerpt(sorted(names))
    for amounts, pairs in more:
        copy.add(demanded(amounts), windows(pairs))
    assert functions(tables) == truth(oracle)
    before = functions(copy)
    for amounts, pairs in held:
        tables.remove(demanded(amounts), windows(pairs))
    for each in (tables, copy, part):
        check_form(each)
    assert functions(copy) == before
    for name in names:
        assert part.steps(name, Window.of_us(*EVER)) == oracle.steps(name, EVER)
        assert part.capacity(name) == capacities[name]


@examples(25, 100)
@given(limits, requests, st.tuples(moments, moments).map(sorted))
def test_an_excerpt_of_a_window_has_what_is_in_it_alone(
    capacities: dict[str, int], held: Workload, span: list[int]
) -> None:
    tables, oracle = loaded(capacities, held)
    start, end = span[0], span[1] + 1
    part = tables.excerpt(sorted(capacities), Window.of_us(start, end))
    check_form(part)
    for name in capacities:
        assert part.steps(name, Window.of_us(start, end)) == oracle.steps(name, (start, end))
        assert part.peak(name, Window.of_us(end, end + 10**6)) == 0
        assert part.peak(name, Window.of_us(start - 10**6, start)) == 0


class Grid:
    """One resource on whole seconds, level by level: an oracle for thousands of reservations."""

    def __init__(self, seconds: int) -> None:
        self.levels = np.zeros(seconds, dtype=np.int64)

    def steps(self) -> tuple[tuple[int, int], ...]:
        changes = np.flatnonzero(np.diff(self.levels)) + 1
        return tuple((BASE_US + int(i) * 1_000_000, int(self.levels[i])) for i in (0, *changes))

    def worst(self, span: Span, limit: int) -> tuple[int, Window] | None:
        """The first highest level, and all around it inside the span that is over the limit."""
        levels = self.levels[slice(*span)]
        at, over = int(levels.argmax()), levels > limit
        if not over[at]:
            return None
        within = np.flatnonzero(~over)
        first = int(within[within < at].max(initial=-1)) + 1
        last = int(within[within > at].min(initial=levels.size))
        return int(levels[at]), second(span[0] + first, span[0] + last)

    def nearest(self, spans: Sequence[Span], limit: int, most: int) -> int | None:
        over = np.concatenate(([0], np.cumsum(self.levels > limit)))
        shifts = np.arange(most + 1)
        excess = sum(over[end + shifts] - over[start + shifts] for start, end in spans)
        fitting = np.flatnonzero(excess == 0)
        return int(fitting[0]) if fitting.size else None


def second(*span: int) -> Window:
    return Window.of_us(BASE_US + span[0] * 1_000_000, BASE_US + span[1] * 1_000_000)


def some_span(chance: random.Random, seconds: int) -> Span:
    """Some are long: they cross many blocks."""
    length = chance.randint(1, seconds - 1) if chance.random() < 0.1 else chance.randint(1, 40)
    start = chance.randint(0, seconds - length)
    return start, start + length


@examples(6, 25)
@given(st.integers(0, 2**32), st.sampled_from([3_000, 30_000]), st.booleans())
def test_many_blocks_split_merge_and_stay_exact(seed: int, seconds: int, prebuilt: bool) -> None:
    chance = random.Random(seed)
    name, other = NAMES[:2]
    grid = Grid(seconds + FURTHEST + 1)
    live = [(some_span(chance, seconds), chance.randint(1, 9)) for _ in range(2_000 if prebuilt else 0)]
    rows = [(0, BASE_US + s * 1_000_000, BASE_US + e * 1_000_000, rate) for (s, e), rate in live]
    tables = SlotTables.build({name: 60, other: 60}, [name], *np.array(rows, dtype=np.int64).reshape(-1, 4).T)
    for (start, end), rate in live:
        grid.levels[start:end] += rate
    for number in range(6_000):
        # First it grows, then it shrinks to nothing.
        if live and chance.random() < (0.1 if number < 2_500 else 0.95):
            span, rate = live.pop(chance.randrange(len(live)))
            tables.remove([Demand.constant(name, rate)], [second(*span)])
            grid.levels[span[0] : span[1]] -= rate
        else:
            span, rate = some_span(chance, seconds), chance.randint(1, 9)
            tables.add([Demand.constant(name, rate)], [second(*span)])
            grid.levels[span[0] : span[1]] += rate
            live.append((span, rate))
        looked_at = some_span(chance, seconds)
        highest = int(grid.levels[looked_at[0] : looked_at[1]].max())
        assert tables.peak(name, second(*looked_at)) == highest
        assert tables.fits([Demand.constant(name, 60 - highest)], [second(*looked_at)]) if highest <= 60 else True
        if number % 50 == 0:
            check_form(tables)
            limit = chance.randint(0, highest + 1)
            assert tables.worst(name, second(*looked_at), 60 - limit) == grid.worst(looked_at, limit)
        if number % 500 == 0:
            assert tables.steps(name, second(0, seconds + 1)) == grid.steps()
            first, then = sorted(some_span(chance, seconds // 3) for _ in range(2))
            pairs = [first, (first[1] + then[0], first[1] + then[1])]
            limit = chance.randint(0, int(grid.levels.max()) + 1)
            tables.set_capacities({name: limit + 1})
            shift_us = tables.nearest_shift_us(
                [Demand.constant(name, 1)], [second(*p) for p in pairs], 0, FURTHEST * 1_000_000
            )
            expected = grid.nearest(pairs, limit, FURTHEST)
            assert shift_us == (None if expected is None else expected * 1_000_000)
            tables.set_capacities({name: 60})
    check_form(tables)
    assert tables.steps(name, second(0, seconds + 1)) == grid.steps()
    assert tables.peak(other, second(0, seconds)) == 0


@examples(4, 12)
@given(st.integers(0, 2**32))
def test_pruning_many_blocks_keeps_the_future(seed: int) -> None:
    chance = random.Random(seed)
    grid, tables = Grid(20_000), SlotTables({NAMES[0]: 10**9})
    for _ in range(4_000):
        span, rate = some_span(chance, 20_000), chance.randint(1, 9)
        tables.add([Demand.constant(NAMES[0], rate)], [second(*span)])
        grid.levels[span[0] : span[1]] += rate
    for floor in sorted(chance.randint(0, 20_000) for _ in range(12)):
        tables.prune(from_us(BASE_US + floor * 1_000_000))
        grid.levels[:floor] = 0
        check_form(tables)
        assert tables.peak(NAMES[0], second(0, 20_000)) == int(grid.levels.max())
    tables.prune(from_us(BASE_US + 20_000 * 1_000_000))
    assert tables.steps(NAMES[0], second(19_999, 20_001)) == ((BASE_US + 20_000 * 1_000_000, 0),)


@pytest.mark.parametrize("missing", range(3))
@pytest.mark.parametrize("later_us", range(2))
def test_pruning_at_the_first_time_of_a_full_block(missing: int, later_us: int) -> None:
    """The kept breakpoint and the one at the beginning together need a place more than a full block has."""
    tables, number = SlotTables({NAMES[0]: 10}), 0
    while tables._state.meta[1, kernels.LEN] < 4 or last_count(tables) != kernels.BLOCK - missing:
        tables.add([Demand.constant(NAMES[0], 1 + number % 2)], [second(number, number + 1)])
        number += 1
    state = tables._state
    slot = int(state.meta[1, kernels.OFF] + state.meta[1, kernels.LEN]) - 1
    first_us = int(state.dirs[kernels.FIRST, slot])
    expected = tables.steps(NAMES[0], Window.of_us(first_us, first_us + 10**12))
    tables.prune(from_us(first_us + later_us))
    check_form(tables)
    assert tables._state.meta[1, kernels.LEN] <= 2, "what is past gives its blocks back"
    steps = tables.steps(NAMES[0], Window.of_us(first_us, first_us + 10**12))
    assert steps == ((tables.floor_us, expected[0][1]), *expected[1:])


@pytest.mark.parametrize("free", range(4))
@pytest.mark.parametrize("spare", range(4))
def test_an_addition_that_splits_two_blocks_makes_room_first(free: int, spare: int) -> None:
    """Both of its ends fall into full blocks, while blocks and directory slots are about to run out."""
    starts = np.arange(3 * kernels.BLOCK, dtype=np.int64) * 2_000_000 + BASE_US
    index, rates = np.zeros_like(starts), np.ones_like(starts)
    tables = SlotTables.build({NAMES[0]: 10}, NAMES[:1], index, starts, starts + 1_000_000, rates)
    state = tables._state
    low = int(state.meta[1, kernels.OFF])
    full = (low + 1, low + 4)
    ends: list[int] = []
    for slot in full:
        gap = int(state.dirs[kernels.FIRST, slot]) + 1_000_000
        while state.dirs[kernels.COUNT, slot] < kernels.BLOCK:
            gap += 2
            tables.add([Demand.constant(NAMES[0], 1)], [Window.of_us(gap, gap + 1)])
        ends.append(gap + 100)
    assert [int(state.dirs[kernels.COUNT, slot]) for slot in full] == [kernels.BLOCK] * 2
    before = dict(tables.steps(NAMES[0], Window.of_us(BASE_US, BASE_US + 10**10)))
    peaks = [tables.peak(NAMES[0], Window.of_us(end, end + 1)) for end in ends]
    state.head[kernels.FREE] = free
    state.meta[1, kernels.CAP] = state.meta[1, kernels.LEN] + spare
    tables.add([Demand.constant(NAMES[0], 5)], [Window.of_us(ends[0], ends[1])])
    check_form(tables, lost=True)
    after = dict(tables.steps(NAMES[0], Window.of_us(BASE_US, BASE_US + 10**10)))
    expected = {time: level + 5 * (ends[0] <= time < ends[1]) for time, level in before.items()}
    assert after == expected | {ends[0]: peaks[0] + 5, ends[1]: peaks[1]}


def test_a_worst_period_that_ends_with_its_block_ends_there() -> None:
    """The blocks behind it are within the limit and not walked through."""
    high = storage.FILL - 1  # with the breakpoint at the beginning, the first block is full of them
    rates = np.array([10 + i % 2 for i in range(high)] + [1 + i % 2 for i in range(3 * storage.FILL)], dtype=np.int64)
    starts = np.arange(rates.size, dtype=np.int64) * 1_000_000 + BASE_US
    tables = SlotTables.build({NAMES[0]: 15}, NAMES[:1], np.zeros_like(rates), starts, starts + 1_000_000, rates)
    assert tables.worst(NAMES[0], second(0, rates.size), 10) == (11, second(0, high))
    assert tables.worst(NAMES[0], second(high - 1, rates.size), 10) == (10, second(high - 1, high))
    assert tables.worst(NAMES[0], second(high, rates.size), 10) is None


def last_count(tables: SlotTables) -> int:
    state = tables._state
    return int(state.dirs[kernels.COUNT, int(state.meta[1, kernels.OFF] + state.meta[1, kernels.LEN]) - 1])


@examples(8, 30)
@given(st.lists(occurrences(), min_size=1, max_size=5), st.integers(1, 60))
def test_resources_that_appear_later_disturb_no_others(when: list[list[Span]], number: int) -> None:
    tables, oracle = loaded(dict.fromkeys(NAMES, 5), [(dict.fromkeys(NAMES, 1), pairs) for pairs in when])
    for late in range(number):
        tables.add([Demand.constant(ResourceId("sls", f"late-{late}"), late)], windows(when[0]))
    check_form(tables)
    assert functions(tables) == truth(oracle)
    for late in range(number):
        assert tables.peak(ResourceId("sls", f"late-{late}"), windows(when[0])[0]) == late
