"""A sender's datagrams that are due, at rates that standard input says while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from slotcar_lab.agent import traffic
from slotcar_lab.agent.traffic import Pace

BEGIN_S = 1_000.0
PAYLOAD_BYTES = 125  # a datagram of 1,000 bits


class Steered:
    """A pace with a clock of the test's own, and the other end of its standard input."""

    def __init__(self, write: int) -> None:
        self.now_s = 0.0
        clock = SimpleNamespace(now=lambda: self.now_s, begin_s=BEGIN_S)
        self.pace = Pace(clock, 10_000, PAYLOAD_BYTES)  # type: ignore[arg-type]
        self._write = write

    def steer(self, text: str) -> None:
        os.write(self._write, text.encode())

    def due(self, now_s: float) -> float:
        self.now_s = now_s
        return self.pace.due()


@pytest.fixture
def steered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Steered]:
    read, write = os.pipe()
    with os.fdopen(read) as end:
        monkeypatch.setattr(traffic.sys, "stdin", end)
        yield Steered(write)
    os.close(write)


def test_a_rate_that_nobody_changes_is_constant(steered: Steered) -> None:
    assert [steered.due(at) for at in (0.0, 1.0, 2.5)] == [0, 10, 25]


def test_another_rate_counts_from_its_instant_on(steered: Steered) -> None:
    steered.steer("1002 1000\n1004.0 5000\n")
    assert steered.due(1.0) == 10
    assert steered.due(3.0) == 20 + 1
    assert steered.due(6.0) == 20 + 2 + 10
    assert steered.pace.packets_ps == 5


def test_what_is_told_last_holds_from_its_instant_on(steered: Steered) -> None:
    steered.steer("1002 1000\n1003 2000\n1002 4000\n")
    assert steered.due(5.0) == 20 + 12


def test_a_rate_for_an_instant_that_has_passed_holds_from_then_on(steered: Steered) -> None:
    assert steered.due(2.0) == 20
    steered.steer("1001 1000\n")
    assert steered.due(3.0) == 10 + 2


def test_half_a_line_waits_for_its_end_and_an_input_that_ends_changes_nothing(steered: Steered) -> None:
    steered.steer("1002 10")
    assert steered.due(1.0) == 10
    steered.steer("00\n")
    assert steered.due(3.0) == 21


def test_how_long_it_is_until_some_are_due_is_counted_from_the_beginning(steered: Steered) -> None:
    steered.due(0.97)
    assert steered.pace.left_s(12) == pytest.approx(1.25 - 0.97)
    steered.due(0.99)  # whoever woke late is not late the next time
    assert steered.pace.left_s(12) == pytest.approx(1.25 - 0.99)
    steered.steer("1001 20000\n")
    steered.due(2.0)
    assert steered.pace.left_s(34) == pytest.approx(1 + 24.5 / 20 - 2.0)
    assert steered.pace.left_s(3) == 0.0
