"""The arrays under the slot tables: packing, room, and what may take longer than a decision (NumPy)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from slotcar.admission import kernels
from slotcar.admission.kernels import (
    BEGINNING,
    BLOCK,
    BLOCK_ID,
    CAP,
    COUNT,
    FIRST,
    FLOOR,
    FREE,
    HIGHEST,
    LAZY,
    LEN,
    LEVELS,
    OFF,
    TAIL,
    TIMES,
    Ints,
    State,
)

#: A step function: ascending times and the levels from then on, in the canonical form of `kernels`.
Steps: TypeAlias = tuple[Ints, Ints]

NOTHING: Steps = (np.array([BEGINNING], dtype=np.int64), np.zeros(1, dtype=np.int64))
#: How far blocks are filled at first, so that the first inserts split none.
FILL = BLOCK * 3 // 4
#: Directory slots that every resource has to spare at first.
SPARE_SLOTS = 6


def pack(functions: Sequence[Steps], floor_us: int = BEGINNING + 1) -> State:
    """A state that holds these step functions, resource i the i-th."""
    lengths = [-(-times.size // FILL) for times, _ in functions]
    blocks = sum(lengths)
    room = blocks + blocks // 2 + 64
    rooms = [length + length // 2 + SPARE_SLOTS for length in lengths]
    state = State(
        # Pages that nobody touches cost no memory, so room is cheap.
        pool=np.empty((room, 2, BLOCK), dtype=np.int64),
        dirs=np.zeros((5, 2 * sum(rooms) + 64), dtype=np.int64),
        meta=np.zeros((len(functions), 3), dtype=np.int64),
        free=np.empty(room, dtype=np.int64),
        head=np.array([room - blocks, sum(rooms), floor_us], dtype=np.int64),
    )
    state.free[: room - blocks] = np.arange(room - 1, blocks - 1, -1)
    slot = block = 0
    for number, (times, levels) in enumerate(functions):
        state.meta[number] = slot, rooms[number], lengths[number]
        _fill(state, slot, block, times, levels)
        slot += rooms[number]
        block += lengths[number]
    return state


def empty(count: int) -> State:
    """What `pack` gives of so many functions in which nothing is reserved: filled at once, for there may be thousands."""
    room, slots = count + count // 2 + 64, np.arange(count) * (1 + SPARE_SLOTS)
    used = count * (1 + SPARE_SLOTS)
    state = State(
        pool=np.empty((room, 2, BLOCK), dtype=np.int64),
        dirs=np.zeros((5, 2 * used + 64), dtype=np.int64),
        meta=np.stack((slots, np.full(count, 1 + SPARE_SLOTS), np.ones(count, dtype=np.int64)), axis=1),
        free=np.empty(room, dtype=np.int64),
        head=np.array([room - count, used, BEGINNING + 1], dtype=np.int64),
    )
    state.free[: room - count] = np.arange(room - 1, count - 1, -1)
    state.pool[:count, :, :FILL] = 0
    state.pool[:count, TIMES, 0] = BEGINNING
    state.dirs[FIRST, slots], state.dirs[COUNT, slots], state.dirs[BLOCK_ID, slots] = BEGINNING, 1, np.arange(count)
    return state


def _fill(state: State, slot: int, block: int, times: Ints, levels: Ints) -> None:
    length = -(-times.size // FILL)
    cuts = np.arange(length) * FILL
    for row, values in ((TIMES, times), (LEVELS, levels)):
        padded = np.zeros(length * FILL, dtype=np.int64)
        padded[: values.size] = values
        state.pool[block : block + length, row, :FILL] = padded.reshape(length, FILL)
    state.dirs[FIRST, slot : slot + length] = times[cuts]
    state.dirs[HIGHEST, slot : slot + length] = np.maximum.reduceat(levels, cuts)
    state.dirs[LAZY, slot : slot + length] = 0
    state.dirs[COUNT, slot : slot + length] = np.minimum(times.size - cuts, FILL)
    state.dirs[BLOCK_ID, slot : slot + length] = np.arange(block, block + length)


def unpack(state: State, number: int) -> Steps:
    """A resource's whole step function."""
    start = int(state.meta[number, OFF])
    return _gather(state, start, start + int(state.meta[number, LEN]))


def _gather(state: State, first: int, last: int) -> Steps:
    """What the directory slots `[first, last)` hold."""
    counts = state.dirs[COUNT, first:last]
    in_use = np.arange(BLOCK) < counts[:, None]
    blocks = state.pool[state.dirs[BLOCK_ID, first:last]]
    levels = blocks[:, LEVELS] + state.dirs[LAZY, first:last, None]
    return blocks[:, TIMES][in_use], levels[in_use]


def segment(state: State, number: int, start_us: int, end_us: int) -> Steps:
    """A resource's step function over a window: the level at its start, and each change in it."""
    if start_us >= end_us:
        return NOTHING[0][:0], NOTHING[1][:0]
    first, last = (kernels.find_slot(state, number, time) for time in (start_us, end_us - 1))
    times, levels = _gather(state, first, last + 1)
    inside = slice(int(np.searchsorted(times, start_us, "right")) - 1, int(np.searchsorted(times, end_us, "left")))
    times, levels = times[inside].copy(), levels[inside]
    times[0] = start_us
    return times, levels


def part(state: State, number: int, start_us: int, end_us: int) -> Steps:
    """A resource's step function over a window, and level 0 before and after it; of a window that has a length."""
    times, levels = segment(state, number, start_us, end_us)
    times = np.concatenate((NOTHING[0], times, [end_us]))
    levels = np.concatenate((NOTHING[1], levels, NOTHING[1]))
    changes = np.concatenate(([True], levels[1:] != levels[:-1]))
    return times[changes], levels[changes]


def sweep(numbers: Ints, starts: Ints, ends: Ints, rates: Ints, resources: int) -> list[Steps]:
    """Each resource's step function out of the rows of (resource, start, end, rate)."""
    # Sorting 16-bit keys stably is a radix sort.
    keys = numbers.astype(np.uint16) if resources <= 2**16 else numbers
    order = np.argsort(keys, kind="stable")
    borders = np.searchsorted(keys[order], np.arange(resources + 1))
    starts, ends, rates = starts[order], ends[order], rates[order]
    functions = []
    for number in range(resources):
        rows = slice(int(borders[number]), int(borders[number + 1]))
        functions.append(_sweep_one(starts[rows], ends[rows], rates[rows]))
    return functions


def _sweep_one(starts: Ints, ends: Ints, rates: Ints) -> Steps:
    if not starts.size:
        return NOTHING
    times = np.concatenate((starts, ends))
    order = np.argsort(times)
    times = times[order]
    levels = np.cumsum(np.concatenate((rates, -rates))[order])
    last_of_time = np.append(times[1:] != times[:-1], True)
    times, levels = times[last_of_time], levels[last_of_time]
    changes = levels != np.concatenate((NOTHING[1], levels[:-1]))
    return np.concatenate((NOTHING[0], times[changes])), np.concatenate((NOTHING[1], levels[changes]))


def forget(state: State, before_us: int) -> None:
    """Drops what lies before a moment: level 0 until then. Sets the floor."""
    for number in range(state.meta.shape[0]):
        slot, bottom = kernels.find_slot(state, number, before_us), int(state.meta[number, OFF])
        times, levels = _gather(state, slot, slot + 1)
        index = int(np.searchsorted(times, before_us, "right")) - 1
        if slot == bottom and index == 0:
            continue
        level = levels[index]
        kept_times = [NOTHING[0], [before_us] if level else NOTHING[0][:0], times[index + 1 :]]
        kept_levels = [NOTHING[1], [level] if level else NOTHING[1][:0], levels[index + 1 :]]
        steps = (np.concatenate(kept_times).astype(np.int64), np.concatenate(kept_levels).astype(np.int64))
        if (
            steps[0].size > BLOCK
        ):  # only where `index` is 0 in a full block: the first breakpoint stays in a block before
            _set_block(state, slot - 1, NOTHING)
            _set_block(state, slot, (steps[0][1:], steps[1][1:]))
            slot -= 1
        else:
            _set_block(state, slot, steps)
        kernels.drop_slots(state, number, bottom, slot - bottom)
    state.head[FLOOR] = before_us


def _set_block(state: State, slot: int, steps: Steps) -> None:
    block = state.dirs[BLOCK_ID, slot]
    times, levels = steps
    state.pool[block, TIMES, : times.size] = times
    state.pool[block, LEVELS, : times.size] = levels
    state.dirs[[FIRST, HIGHEST, LAZY, COUNT], slot] = times[0], levels.max(), 0, times.size


def with_room(state: State) -> State:
    """The same with more free blocks and directory slots."""
    size = state.pool.shape[0]
    more = size // 2 + 64
    pool = np.empty((size + more, 2, BLOCK), dtype=np.int64)
    pool[:size] = state.pool
    free = np.empty(size + more, dtype=np.int64)
    unused = int(state.head[FREE])
    free[:more] = np.arange(size + more - 1, size - 1, -1)
    free[more : more + unused] = state.free[:unused]
    dirs, meta = _respaced(state)
    head = np.array([unused + more, int(meta[:, CAP].sum()), state.head[FLOOR]], dtype=np.int64)
    return State(pool, dirs, meta, free, head)


def _respaced(state: State) -> tuple[Ints, Ints]:
    """The directories one after another, each with room to grow, and free slots behind them all."""
    meta = state.meta.copy()
    meta[:, CAP] = meta[:, LEN] + meta[:, LEN] // 2 + SPARE_SLOTS
    meta[:, OFF] = np.cumsum(meta[:, CAP]) - meta[:, CAP]
    dirs = np.zeros((5, 2 * int(meta[:, CAP].sum()) + 64), dtype=np.int64)
    for (old, _, length), new in zip(state.meta.tolist(), meta[:, OFF].tolist(), strict=True):
        dirs[:, new : new + length] = state.dirs[:, old : old + length]
    return dirs, meta


def with_resource(state: State) -> State:
    """The same with one resource more, with nothing reserved on it."""
    if state.head[FREE] < 1 or state.head[TAIL] + SPARE_SLOTS > state.dirs.shape[1]:
        state = with_room(state)
    slot = int(state.head[TAIL])
    state.head[FREE] -= 1
    state.dirs[BLOCK_ID, slot] = state.free[state.head[FREE]]
    _set_block(state, slot, NOTHING)
    state.head[TAIL] += SPARE_SLOTS
    return state._replace(meta=np.vstack((state.meta, np.array([[slot, SPARE_SLOTS, 1]], dtype=np.int64))))
