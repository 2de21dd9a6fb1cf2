"""What follows from two readings of a device's counters, and what does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from slotcar.base.vocabulary import Service
from slotcar.measuring.counters.increments import Increment, Remark, increments
from slotcar.measuring.counters.reading import CounterReading, counts_from, counts_json
from slotcar.platforms.counting import Amount, Count, Counts, FlowPlace, Place, QueuePlace

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
PERIOD = timedelta(minutes=5)
END = BEGIN + PERIOD
FLOW, OTHER = FlowPlace("eth1", 2), QueuePlace("eth2", Service.IP_PREMIUM)
#: 3.9 GB in five minutes: less than 32 bits count.
LINES = {"eth1": 100_000_000, "eth2": 100_000_000}


def count(packets: int, size: int = 1000, age_s: int | None = None) -> Count:
    return Count(Amount(packets, packets * size), age_s=age_s)


def reading(counts: Counts, at: datetime = BEGIN, configuration: str = "a") -> CounterReading:
    return CounterReading("r1", at, at, configuration, counts)


def between(before: Counts, after: Counts, configuration: str = "a", end: datetime = END) -> dict[Place, Increment]:
    listed = increments(reading(before), reading(after, end, configuration), LINES)
    return {one.place: one for one in listed}


def test_counters_that_grew_say_by_how_much() -> None:
    assert between({FLOW: count(10)}, {FLOW: count(15)})[FLOW] == Increment(FLOW, BEGIN, END, count(5))


def test_nothing_follows_from_a_first_reading_or_from_a_clock_that_was_set_back() -> None:
    assert increments(None, reading({FLOW: count(10)}), LINES) == ()
    assert between({FLOW: count(10)}, {FLOW: count(15)}, end=BEGIN) == {}


def test_what_is_new_counted_from_zero_since_it_was_made() -> None:
    began = between({}, {FLOW: count(7, age_s=60)}, "b")[FLOW]
    assert began == Increment(FLOW, END - timedelta(seconds=60), END, count(7))
    assert between({}, {FLOW: count(7)})[FLOW].start == BEGIN


def test_what_has_counted_for_longer_than_it_had_a_name_says_nothing_yet() -> None:
    assert between({}, {FLOW: count(7, age_s=400)}) == {}


def test_a_push_that_replaced_what_counts_is_seen() -> None:
    one = between({FLOW: count(10)}, {FLOW: count(4, age_s=100)}, "b")[FLOW]
    assert one == Increment(FLOW, END - timedelta(seconds=100), END, count(4), Remark.PUSHED)


def test_a_replaced_counter_that_has_overtaken_the_old_one_is_known_by_its_age() -> None:
    one = between({FLOW: count(10)}, {FLOW: count(40, age_s=100)}, "b")[FLOW]
    assert (one.count, one.remark) == (count(40), Remark.PUSHED)


def test_a_restart_is_told_from_one_counter_that_was_cleared() -> None:
    before = {FLOW: count(10), OTHER: count(30)}
    restarted = between(before, {FLOW: count(3), OTHER: count(2)})
    assert {one.remark for one in restarted.values()} == {Remark.RESTARTED}
    cleared = between(before, {FLOW: count(3), OTHER: count(32)})
    assert {place: one.remark for place, one in cleared.items()} == {FLOW: Remark.CLEARED, OTHER: None}


def test_of_a_counter_that_began_again_nobody_knows_when_no_time_counts_as_counted() -> None:
    one = between({FLOW: count(10), OTHER: count(1)}, {FLOW: count(3), OTHER: count(1)})[FLOW]
    assert (one.start, one.end, one.count) == (END, END, count(3))


def test_bytes_of_32_bits_go_on_where_they_began_again() -> None:
    before = Count(Amount(5_000_000, (1 << 32) - 1_000))
    after = Count(Amount(5_000_100, 99_000))
    one = between({FLOW: before, OTHER: count(1)}, {FLOW: after, OTHER: count(1)})[FLOW]
    assert one == Increment(FLOW, BEGIN, END, Count(Amount(100, 100_000)), Remark.WRAPPED)


def test_a_counter_that_was_cleared_late_is_not_taken_for_one_that_came_to_its_end() -> None:
    before, after = Count(Amount(4_000_000, 4_000_000_000)), Count(Amount(100, 100_000))
    one = between({FLOW: before, OTHER: count(1)}, {FLOW: after, OTHER: count(1)})[FLOW]
    assert (one.count, one.remark) == (after, Remark.CLEARED)


def test_bytes_without_packets_that_went_back_are_not_continued() -> None:
    """As a Catalyst counts: whether they came to their end or were cleared, nobody could tell."""
    before, after = Count(Amount(0, (1 << 32) - 1_000)), Count(Amount(0, 500))
    one = between({FLOW: before}, {FLOW: after})[FLOW]
    assert (one.start, one.count, one.remark) == (END, after, Remark.CLEARED)
    assert between({FLOW: after}, {FLOW: Count(Amount(0, 800))})[FLOW].count == Count(Amount(0, 300))


def test_where_the_line_may_carry_more_than_32_bits_count_nothing_is_guessed() -> None:
    before, after = Count(Amount(5_000_000, (1 << 32) - 1_000)), Count(Amount(5_000_100, 99_000))
    hour = between({FLOW: before, OTHER: count(1)}, {FLOW: after, OTHER: count(1)}, end=BEGIN + timedelta(hours=1))
    assert (hour[FLOW].remark, hour[FLOW].count) == (Remark.CLEARED, after)


def test_more_than_the_line_carries_was_written_by_another() -> None:
    one = between({FLOW: count(10)}, {FLOW: count(10_000_000)})[FLOW]
    assert (one.count, one.remark) == (None, Remark.IMPOSSIBLE)


def test_what_a_policer_dropped_may_be_more_than_the_line_carries() -> None:
    """Hosts of one machine have no line before the router."""
    before, after = Count(), Count(Amount(1, 1000), dropped=Amount(10_000_000, 10_000_000_000))
    assert between({FLOW: before}, {FLOW: after})[FLOW].remark is None


def test_counts_are_kept_as_they_were_read() -> None:
    counts: Counts = {
        FLOW: Count(Amount(1, 2), Amount(3, 4), Amount(5, 6), age_s=7),
        OTHER: Count(Amount(8, -9), dropped=Amount(1)),
    }
    again = counts_from(counts_json(counts))
    assert again == counts
    assert again[FLOW].age_s == 7
