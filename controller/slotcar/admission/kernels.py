"""Exact step functions in blocked arrays: the compiled part of the slot tables (ADR 0002).

One step function per resource: breakpoints `(time_us, level_bps)`, each level holding until the next time. The form is
canonical: a breakpoint stands only where the level changes, after a first one at `BEGINNING` with level 0. So equal
functions have equal breakpoints, whatever adds and removals led to them.

Breakpoints lie in blocks of at most `BLOCK`; each resource has a directory of its blocks in order of time.

    pool[block, TIMES | LEVELS, i]    breakpoints of a block; its levels lack the directory's LAZY
    dirs[FIRST .. BLOCK_ID, slot]     per block: first time, highest level, lazy add, count, block number
    meta[resource, OFF | CAP | LEN]   a resource's directory is the slots OFF .. OFF + LEN, with room for CAP
    free[0 .. head[FREE])             unused blocks;  head[TAIL]: first directory slot that no resource has
    head[FLOOR]                       before this time nothing is kept

Everything is int64: microseconds and bits per second. All kernels live in one file, since numba's cache does not see
changes in other files that a kernel calls into.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from slotcar.admission.compiled import kernel

Ints: TypeAlias = NDArray[np.int64]

BLOCK = 128
TIMES, LEVELS = 0, 1
FIRST, HIGHEST, LAZY, COUNT, BLOCK_ID = 0, 1, 2, 3, 4
OFF, CAP, LEN = 0, 1, 2
FREE, TAIL, FLOOR = 0, 1, 2
BEGINNING = -(2**62)
FOREVER = 2**62


class State(NamedTuple):
    """The arrays that the kernels work on; see the module's head."""

    pool: Ints
    dirs: Ints
    meta: Ints
    free: Ints
    head: Ints


@kernel
def find_slot(state: State, resource: int, time: int) -> int:
    """Directory slot of the block that holds the level at `time`."""
    low: int = state.meta[resource, OFF]
    length = state.meta[resource, LEN]
    while length > 1:
        half = length >> 1
        if state.dirs[FIRST, low + half] <= time:
            low += half
        length -= half
    return low


@kernel
def find_end(state: State, resource: int) -> int:
    """The directory slot behind a resource's last one."""
    return int(state.meta[resource, OFF] + state.meta[resource, LEN])


@kernel
def find_index(state: State, slot: int, time: int) -> int:
    """Index of the last breakpoint of a slot's block that is at most at `time` (the first is)."""
    block = state.dirs[BLOCK_ID, slot]
    low = 0
    length = state.dirs[COUNT, slot]
    while length > 1:
        half = length >> 1
        if state.pool[block, TIMES, low + half] <= time:
            low += half
        length -= half
    return low


@kernel
def level_at(state: State, slot: int, index: int) -> int:
    """The level from a breakpoint on."""
    return int(state.pool[state.dirs[BLOCK_ID, slot], LEVELS, index] + state.dirs[LAZY, slot])


@kernel
def peak(state: State, resource: int, start: int, end: int) -> int:
    """The highest level in `[start, end)`."""
    slot = find_slot(state, resource, start)
    last = find_end(state, resource)
    index = find_index(state, slot, start)
    highest: int = level_at(state, slot, index)
    index += 1
    while slot < last:
        block = state.dirs[BLOCK_ID, slot]
        if index == 0 and state.dirs[FIRST, slot] >= end:
            break
        if index == 0 and slot + 1 < last and state.dirs[FIRST, slot + 1] <= end:
            highest = max(highest, state.dirs[HIGHEST, slot])
            slot += 1
            continue
        lazy = state.dirs[LAZY, slot]
        for i in range(index, state.dirs[COUNT, slot]):
            if state.pool[block, TIMES, i] >= end:
                return highest
            highest = max(highest, state.pool[block, LEVELS, i] + lazy)
        slot += 1
        index = 0
    return highest


@kernel
def fits(state: State, resources: Ints, amounts: Ints, capacities: Ints, starts: Ints, ends: Ints) -> bool:
    """Whether each amount fits beside every level of its window; before the floor all is free. Arrays: `tables.Request`."""
    for w in range(starts.size):
        start = max(starts[w], state.head[FLOOR])
        if start < ends[w]:
            for r in range(resources.size):
                if peak(state, resources[r], start, ends[w]) + amounts[r * starts.size + w] > capacities[resources[r]]:
                    return False
    return True


@kernel
def worst(state: State, resource: int, start: int, end: int, limit: int) -> tuple[int, int, int]:
    """The highest level over the limit in `[start, end)`, and the period over the limit around its first moment.

    Returns:
        Level, start and end of the period inside the window; `BEGINNING` thrice where nothing is over the limit.
    """
    highest: int = BEGINNING
    first: int = BEGINNING
    last: int = BEGINNING
    since: int = BEGINNING  # where the period over the limit that is being walked began
    open_ended = False  # that period holds the highest level so far
    slot = find_slot(state, resource, start)
    index = find_index(state, slot, start)
    while slot < find_end(state, resource):
        block, lazy = state.dirs[BLOCK_ID, slot], state.dirs[LAZY, slot]
        count = state.dirs[COUNT, slot]
        if state.dirs[HIGHEST, slot] <= limit:
            count = min(count, index + 1)  # its first level speaks for all
        for i in range(index, count):
            time = max(state.pool[block, TIMES, i], start)
            if time >= end:
                slot = FOREVER
                break
            level = state.pool[block, LEVELS, i] + lazy
            if level <= limit:
                if open_ended:
                    last = time
                    open_ended = False
                since = BEGINNING
                continue
            if since == BEGINNING:
                since = time
            if level > highest:
                highest, first, open_ended = level, since, True
        slot += 1
        index = 0
    return highest, first, end if open_ended else last


@kernel
def lowest(state: State, resource: int, start: int, end: int) -> int:
    """The lowest level in `[start, end)`."""
    slot = find_slot(state, resource, start)
    index = find_index(state, slot, start)
    least: int = FOREVER
    while slot < find_end(state, resource):
        block = state.dirs[BLOCK_ID, slot]
        for i in range(index, state.dirs[COUNT, slot]):
            if state.pool[block, TIMES, i] >= end:
                return least
            least = min(least, state.pool[block, LEVELS, i] + state.dirs[LAZY, slot])
        slot += 1
        index = 0
    return least


@kernel
def end_of_last_excess(state: State, resource: int, start: int, end: int, limit: int) -> int:
    """End of the period that holds the last moment of `[start, end)` over `limit`; `BEGINNING` where there is none.

    The period is followed past `end`, to the first moment that is within the limit again.
    """
    slot = find_slot(state, resource, end - 1)
    index = find_index(state, slot, end - 1)
    # Backwards to the last level over the limit; a segment that ends by `start` is no part of the window.
    following: int = FOREVER
    while True:
        block, lazy = state.dirs[BLOCK_ID, slot], state.dirs[LAZY, slot]
        if state.dirs[HIGHEST, slot] > limit:
            while index >= 0 and state.pool[block, LEVELS, index] + lazy <= limit:
                following = state.pool[block, TIMES, index]
                if following <= start:
                    return BEGINNING
                index -= 1
            if index >= 0:
                break
        following = state.dirs[FIRST, slot]
        if following <= start:
            return BEGINNING
        slot -= 1
        index = state.dirs[COUNT, slot] - 1
    # Forwards to the first level within it.
    while slot < find_end(state, resource):
        block, lazy = state.dirs[BLOCK_ID, slot], state.dirs[LAZY, slot]
        for i in range(index, state.dirs[COUNT, slot]):
            if state.pool[block, LEVELS, i] + lazy <= limit:
                return int(state.pool[block, TIMES, i])
        slot += 1
        index = 0
    return FOREVER


@kernel
def nearest_shift(state: State, resources: Ints, limits: Ints, starts: Ints, ends: Ints, least: int, most: int) -> int:
    """The least shift in `least .. most` by which all windows together fit on all resources; -1 where none does.

    `limits[r, w]` is the highest level of resource r beside which window w fits.

    Each step leaves the last excess of some window behind: every smaller shift would still overlap that period, so
    that nothing is jumped over.
    """
    shift: int = least
    agreed = 0  # how many (window, resource) pairs in a row fit at this shift
    pairs = starts.size * resources.size
    pair = 0
    while agreed < pairs:
        if shift > most:
            return -1
        w, r = pair // resources.size, pair % resources.size
        after = end_of_last_excess(state, resources[r], starts[w] + shift, ends[w] + shift, limits[r, w])
        if after == BEGINNING:
            agreed += 1
            pair = (pair + 1) % pairs
        elif after == FOREVER:
            return -1
        else:
            shift = after - starts[w]
            agreed = 0
    return shift if shift <= most else -1


@kernel
def make_breakpoint(state: State, resource: int, time: int) -> int:
    """A breakpoint at `time`, made where there is none; gives its directory slot. May use one free block and slot."""
    slot = find_slot(state, resource, time)
    block, count = state.dirs[BLOCK_ID, slot], state.dirs[COUNT, slot]
    index = find_index(state, slot, time)
    if state.pool[block, TIMES, index] == time:
        return slot
    if count == BLOCK:
        split_block(state, resource, slot)
        slot = find_slot(state, resource, time)
        block, count = state.dirs[BLOCK_ID, slot], state.dirs[COUNT, slot]
        index = find_index(state, slot, time)
    for i in range(count, index + 1, -1):
        state.pool[block, TIMES, i] = state.pool[block, TIMES, i - 1]
        state.pool[block, LEVELS, i] = state.pool[block, LEVELS, i - 1]
    state.pool[block, TIMES, index + 1] = time
    state.pool[block, LEVELS, index + 1] = state.pool[block, LEVELS, index]
    state.dirs[COUNT, slot] = count + 1
    return slot


@kernel
def split_block(state: State, resource: int, slot: int) -> None:
    """The upper half of a block goes to a free one, in the slot behind it."""
    state.head[FREE] -= 1
    block, other = state.dirs[BLOCK_ID, slot], state.free[state.head[FREE]]
    for i in range(find_end(state, resource), slot + 1, -1):
        for row in range(5):
            state.dirs[row, i] = state.dirs[row, i - 1]
    state.meta[resource, LEN] += 1
    count = state.dirs[COUNT, slot]
    half = count // 2
    for i in range(half, count):
        state.pool[other, TIMES, i - half] = state.pool[block, TIMES, i]
        state.pool[other, LEVELS, i - half] = state.pool[block, LEVELS, i]
    state.dirs[COUNT, slot] = half
    state.dirs[FIRST, slot + 1] = state.pool[other, TIMES, 0]
    state.dirs[LAZY, slot + 1] = state.dirs[LAZY, slot]
    state.dirs[COUNT, slot + 1] = count - half
    state.dirs[BLOCK_ID, slot + 1] = other
    measure(state, slot)
    measure(state, slot + 1)


@kernel
def measure(state: State, slot: int) -> None:
    """Sets a block's highest level anew."""
    block = state.dirs[BLOCK_ID, slot]
    highest = state.pool[block, LEVELS, 0]
    for i in range(1, state.dirs[COUNT, slot]):
        highest = max(highest, state.pool[block, LEVELS, i])
    state.dirs[HIGHEST, slot] = highest + state.dirs[LAZY, slot]


@kernel
def drop_breakpoint_if_flat(state: State, resource: int, time: int) -> None:
    """Takes the breakpoint at `time` away where the level does not change there."""
    slot = find_slot(state, resource, time)
    index = find_index(state, slot, time)
    # A slot before this one there is: the first breakpoint of the first is at BEGINNING, where no window starts or ends.
    before, last = (slot, index - 1) if index > 0 else (slot - 1, state.dirs[COUNT, slot - 1] - 1)
    if level_at(state, slot, index) == level_at(state, before, last):
        take_out(state, resource, slot, index)


@kernel
def take_out(state: State, resource: int, slot: int, index: int) -> None:
    """Takes one breakpoint out of its block."""
    block, count = state.dirs[BLOCK_ID, slot], state.dirs[COUNT, slot]
    for i in range(index, count - 1):
        state.pool[block, TIMES, i] = state.pool[block, TIMES, i + 1]
        state.pool[block, LEVELS, i] = state.pool[block, LEVELS, i + 1]
    state.dirs[COUNT, slot] = count - 1
    if count == 1:
        drop_slots(state, resource, slot, 1)
        return
    state.dirs[FIRST, slot] = state.pool[block, TIMES, 0]
    if index == 0:
        measure(state, slot)  # the highest may have stood here alone
    if count <= BLOCK // 4:
        merge_with_next(state, resource, slot)


@kernel
def drop_slots(state: State, resource: int, slot: int, number: int) -> None:
    """Takes `number` slots from `slot` on out of a directory and frees their blocks."""
    for i in range(slot, slot + number):
        state.free[state.head[FREE]] = state.dirs[BLOCK_ID, i]
        state.head[FREE] += 1
    for i in range(slot, find_end(state, resource) - number):
        for row in range(5):
            state.dirs[row, i] = state.dirs[row, i + number]
    state.meta[resource, LEN] -= number


@kernel
def merge_with_next(state: State, resource: int, slot: int) -> None:
    """Joins a sparse block with the next where both fill half a block at most: removals leave no crumbs."""
    if slot + 1 >= find_end(state, resource):
        return
    block, other = state.dirs[BLOCK_ID, slot], state.dirs[BLOCK_ID, slot + 1]
    count, more = state.dirs[COUNT, slot], state.dirs[COUNT, slot + 1]
    if count + more > BLOCK // 2:
        return
    lazy = state.dirs[LAZY, slot + 1] - state.dirs[LAZY, slot]
    for i in range(more):
        state.pool[block, TIMES, count + i] = state.pool[other, TIMES, i]
        state.pool[block, LEVELS, count + i] = state.pool[other, LEVELS, i] + lazy
    state.dirs[COUNT, slot] = count + more
    state.dirs[HIGHEST, slot] = max(state.dirs[HIGHEST, slot], state.dirs[HIGHEST, slot + 1])
    drop_slots(state, resource, slot + 1, 1)


@kernel
def raise_level(state: State, resource: int, start: int, end: int, rate: int) -> None:
    """Adds `rate` to every level of `[start, end)`. May use two free blocks and directory slots."""
    make_breakpoint(state, resource, start)
    last = make_breakpoint(state, resource, end)
    slot = find_slot(state, resource, start)
    index = find_index(state, slot, start)
    while slot <= last:
        block, count = state.dirs[BLOCK_ID, slot], state.dirs[COUNT, slot]
        stop = find_index(state, slot, end) if slot == last else count
        if index == 0 and stop == count:
            state.dirs[LAZY, slot] += rate
            state.dirs[HIGHEST, slot] += rate
        else:
            for i in range(index, stop):
                state.pool[block, LEVELS, i] += rate
            measure(state, slot)
        slot += 1
        index = 0
    drop_breakpoint_if_flat(state, resource, start)
    drop_breakpoint_if_flat(state, resource, end)


@kernel
def raise_all(state: State, resources: Ints, rates: Ints, starts: Ints, ends: Ints, begin: int) -> int:
    """Adds to resource r its rate in window w, from the `begin`th (window, resource) pair on. Arrays: `tables.Request`.

    Returns:
        How many pairs are done: fewer than all where blocks or directory slots ran out; the caller makes room and
        calls again from there.
    """
    for pair in range(begin, starts.size * resources.size):
        w, r = pair // resources.size, pair % resources.size
        resource, rate = resources[r], rates[r * starts.size + w]
        start = max(starts[w], state.head[FLOOR])
        if rate == 0 or start >= ends[w]:
            continue
        if state.head[FREE] < 2:
            return pair
        if state.meta[resource, LEN] + 2 > state.meta[resource, CAP]:
            room = 2 * state.meta[resource, CAP] + 2
            if state.head[TAIL] + room > state.dirs.shape[1]:
                return pair
            move_directory(state, resource, room)
        raise_level(state, resource, start, ends[w], rate)
    return starts.size * resources.size


@kernel
def move_directory(state: State, resource: int, room: int) -> None:
    """Gives a resource's directory `room` slots at the tail."""
    old, new = state.meta[resource, OFF], state.head[TAIL]
    for i in range(state.meta[resource, LEN]):
        for row in range(5):
            state.dirs[row, new + i] = state.dirs[row, old + i]
    state.meta[resource, OFF] = new
    state.meta[resource, CAP] = room
    state.head[TAIL] = new + room
