"""Slots: a rate each way over time, windows as they follow from them, and what no reservation can be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Service
from slotcar.reservation.model import Reservation, Slot, constant_slots
from slotcar.reservation.slots import SlotReader
from tests.support.requests import at, reservation


def varying(*slots: tuple[int, int, int, int], **fields: object) -> Reservation:
    """Slots of (start, end, forward, reverse), in minutes and bits per second."""
    listed = tuple(Slot(at(start), at(end), forward, reverse) for start, end, forward, reverse in slots)
    document = reservation().model_dump() | {"slots": listed, "direction": Direction.BOTH} | fields
    return Reservation.model_validate(document)


def test_a_change_of_rate_is_no_end_and_a_gap_is_one() -> None:
    one = varying((0, 10, 8, 0), (10, 20, 34, 0), (30, 40, 34, 0))
    assert one.windows == (Window(at(0), at(20)), Window(at(30), at(40)))
    assert one.rate_changes == (at(10),)
    assert (one.constant_rate_bps, one.peak_rate_bps) == (None, 34)


def test_occurrences_that_touch_stay_apart() -> None:
    daily = [Window(at(0), at(10)), Window(at(10), at(20))]
    one = reservation().over(daily)
    assert one.windows == tuple(daily)
    assert one.rate_changes == ()
    assert one.constant_rate_bps == 10


def test_one_rate_each_way_is_no_constant_rate_unless_they_are_equal() -> None:
    assert varying((0, 10, 20, 1)).constant_rate_bps is None
    assert varying((0, 10, 20, 20)).constant_rate_bps == 20
    assert varying((0, 10, 20, 0), direction=Direction.FORWARD).constant_rate_bps == 20


def test_a_document_reads_back() -> None:
    one = varying((0, 10, 8, 1), (10, 20, 34, 0))
    assert Reservation.from_document(one.to_document()) == one


@pytest.mark.parametrize(
    ("slots", "fields", "message"),
    [
        (((0, 10, 1, 1), (5, 20, 1, 1)), {}, "slots overlap"),
        (((10, 20, 1, 1), (0, 10, 1, 1)), {}, "slots overlap"),
        (((0, 10, 0, 0),), {}, "needs a rate above 0 in every slot"),
        (((0, 10, 1, 1),), {"direction": Direction.FORWARD}, "reverse, which is not reserved"),
        ((), {}, "at least 1 item"),
    ],
)
def test_what_no_reservation_can_be(slots: tuple, fields: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        varying(*slots, **fields)


def test_best_effort_needs_no_rate() -> None:
    assert varying((0, 10, 0, 0), service=Service.BEST_EFFORT).constant_rate_bps == 0


@pytest.mark.parametrize("rate_bps", [-1, 10**18])
def test_a_slot_has_a_sane_rate(rate_bps: int) -> None:
    with pytest.raises(ValueError, match="a rate is from 0"):
        Slot(at(0), at(1), rate_bps, 0)


def test_only_one_rate_moves_to_other_windows() -> None:
    with pytest.raises(ValueError, match="several rates"):
        varying((0, 10, 8, 0), (10, 20, 34, 0)).over([Window(at(0), at(0) + timedelta(hours=1))])


def test_constant_slots_go_the_ways_that_are_reserved() -> None:
    (slot,) = constant_slots([Window(at(0), at(1))], 5, Direction.REVERSE)
    assert (slot.forward_bps, slot.reverse_bps) == (0, 5)


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        ("forward=20 Mbit/s, reverse=1 Mbit/s", {"forward": "20 Mbit/s", "reverse": "1 Mbit/s"}),
        (" reverse = 1 Mbit/s ,forward= 20 Mbit/s,", {"forward": "20 Mbit/s", "reverse": "1 Mbit/s"}),
        ("reverse=1 Mbit/s", {"reverse": "1 Mbit/s"}),
        ("forward=20, up=fast", {"forward": "20", "up": "fast"}),
    ],
)
def test_a_text_of_rates_each_way_is_read_as_their_mapping(text: str, mapping: dict[str, str]) -> None:
    def answer(rate: object) -> object:
        problems: list[tuple[str, ...]] = []
        data = {"rate": rate, "start": at(60).isoformat(), "duration": "1 h"}
        reader = SlotReader(data, lambda *words: problems.append(words), at(0))
        return reader.amounts(Service.IP_PREMIUM), problems

    assert answer(text) == answer(mapping)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("forward=20 Mbit/s, 1 Mbit/s", "is no rate each way"),
        ("20 Mbit/s, reverse=1 Mbit/s", "is no rate each way"),
        ("forward=20 Mbit/s, reverse=", "is no rate each way"),
        ("=", "is no rate each way"),
        ("forward=20 Mbit/s, forward=20 Mbit/s", "says forward twice"),
    ],
)
def test_a_text_of_rates_each_way_has_each_with_its_direction_once(text: str, message: str) -> None:
    problems: list[tuple[str, ...]] = []
    reader = SlotReader({"rate": text}, lambda *words: problems.append(words), at(0))
    assert reader.rates(needed=True) is None
    assert problems == [("rate", message, text, "say `forward=20 Mbit/s, reverse=1 Mbit/s`")]


@pytest.mark.parametrize(
    ("rate", "direction", "rates"),
    [
        ({"forward": "20 Mbit/s", "reverse": "0 bit/s"}, Direction.FORWARD, (20_000_000, 0)),
        ("forward=0 Mbit/s, reverse=1 Mbit/s", Direction.REVERSE, (0, 1_000_000)),
    ],
)
def test_no_rate_one_way_is_one_way(rate: object, direction: Direction, rates: tuple[int, int]) -> None:
    """GARA's Create(A, B, R, 0)."""
    mistakes: list[object] = []
    data = {"start": "2027-03-01T22:00:00Z", "duration": "1 h", "rate": rate}
    amounts = SlotReader(data, lambda *words: mistakes.append(words), at(0)).amounts(Service.IP_PREMIUM)
    assert not mistakes
    assert amounts is not None
    assert amounts.direction is direction
    assert [slot.rates for slot in amounts.slots] == [rates]


def test_no_rate_either_way_is_refused() -> None:
    mistakes: list[tuple[object, ...]] = []
    data = {"start": "2027-03-01T22:00:00Z", "duration": "1 h", "rate": {"forward": "0 bit/s", "reverse": "0 bit/s"}}
    assert SlotReader(data, lambda *words: mistakes.append(words), at(0)).amounts(Service.IP_PREMIUM) is None
    assert [words[1] for words in mistakes] == ["is not a rate above zero either way"]
