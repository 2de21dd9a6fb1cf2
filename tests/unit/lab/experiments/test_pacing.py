"""Whether a sender did what it was asked for, out of the stamps of its packets."""

from __future__ import annotations

import pytest

from slotcar_lab.experiments import pacing
from slotcar_lab.experiments.figures import Phase
from slotcar_lab.experiments.pacing import Policed
from slotcar_lab.metrics.model import Delay

#: A thousand bytes at 100 packets a second.
RATE_BPS, PACKET_BYTES, PACKETS_PS = 800_000.0, 1_000, 100.0

WHOLE = Phase("whole", 0.0, 2.0)


def stream(*stamps_s: float) -> tuple[Delay, ...]:
    return tuple(Delay(number, round(at * 1e6), 5_000) for number, at in enumerate(stamps_s))


def steady(count: int, since_s: float = 0.0) -> list[float]:
    return [since_s + number / PACKETS_PS for number in range(count)]


def test_a_steady_sender_is_never_above_its_policer() -> None:
    assert pacing.above(stream(*steady(200)), PACKET_BYTES, [Policed(0, RATE_BPS, 2_000)]) == ()


def test_who_catches_up_in_a_burst_is_above_it_by_what_the_bucket_does_not_hold() -> None:
    paused = [*steady(50), *([1.0] * 50), *steady(50, 1.01)]
    dropped = pacing.above(stream(*paused), PACKET_BYTES, [Policed(0, RATE_BPS, 8_000)])
    assert len(dropped) == 42
    assert {packet.sent_us for packet in dropped} == {1_000_000}
    assert pacing.above(stream(*paused), PACKET_BYTES, [Policed(0, RATE_BPS, 50_000)]) == ()


def test_the_rate_of_the_moment_counts() -> None:
    falls = [Policed(0, RATE_BPS, 2_000), Policed(1, RATE_BPS / 2, 2_000)]
    dropped = pacing.above(stream(*steady(200)), PACKET_BYTES, falls)
    assert len(dropped) == pytest.approx(50, abs=3)
    assert all(packet.sent_us >= 1_000_000 for packet in dropped)


def test_what_was_sent_is_held_against_what_was_asked() -> None:
    assert pacing.part_sent(stream(*steady(200)), WHOLE, PACKETS_PS) == 1
    assert pacing.part_sent(stream(*steady(150)), WHOLE, PACKETS_PS) == 0.75
    assert pacing.part_sent((), WHOLE, PACKETS_PS) == 0


def test_a_pause_is_a_sender_that_was_starved() -> None:
    assert pacing.pause_doubt("laurel", stream(*steady(200)), WHOLE, PACKETS_PS) == ""
    words = pacing.pause_doubt("laurel", stream(*steady(50), *steady(100, 1.0)), WHOLE, PACKETS_PS)
    assert words == "laurel paused for 0.5 s and was to send a packet every 0.010 s: it was starved"
    avatar = stream(*(number * 0.288 for number in range(7)))
    assert pacing.pause_doubt("laurel", avatar, WHOLE, 3.47) == "", "it is that slow"
