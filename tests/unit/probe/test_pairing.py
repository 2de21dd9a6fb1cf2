"""What became of each packet there and back, out of the answers that came."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar_probe.packet import ErrorEstimate, ReflectorPacket, SenderPacket
from slotcar_probe.pairing import Answer, Paired, SentPacket, Stretch, paired
from slotcar_probe.reflector import Sessions
from slotcar_probe.streams import Stream, documents

MS = 1_000_000
CLOCK = ErrorEstimate(5_000, True)


def answer(sequence: int, number: int, there_ns: int = 4 * MS, back_ns: int = 6 * MS, dscp: int = 46) -> Answer:
    sent_ns = sequence * 100 * MS
    sender = SenderPacket(sequence, sent_ns, CLOCK, 1, 46)
    arrived_ns = sent_ns + there_ns
    packet = ReflectorPacket(number, arrived_ns + 10, CLOCK, arrived_ns, sender, dscp, 64)
    return Answer(packet, arrived_ns + 10 + back_ns, dscp)


def stretch_of(count: int, numbers: dict[int, int], first: int = 0) -> Stretch:
    """`numbers`: of each packet that was answered, the reflector's."""
    sent = [SentPacket(one, one * 100 * MS) for one in range(first, first + count)]
    return Stretch(sent, {sequence: answer(sequence, number) for sequence, number in numbers.items()})


def fates(measured: Paired) -> tuple[list[int], list[int], int, int]:
    """The numbers of those lost there and back, and how many arrived without a stamp or are unknown."""
    forward, reverse = measured.forward, measured.reverse
    lost = [[one[0] for one in way.packets if one[2] is None] for way in (forward, reverse)]
    return lost[0], lost[1], forward.unstamped, forward.unanswered


def test_both_directions_are_measured_by_both_clocks() -> None:
    measured = paired(stretch_of(2, {0: 0, 1: 1}), 7_000, 46)
    assert [delay for _, _, delay in measured.forward.packets] == [4 * MS, 4 * MS]
    assert [delay for _, _, delay in measured.reverse.packets] == [6 * MS, 6 * MS]
    assert measured.clock_error_ns == 12_000
    assert paired(stretch_of(2, {0: 0, 1: 1}), None, 46).clock_error_ns is None


@pytest.mark.parametrize("there_ns", [-20_000, 20_000 + 10 * MS])
def test_clocks_that_differ_by_more_than_they_say_measure_neither_way(there_ns: int) -> None:
    """Its answers take the 10 ms of both ways, less what the way there seems to take."""
    for off_by_ns, is_known in ((there_ns, False), (5 * MS, True)):
        stretch = stretch_of(2, {0: 0})
        stretch.answers[1] = answer(1, 1, off_by_ns, 10 * MS - off_by_ns)
        assert (paired(stretch, 7_000, 46).clock_error_ns is not None) is is_known


def test_what_was_lost_there_is_told_from_what_was_lost_on_the_way_back() -> None:
    assert fates(paired(stretch_of(4, {0: 0, 3: 1}), 1, 46)) == ([1, 2], [], 0, 0)
    assert fates(paired(stretch_of(4, {0: 0, 3: 3}), 1, 46)) == ([], [1, 2], 2, 0)
    assert fates(paired(stretch_of(4, {0: 0, 3: 2}), 1, 46)) == ([1], [1], 1, 0)


def test_what_follows_the_last_answer_is_told_of_with_what_comes_next() -> None:
    stretch = stretch_of(5, {0: 0, 2: 2})
    first = stretch.cut(100_000 * MS)
    assert [one.sequence for one in first.sent] == [0, 1, 2]
    assert [one.sequence for one in stretch.sent] == [3, 4]
    stretch.sent.append(SentPacket(5, 500 * MS))
    stretch.answers[5] = answer(5, 3)
    second = paired(stretch.cut(100_000 * MS), 1, 46, first.answers[2])
    assert fates(second) == ([3, 4], [], 0, 0)


def test_where_nobody_answers_nothing_is_known() -> None:
    measured = paired(stretch_of(3, {}), 1, 46)
    assert (measured.forward.unanswered, measured.reverse.unanswered) == (3, 3)
    assert measured.forward.packets == measured.reverse.packets == []
    assert measured.clock_error_ns is None


def test_of_what_was_under_way_when_a_reflector_was_restarted_nothing_is_known() -> None:
    measured = paired(stretch_of(5, {0: 900, 1: 901, 4: 0}), 1, 46)
    assert fates(measured) == ([], [], 0, 2)
    assert len({one[0] for one in measured.reverse.packets}) == 3


def test_an_answer_that_overtook_another_is_no_loss() -> None:
    assert fates(paired(stretch_of(3, {0: 0, 1: 2, 2: 1}), 1, 46)) == ([], [], 0, 0)


def test_another_code_point_is_counted_in_the_direction_in_which_it_was_changed() -> None:
    stretch = stretch_of(2, {})
    stretch.answers = {0: answer(0, 0, dscp=0), 1: answer(1, 1)}
    measured = paired(stretch, 1, 46)
    assert (measured.forward.remarked, measured.reverse.remarked) == (1, 1)


@given(st.lists(st.sampled_from(("answered", "lost there", "lost back")), min_size=1, max_size=60))
def test_every_packet_has_one_fate_and_each_loss_its_direction(chosen: list[str]) -> None:
    """Behind the first answer and before the last, counts are exact, whatever the order of losses is."""
    whole = ["answered", *chosen, "answered"]
    numbers, next_number = {}, 0
    for sequence, fate in enumerate(whole):
        if fate != "lost there":
            if fate == "answered":
                numbers[sequence] = next_number
            next_number += 1
    lost_there, lost_back, unstamped, unanswered = fates(paired(stretch_of(len(whole), numbers), 1, 46))
    assert len(lost_there) == whole.count("lost there")
    assert len(lost_back) == unstamped == whole.count("lost back")
    assert unanswered == 0


def test_only_directions_with_an_sls_are_handed_in_and_times_are_microseconds() -> None:
    stream = Stream("there", "near", "far", "10.0.0.2", 46)
    measured = paired(stretch_of(3, {0: 0, 2: 1}), 1_000, 46)
    (document,) = documents(stream, measured)
    assert document["packets"] == [[0, 0, 4_000], [1, 100_000, None], [2, 200_000, 4_000]]
    assert (document["start"], document["clock_error_us"]) == ("1970-01-01T00:00:00+00:00", 6)
    both = documents(Stream("there", "near", "far", "10.0.0.2", 46, reverse_sls="back"), measured)
    assert [(one["sls"], one["source"], one["destination"]) for one in both] == [
        ("there", "near", "far"),
        ("back", "far", "near"),
    ]


def test_each_session_has_its_own_numbers_and_the_oldest_are_forgotten() -> None:
    sessions = Sessions()
    assert [sessions.number(one) for one in ("a", "b", "a", "a")] == [0, 0, 1, 2]
    for one in range(10_000):
        sessions.number(one)
    assert sessions.number("a") == 0
