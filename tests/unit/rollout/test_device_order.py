"""A path carries before its edge admits, and as long as its edge admits: in this order its devices act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.timebase import Window
from slotcar.book.timeline import Active
from slotcar.reservation.model import Slot
from slotcar.rollout.device_order import OFFSET, boundaries_in_order
from slotcar.rollout.model import Wanted
from tests.support.requests import T0, at
from tests.unit.rollout.support import active, wanted

#: Of the line network: it polices and marks; the other only carries.
EDGE, INNER = "r1", "r2"


def slot(number: int, start_s: float, end_s: float) -> Active:
    one = active(number, 60)
    window = Window(T0 + timedelta(seconds=start_s), T0 + timedelta(seconds=end_s))
    request = one.entry.reservation.over((window,))
    return Active(replace(one.entry, reservation=request), 0)


def armed(slots: list[Active]) -> Mapping[str, Wanted]:
    """What the routers have at T0 and do from then on."""
    instants = sorted({instant for one in slots for instant in one.window if instant > T0})
    coming = [(instant, tuple(one for one in slots if one.window.contains(instant))) for instant in instants]
    return wanted(*(one for one in slots if one.window.contains(T0)), coming=coming)


def test_at_a_start_the_path_is_there_before_its_edge_admits_and_at_an_end_it_goes_after_it() -> None:
    programs = armed([slot(1, 60, 120)])
    assert programs[EDGE].program.instants == (at(1), at(2))
    assert programs[INNER].program.instants == (at(1) - OFFSET, at(2) + OFFSET)
    assert programs[INNER].program.boundaries == (at(1), at(2))


def test_where_one_slot_takes_the_place_of_another_all_act_at_once() -> None:
    """Nobody admitted both for a moment."""
    first, second = slot(1, 60, 120), slot(2, 120, 180)
    turns = boundaries_in_order(T0, (), [(at(1), (first,)), (at(2), (second,)), (at(3), ())])
    assert [turn.instant(INNER) for turn in turns] == [at(1) - OFFSET, at(2), at(3) + OFFSET]


def test_a_step_passes_no_other() -> None:
    close = [slot(1, 60.4, 300), slot(2, 0, 60), slot(3, 0, 61)]
    instants = armed(close)[INNER].program.instants
    assert instants == (at(1), close[0].window.start, at(1) + timedelta(seconds=1), at(5) + OFFSET)


def test_an_instant_at_which_nobody_begins_or_ends_is_for_all_the_same() -> None:
    one = (slot(1, 0, 120),)
    assert boundaries_in_order(T0, one, [(at(1), one)])[0].shifts == {}


def test_where_a_rate_rises_the_edge_is_last_and_where_it_falls_it_is_first() -> None:
    """Of a slot whose rate is doubled after a minute, and then halved."""
    one = slot(1, 0, 180)
    slots = tuple(
        Slot(at(number), at(number + 1), one.slot.forward_bps * factor, 0) for number, factor in enumerate((1, 2, 1))
    )
    entry = replace(one.entry, reservation=one.entry.reservation.model_copy(update={"slots": slots}))
    coming = [(at(number), (Active(entry, number),)) for number in (1, 2)]
    instants = [turn.instant(INNER) - turn.at for turn in boundaries_in_order(T0, (Active(entry, 0),), coming)]
    assert instants == [-OFFSET, OFFSET]


spans = st.tuples(st.integers(0, 30), st.integers(1, 20)).map(lambda span: (span[0], span[0] + span[1]))


@given(st.lists(spans, min_size=1, max_size=6))
def test_no_edge_admits_what_the_path_does_not_carry(pairs: list[tuple[int, int]]) -> None:
    slots = [slot(number, start, end) for number, (start, end) in enumerate(pairs, 1)]
    instants = sorted({instant for one in slots for instant in one.window if instant > T0})
    coming = [(instant, tuple(one for one in slots if one.window.contains(instant))) for instant in instants]
    boundaries = boundaries_in_order(T0, tuple(one for one in slots if one.window.contains(T0)), coming)
    for boundary in boundaries:
        begun = any(one.window.start == boundary.at for one in slots)
        ended = any(one.window.end == boundary.at for one in slots)
        inner, edge = boundary.instant(INNER), boundary.instant(EDGE)
        assert edge == boundary.at
        assert (inner < edge, inner > edge) == (begun and not ended, ended and not begun)
    for device in (INNER, EDGE):
        acts = [boundary.instant(device) for boundary in boundaries]
        assert acts == sorted(set(acts))
