"""Figures of phases, by hand."""

from __future__ import annotations

from fractions import Fraction

from slotcar.measuring.metrics.model import Delay
from slotcar_lab.experiments import figures
from slotcar_lab.experiments.figures import Phase
from slotcar_lab.experiments.queues import Depth, read
from slotcar_lab.experiments.scale import AS_WRITTEN, Scale

#: One packet each 100 ms from t = 10 s on; the third is lost.
STREAM = tuple(Delay(n, 10_000_000 + 100_000 * n, None if n == 2 else 1_000 * (n + 1)) for n in range(5))
WHOLE = Phase("whole", 10.0, 10.5)


def test_a_phase_has_the_packets_that_were_sent_in_it() -> None:
    assert [packet.sequence for packet in figures.during(STREAM, Phase("middle", 10.1, 10.3))] == [1, 2]


def test_rates_count_payload_and_time() -> None:
    assert figures.sent_mbps(STREAM, 1_000, WHOLE, AS_WRITTEN) == 5 * 8_000 / 0.5 / 1e6
    assert figures.rate_mbps(STREAM, 1_000, WHOLE, AS_WRITTEN) == 4 * 8_000 / 0.5 / 1e6
    halved = Scale(Fraction(1, 8), Fraction(1, 4))
    assert figures.rate_mbps(STREAM, 1_000, WHOLE, halved) == 2 * 4 * 8_000 / 0.5 / 1e6
    assert figures.loss_percent(STREAM) == 20.0


def test_delays_are_of_those_that_arrived() -> None:
    assert figures.median_ms(STREAM) == 3.0
    assert figures.percentile_ms(STREAM, 95) == 5.0
    assert figures.jitter_ms(STREAM) == 1.0
    assert figures.median_ms(()) is None


def test_series_are_of_seconds_since_the_start() -> None:
    assert figures.loss_series(STREAM, WHOLE, 0.25) == ((0.125, 0.375), (100 / 3, 0.0))
    assert figures.delay_series(STREAM, WHOLE) == ((0.0, 0.1, 0.3, 0.4), (1.0, 2.0, 4.0, 5.0))
    assert figures.cumulative([3, 1, 2, 2]) == ((1, 2, 2, 3), (25.0, 50.0, 75.0, 100.0))


def test_a_queue_is_read_as_tc_prints_it() -> None:
    red = '{"kind":"red","handle":"51c3:","backlog":2884,"qlen":2,"drops":7,"marked":3}'
    text = f'[{red},{{"kind":"clsact","handle":"ffff:"}}]'
    assert read(5, text) == [Depth(5, "51c3:", 2_884, 2, 7, 3), Depth(5, "ffff:", 0, 0, 0, 0)]
    assert read(5, "") == []
