"""View models: sentences, pictures and maps, without HTTP."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission.resource_id import ResourceId
from slotcar.base.problems import InvalidInput
from slotcar.base.timebase import Window
from slotcar.book.model import Entry, Event, ProgressReport, State
from slotcar.book.rules.roles import Caller, Role
from slotcar.book.slot_now import SlotNow, SlotState
from slotcar.network.model import Network
from slotcar.reservation.model import Slot
from slotcar.reservation.need import VolumeByDeadline
from slotcar.views.capacity import Course
from slotcar.views.device_states import known_states
from slotcar.web.boundaries.model import what_happens
from slotcar.web.links.pages import THRESHOLDS, level_of
from slotcar.web.maps.model import HEIGHT, MOST, WIDTH, places_of
from slotcar.web.maps.model import picture_of as map_of
from slotcar.web.requests.model import body_of
from slotcar.web.reservations.model import can_be_cancelled, lanes_of, picture_of, progress_of, used_bits
from slotcar.web.times import Clock
from slotcar.web.words import SLOTS, mark_of, sentence, why_not_operator
from tests.support.networks import line_network
from tests.support.requests import T0, at, reservation


def entry(state: State = State.COMMITTED, *windows: tuple[int, int], **more: Any) -> Entry:
    request = reservation().over(tuple(Window(at(start), at(end)) for start, end in windows or ((10, 20),)))
    return Entry("h", 1, state, 1, request, (), (), T0, at(5), **more)


def clock(minute: int) -> Clock:
    return Clock("UTC", at(minute))


def slot(state: SlotState, why: str = "") -> SlotNow:
    return SlotNow(1, 1, Window(at(10), at(20)), state, at(9), why)


@pytest.mark.parametrize(
    ("one", "minute", "word", "says"),
    [
        (entry(slot=slot(SlotState.ARMED)), 0, "armed", "It starts Mon 2027-03-01 12:10, in 10 min, and ends"),
        (
            entry(slot=slot(SlotState.IN_PLACE)), 15, "in place",
            "It is in place, read back Mon 2027-03-01 12:09. Its slot ends Mon 2027-03-01 12:20.",
        ),
        (
            entry(slot=slot(SlotState.WITHHELD, "r3: it takes no push")), 15, "withheld",
            "It is withheld: r3: it takes no push. Its slot ends Mon 2027-03-01 12:20.",
        ),
        (
            entry(slot=slot(SlotState.UNKNOWN)), 15, "unknown",
            "What its devices have is unknown since Mon 2027-03-01 12:09.",
        ),
        (entry(State.COMMITTED, (0, 10), (20, 30)), 5, "committed", "; the next slot starts Mon 2027-03-01 12:20"),
        (entry(State.COMMITTED, (0, 10), (20, 30)), 15, "committed", "It starts Mon 2027-03-01 12:20"),
        (entry(slot=slot(SlotState.ENDED)), 30, "ended", "Its last slot ended"),
        (entry(State.CANCELLED, slot=slot(SlotState.UNKNOWN)), 30, "unknown", "takes no room. What its devices have is"),
        (entry(State.HELD, hold_until=at(7)), 0, "held", "Held until Mon 2027-03-01 12:07"),
        (entry(State.AWAITING_APPROVAL), 0, "awaits approval", "waits for approval"),
        (entry(State.CANCELLED), 30, "cancelled", "It was cancelled Mon 2027-03-01 12:05"),
        (entry(State.TIMED_OUT), 30, "timed out", "It was timed out"),
    ],
)  # fmt: skip
def test_a_state_is_a_word_and_a_sentence(one: Entry, minute: int, word: str, says: str) -> None:
    assert mark_of(one).word == word
    assert says in sentence(one, clock(minute))


def test_every_state_has_a_mark_of_its_own_shape_and_word() -> None:
    for marks, count in (([mark_of(entry(state)) for state in State], len(State)), (SLOTS.values(), len(SlotState))):
        assert all(mark.word and mark.shape and mark.look for mark in marks)
        assert len({mark.word for mark in marks}) == count


def test_who_may_is_told_to_who_may_not() -> None:
    assert why_not_operator(Caller("x", Role.OPERATOR), "approve") == ""
    assert (
        why_not_operator(Caller("x", Role.AUDITOR), "approve") == "Only an operator may approve; you are an auditor."
    )


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 50), st.integers(1, 10**9)), min_size=1, max_size=30))
def test_slots_are_drawn_within_the_picture_and_in_order(drawn: list[tuple[int, int, int]]) -> None:
    """`drawn`: how long each is, the pause after it, and its rate."""
    slots, minute = [], 0
    for length, pause, rate in drawn:
        slots.append(Slot(at(minute), at(minute + length), rate, 0))
        minute += length + pause
    request = reservation().model_copy(update={"slots": tuple(slots)})
    picture = picture_of(replace(entry(), reservation=request), at(minute // 2))
    assert picture.left_out == 0
    assert [bar.x for bar in picture.bars] == sorted(bar.x for bar in picture.bars)
    for bar in picture.bars:
        assert 0 <= bar.x <= 1000
        assert 0 < bar.height <= 100
        assert bar.y + bar.height == pytest.approx(100)


def test_progress_is_beside_the_promise() -> None:
    """1 Mbit/s for ten minutes are 75 MB."""
    need = VolumeByDeadline(volume_bytes=75_000_000, by=at(60))
    request = entry().reservation.model_copy(update={"need": need, "slots": (Slot(at(10), at(20), 1_000_000, 0),)})
    one = replace(entry(), reservation=request)
    half = progress_of(one, at(15))
    assert half is not None
    assert (half.promised, half.promised_percent, half.moved_percent) == ("37.5 MB", 50, 50)
    reported = progress_of(replace(one, progress=ProgressReport(60_000_000, at(14), 5, 7)), at(15))
    assert reported is not None
    assert (reported.moved_percent, reported.promised_percent, reported.behind) == (20, 50, "7 B")
    assert reported.reported_at == at(14)
    assert progress_of(entry(), at(0)) is None


@pytest.mark.parametrize(
    ("state", "changed", "looks"),
    [
        (State.CANCELLED, 15, ["past", "gone", "gone"]), (State.CANCELLED, 5, ["gone", "gone"]),
        (State.CANCELLED, 25, ["past", "gone"]), (State.ENDED, 41, ["past", "past"]),
        (State.REJECTED, 12, ["gone", "gone"]), (State.TIMED_OUT, 12, ["gone", "gone"]),
        (State.COMMITTED, 5, ["past", "past"]),
    ],
)  # fmt: skip
def test_what_is_over_has_no_present_and_no_future(state: State, changed: int, looks: list[str]) -> None:
    """What was in force until it was cancelled is past, and what was to follow never was; `COMMITTED`: nobody has written
    down yet that the clock ended it."""
    one = replace(entry(state, (10, 20), (30, 40), slot=slot(SlotState.IN_PLACE)), changed_at=at(changed))
    minute = 50 if state is State.COMMITTED else 17
    picture = picture_of(one, at(minute))
    assert [bar.look for bar in picture.bars] == looks
    assert picture.now_x is None
    assert not can_be_cancelled(one, at(minute))


def test_what_is_in_force_has_its_present() -> None:
    one = entry(State.COMMITTED, (10, 20), (30, 40), slot=slot(SlotState.IN_PLACE))
    picture = picture_of(one, at(15))
    assert ([bar.look for bar in picture.bars], picture.now_x) == (["now", "coming"], pytest.approx(166.67))
    assert can_be_cancelled(one, at(15))


def test_what_is_over_promises_nothing() -> None:
    """1 Mbit/s for ten minutes are 75 MB; cancelled after two and a half of them."""
    need = VolumeByDeadline(volume_bytes=75_000_000, by=at(60))
    request = entry().reservation.model_copy(update={"need": need, "slots": (Slot(at(10), at(20), 1_000_000, 0),)})
    report = ProgressReport(60_000_000, at(12), 5, 7)
    cancelled = replace(entry(State.CANCELLED), reservation=request, changed_at=at(12) + timedelta(seconds=30))
    guessed, reported = progress_of(cancelled, at(15)), progress_of(replace(cancelled, progress=report), at(15))
    assert guessed is not None
    assert (guessed.promised, guessed.which, guessed.moved_percent) == ("", "Moved, if it sent at its rates", 25)
    assert reported is not None
    assert (reported.promised, reported.moved_percent, reported.behind) == ("", 20, "")
    assert progress_of(replace(cancelled, state=State.TIMED_OUT), at(15)) is None, "it never moved anything"


def test_what_is_used_is_rate_times_time_both_ways_until_it_was_given_back() -> None:
    slots = (Slot(at(0), at(1), 10, 20), Slot(at(2), at(3), 5, 0))
    one = replace(entry(), reservation=entry().reservation.model_copy(update={"slots": slots}))
    assert [used_bits(one, at(minute)) for minute in (0, 1, 2, 3, 9)] == [0, 1800, 1800, 2100, 2100]
    assert used_bits(replace(one, state=State.CANCELLED, changed_at=at(1)), at(9)) == 1800
    assert used_bits(replace(one, state=State.TIMED_OUT), at(9)) == 0


def test_a_lane_has_what_lies_in_its_window_by_the_reservations_own_highest_rate() -> None:
    slots = (Slot(at(0), at(10), 40, 0), Slot(at(10), at(30), 20, 0), Slot(at(40), at(50), 0, 0))
    one = replace(entry(), reservation=entry().reservation.model_copy(update={"slots": slots}))
    ((elsewhere, _),) = lanes_of([one], Window(at(20), at(60)), at(25))
    assert elsewhere.look == "coming", "nobody has seen it on its devices"
    in_place = replace(one, slot=slot(SlotState.IN_PLACE))
    ((first, second),) = lanes_of([in_place], Window(at(20), at(60)), at(25))
    assert (first.x, first.width, first.height, first.look) == (0, 250, 40, "now")
    assert (second.x, second.width, second.height, second.look) == (500, 250, 1.6, "coming")


def test_a_sentence_names_the_first_few() -> None:
    assert what_happens(["hep/a"], ["hep/b", "hep/c"], []) == "hep/a starts; hep/b, hep/c end"
    assert what_happens([f"n{n}" for n in range(7)], [], []) == "n0, n1, n2, n3, n4 and 2 more start"
    assert what_happens([], [], []) == "No reservation starts or ends"


def test_the_legend_and_the_colours_have_the_same_thresholds() -> None:
    assert [level_of(percent) for percent in (0, 1, 69, 70, 89, 90, 100)] == [0, 1, 1, 2, 2, 3, 3]
    assert len({mark.shape for _, mark in THRESHOLDS}) == len(THRESHOLDS)


def placed(network: Network, **places: tuple[int, int]) -> Network:
    devices = {
        name: device.model_copy(update={"position": places.get(name)}) for name, device in network.devices.items()
    }
    return network.model_copy(update={"devices": devices})


def test_devices_stand_where_the_inventory_says() -> None:
    network = placed(line_network(3), r1=(0, 0), r2=(50, 100), r3=(100, 50))
    places = places_of(network)
    assert places["r1"][0] < places["r2"][0] < places["r3"][0]
    assert places["r1"][1] < places["r3"][1] < places["r2"][1]


@pytest.mark.parametrize("routers", [1, 2, 3, 12])
def test_a_network_without_places_is_laid_out_alike_each_time(routers: int) -> None:
    network = line_network(routers)
    places = places_of(network)
    assert places == places_of(network)
    assert set(places) == set(network.devices)
    for x, y in places.values():
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    states = {one.device: one for one in known_states(network, [], None, T0)}
    drawn = map_of(network, states, {})
    assert (len(drawn.nodes), len(drawn.edges), drawn.placed) == (routers, routers - 1, False)


def test_of_a_large_network_what_needs_attention_is_drawn_with_its_name() -> None:
    network = placed(line_network(250), **{f"r{number}": (number, number % 7) for number in range(1, 251)})
    failed = [Event(1, T0, "push.device-failed", None, "r249", {"message": "silent"})]
    states = {one.device: one for one in known_states(network, failed, None, T0)}
    columns = tuple(np.array([value]) for value in (0, 900, 100))
    busy = Course(ResourceId("if", "r248:eth2", "out:ip-premium"), 1_000, Window(T0, at(60)), columns)
    drawn = map_of(network, states, {str(busy.resource): busy})
    assert (len(drawn.nodes), len(drawn.edges)) == (250, 249)
    assert (len(drawn.drawn_nodes), len(drawn.drawn_edges)) == (MOST, MOST)
    assert drawn.drawn_nodes[0].name == "r249"
    assert (drawn.drawn_edges[0].percent, drawn.drawn_edges[0].resource) == (90, str(busy.resource))
    assert sum(shape.path.count("M") for shape in drawn.other_nodes) == 250 - MOST
    assert sum(shape.path.count("M") for shape in drawn.other_edges) == 249 - MOST


def test_a_form_says_what_a_file_would() -> None:
    form = {
        "name": "a",
        "rate": "1 Mbit/s",
        "start": "2027-03-01 22:00",
        "duration": "1 h",
        "end": "",
        "labels": "run=7, a=b",
    }
    assert body_of(form, Clock("Europe/Zurich", T0)) == {
        "name": "a", "rate": "1 Mbit/s", "start": "2027-03-01T21:00:00Z", "duration": "1 h",
        "labels": {"run": "7", "a": "b"},
    }  # fmt: skip
    ends = body_of(form | {"end": "now + 3 h"}, clock(0))
    assert ("duration" in ends, ends["end"]) == (False, "2027-03-01T15:00:00Z")
    moved = body_of(form | {"volume": "2 TB", "by": "now + 8 h"}, clock(0))
    assert {"rate", "duration", "end"}.isdisjoint(moved)
    with pytest.raises(InvalidInput, match=r"by: is not a time(.|\n)*start: is not a time"):
        body_of(form | {"start": "soon", "volume": "2 TB", "by": "late"}, clock(0))
    with pytest.raises(InvalidInput, match="say `KEY=VALUE`"):
        body_of(form | {"labels": "seven"}, clock(0))


def test_a_time_apart_has_two_units() -> None:
    assert clock(0).distance(at(0) + timedelta(days=1, hours=2, minutes=3)) == "in 1 d 2 h"
