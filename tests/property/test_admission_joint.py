"""Joint plans on any network: HiGHS says what could be placed, and every profile that moves keeps the rules of ADR 24."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar

import highspy
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission import Demand, SlotTables
from slotcar.admission.component import FixedRequest, PlacedTransfer
from slotcar.admission.deadline import Transfer
from slotcar.admission.free import free_in
from slotcar.admission.highs import HighsSolver
from slotcar.admission.moves import Room, make_room
from slotcar.admission.program import LinearProgram
from slotcar.admission.rates import Crossing, Profile, clipped, microbits, profile_demands
from slotcar.admission.step_rules import LEAST_STEP_US, MOST_STEPS
from slotcar.base.timebase import Window, to_us
from slotcar.base.vocabulary import Shape
from tests.property.test_admission_moves import NAMES, applied, check
from tests.support.examples import examples
from tests.unit.admission.support import T0

MINUTE_US, MBPS = 60_000_000, 1_000_000
#: No step is slower: what the platforms police.
LEAST_BPS = 32_768
#: What is asked of HiGHS is a ten-thousandth more than what must be admitted: rates are whole bits per second, and steps
#: have a least rate.
MORE = 1.0001


class Counting(HighsSolver):
    """HiGHS, and how often it was asked."""

    calls: ClassVar[Counter[str]] = Counter()

    def solve(self, program: LinearProgram) -> Sequence[float] | None:
        self.calls["solve"] += 1
        return super().solve(program)


def span(start_us: int, end_us: int) -> Window:
    return Window.of_us(to_us(T0) + start_us, to_us(T0) + end_us)


@st.composite
def requests(draw: st.DrawFn, unit_us: int) -> Transfer | FixedRequest:
    """Windows of ten minutes at least on the grid of a unit; odd volumes."""
    start = draw(st.integers(0, 5 * MINUTE_US * 12 // unit_us) | st.just(0))
    length = draw(st.integers(10 * MINUTE_US // unit_us, 60 * MINUTE_US // unit_us))
    window = span(start * unit_us, (start + length) * unit_us)
    crossed = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
    at_most = draw(st.sampled_from([3, 5, 10])) * MBPS
    if draw(st.integers(0, 5)) == 0:
        return FixedRequest(tuple(Demand.constant(name, at_most // 3) for name in crossed), (window,))
    most_bytes = at_most * length * unit_us // 8_000_000
    wire_bytes = draw(st.sampled_from([1000, 1066]))
    return Transfer(
        volume_bytes=draw(st.integers(most_bytes // 4, most_bytes * 9 // 10)) | 1,
        window=window,
        crossings=tuple(Crossing(name, wire_bytes, 1000) for name in crossed),
        at_least_bps=LEAST_BPS,
        at_most_bps=at_most,
        shape=draw(st.sampled_from((Shape.STEADY, *Shape))),
    )


def could_be_placed(capacity: int, transfers: Sequence[Transfer], fixed: Sequence[FixedRequest]) -> bool:
    """Whether HiGHS finds rates, constant between all starts and ends, that move a little more than all volumes."""
    windows = [*(one.window for one in transfers), *(one.windows[0] for one in fixed)]
    cuts = sorted({border for one in windows for border in (one.start_us, one.end_us)})
    highs, infinity = highspy.Highs(), highspy.kHighsInf
    highs.setOptionValue("output_flag", False)
    loads: defaultdict[tuple[Any, int], list[tuple[int, float]]] = defaultdict(list)
    for one in transfers:
        columns = []
        for place in range(bisect_left(cuts, one.window.start_us), bisect_left(cuts, one.window.end_us)):
            column = highs.getNumCol()
            highs.addVar(0, one.at_most_bps / MBPS)
            columns.append((column, (cuts[place + 1] - cuts[place]) * MBPS / one.microbits))
            for crossing in one.crossings:
                loads[crossing.resource, place].append((column, crossing.wire_bytes / crossing.payload_bytes))
        highs.addRow(MORE, infinity, len(columns), *map(np.array, zip(*columns, strict=True)))
    for (resource, place), columns in loads.items():
        taken = sum(
            demand.amount(0)
            for one in fixed
            for demand in one.demands
            if demand.resource == resource and one.windows[0].start_us <= cuts[place] < one.windows[0].end_us
        )
        highs.addRow(-infinity, (capacity - taken) / MBPS, len(columns), *map(np.array, zip(*columns, strict=True)))
    highs.run()
    return bool(highs.getModelStatus() == highspy.HighsModelStatus.kOptimal)


@examples(25, 150)
@given(st.lists(requests(MINUTE_US), min_size=4, max_size=14))
def test_a_request_is_refused_only_where_highs_finds_no_plan_for_all(wanted: list[Transfer | FixedRequest]) -> None:
    tables = SlotTables(dict.fromkeys(NAMES, 10 * MBPS))
    live: list[PlacedTransfer] = []
    fixed: list[FixedRequest] = []
    for number, one in enumerate(wanted):
        before = Counting.calls["solve"]
        room = make_room(tables, one, live, now=T0, frozen=timedelta(0), solver=Counting())
        assert Counting.calls["solve"] - before <= 2, "the ledger's lock is held meanwhile"
        if room is None and isinstance(one, Transfer):
            assert not could_be_placed(10 * MBPS, [*(each.transfer for each in live), one], fixed)
        if room is not None:
            live = taken(tables, live, room, f"t{number}", one)
            if isinstance(one, FixedRequest):
                fixed.append(one)


def taken(
    tables: SlotTables, live: Sequence[PlacedTransfer], room: Room, handle: str, one: Transfer | FixedRequest
) -> list[PlacedTransfer]:
    """The request in its place, and those that move for it."""
    after = applied(tables, live, room)
    if isinstance(one, Transfer):
        tables.add(*profile_demands(one.crossings, room.profile))
        after.append(PlacedTransfer(handle, one, room.profile))
    else:
        tables.add(one.demands, one.windows)
    check(tables, after)
    return after


def keeps_steps(profile: Profile, from_us: int, until_us: int) -> bool:
    """Every change from a moment on lasts, and there are no more than 32 rates."""
    borders = sorted({border for step in profile for border in step[:2] if border > from_us})
    long = all(end - start >= min(LEAST_STEP_US, until_us - from_us) for start, end in pairwise(borders))
    return long and len(profile) <= MOST_STEPS and all(step.rate_bps >= LEAST_BPS for step in profile)


@examples(25, 150)
@given(st.lists(requests(1_000_000), min_size=4, max_size=14), st.integers(0, 90))
def test_whoever_moves_has_steps_that_last_could_not_stay_and_is_steady_where_it_fits(
    wanted: list[Transfer | FixedRequest], frozen_s: int
) -> None:
    tables = SlotTables(dict.fromkeys(NAMES, 10 * MBPS))
    live: list[PlacedTransfer] = []
    border_us = to_us(T0) + frozen_s * 1_000_000
    for number, one in enumerate(wanted):
        room = make_room(tables, one, live, now=T0, frozen=timedelta(seconds=frozen_s), solver=HighsSolver())
        if room is None:
            continue
        before = {each.handle: each for each in live}
        live = taken(tables, live, room, f"t{number}", one)
        for handle, profile in room.moved.items():
            transfer, old = before[handle].transfer, before[handle].profile
            from_us = max(border_us, transfer.window.start_us)
            assert keeps_steps(profile, from_us, transfer.window.end_us)
            tables.remove(*profile_demands(transfer.crossings, profile))
            assert not tables.fits(*profile_demands(transfer.crossings, old)), "who still fits there goes back"
            moves = clipped(profile, from_us, transfer.window.end_us)
            if transfer.shape is Shape.STEADY and clipped(profile, 0, from_us) == () and len(moves) > 1:
                left = Window.of_us(from_us, transfer.window.end_us)
                usable = transfer.usable(free_in(tables, transfer.crossings, left))
                assert int(usable.rates_bps.min()) < -(-microbits(moves) // (left.end_us - left.start_us))
            tables.add(*profile_demands(transfer.crossings, profile))
