"""Throughput, and the EMERGE paper's gain and loss, worked by hand."""

from __future__ import annotations

from math import inf

import pytest

from slotcar.measuring.metrics import throughput
from slotcar_lab.experiments.emerge import gain as emerge
from slotcar_lab.experiments.emerge.gain import Stage
from tests.support.streams import stream

#: Every 20 ms one packet of 1000 bytes, 10 ms on its way; the third is lost.
SAMPLE = stream(10_000, 10_000, None, 10_000, 10_000)


def test_what_arrived_in_the_interval_is_its_rate() -> None:
    assert throughput.received_bps(SAMPLE, 1_000, 0, 100_000) == 4 * 8_000 * 10
    assert throughput.received_bps(SAMPLE, 1_000, 10_000, 30_000) == 8_000 * 50
    assert throughput.received_bps(SAMPLE, 1_000, 10_001, 30_001) == 8_000 * 50
    assert throughput.received_bps(SAMPLE, 1_000, 40_000, 60_000) == 0


def test_a_series_has_every_interval_and_no_rest() -> None:
    series = throughput.series(SAMPLE, 1_000, 0, 110_000, 50_000)
    assert [(interval.start_us, interval.received_packets) for interval in series] == [(0, 2), (50_000, 2)]
    assert series[0].received_bps == 2 * 8_000 * 20


def test_empty_intervals_are_told() -> None:
    with pytest.raises(ValueError, match="is empty"):
        throughput.received_bps(SAMPLE, 1_000, 5, 5)
    with pytest.raises(ValueError, match="must be positive"):
        throughput.series(SAMPLE, 1_000, 0, 10, 0)


def test_gain_and_loss_of_a_rate() -> None:
    congested, reserved = Stage(17e6, 25e6), Stage(25e6, 17e6)
    assert emerge.gain(congested, reserved) == emerge.loss(congested, reserved) == 8e6
    assert emerge.ratio(8e6, 8e6) == 1


def test_of_a_delay_less_is_better() -> None:
    congested, reserved = Stage(90_000, 90_000), Stage(10_000, 110_000)
    gained = emerge.gain(congested, reserved, more_is_better=False)
    lost = emerge.loss(congested, reserved, more_is_better=False)
    assert (gained, lost) == (80_000, 20_000)
    assert emerge.ratio(gained, lost) == 4


@pytest.mark.parametrize(
    ("gained", "lost", "expected"), [(1, 0, inf), (0, -1, inf), (-1, 0, None), (-1, 2, -0.5), (0.25, 0.5, 0.5)]
)
def test_a_ratio_of_whatever_was_gained_and_lost(gained: float, lost: float, expected: float | None) -> None:
    assert emerge.ratio(gained, lost) == expected
