"""UDP and TCP over the WAN: which runs there are, and rows from figures that are made up."""

from __future__ import annotations

import pytest

from slotcar_lab.experiments import wan_throughput
from slotcar_lab.experiments.model import Verdict
from slotcar_lab.experiments.wan_throughput import AMSTERDAM, CERN, KIB, LARGE, SPACINGS, USUAL, WAYS, Sent, Way, cases

AS_THE_PAPER, DIFFERS, NOT_SHOWN = Verdict.AS_THE_PAPER, Verdict.DIFFERS, Verdict.NOT_SHOWN
Rates = dict[tuple[Way, int, int], float]


def by_window() -> Rates:
    """What a window each round trip gives, up to nearly the line; with small buffers, what the paper's hosts had."""
    rates = {}
    for way in WAYS:
        for buffer_bytes, streams in cases(way, smoke=False):
            own = 8e-3 * buffer_bytes / way.rtt_ms
            rates[way, buffer_bytes, streams] = min(streams * own, 0.96 * way.line_mbps)
    return rates | {(CERN, USUAL, 12): 12 * 15.0}


def datagrams(lost_percent: float = 0.0, close: float = 1.0, most: float = 0.95) -> dict[Way, list[Sent]]:
    def mbps(way: Way, spacing: float) -> float:
        return way.line_mbps * most * (close if spacing < 1 else 1 / max(1.0, spacing))

    return {way: [Sent(1_472, one, mbps(way, one), lost_percent) for one in SPACINGS] for way in WAYS}


def verdicts(sent: dict[Way, list[Sent]], rates: Rates) -> list[Verdict]:
    return [row.verdict for row in wan_throughput._rows(sent, rates)]


def test_the_paper_s_own_figures_are_as_the_paper() -> None:
    rows = wan_throughput._rows(datagrams(), by_window())
    assert {row.verdict for row in rows} == {AS_THE_PAPER, Verdict.AS_PROMISED}
    assert [round(row.ours or 0) for row in rows[3:7]] == [579, 392, 2, 24]


def test_figures_far_from_the_paper_s_differ() -> None:
    assert verdicts(datagrams(lost_percent=2, close=0.5, most=0.9), by_window())[:3] == [DIFFERS, DIFFERS, DIFFERS]
    slow = {key: rate * 0.7 for key, rate in by_window().items()}
    assert verdicts(datagrams(), slow)[3:5] == [DIFFERS, DIFFERS]
    linear = by_window() | {(CERN, USUAL, 9): 120.0, (CERN, USUAL, 12): 290.0, (CERN, LARGE, 7): 300.0}
    assert verdicts(datagrams(), linear)[-3:] == [DIFFERS, DIFFERS, DIFFERS]


def test_a_short_run_shows_one_stream() -> None:
    kept = {(way, *case) for way in WAYS for case in cases(way, smoke=True)}
    short = {key: rate for key, rate in by_window().items() if key in kept}
    assert verdicts({way: ones[:2] for way, ones in datagrams().items()}, short)[-3:] == [NOT_SHOWN] * 3


def test_a_knee_is_where_no_larger_buffer_gives_a_tenth_more() -> None:
    assert wan_throughput.knee_mib(by_window(), AMSTERDAM) == 2
    lower = by_window() | {(AMSTERDAM, 2_048 * KIB, 1): 579.0, (AMSTERDAM, 4_096 * KIB, 1): 560.0}
    assert wan_throughput.knee_mib(lower, AMSTERDAM) == 1


def test_a_frame_of_the_paper_takes_what_it_prints() -> None:
    """§9.1.2: 1472 bytes take about 21 us at the 570 Mb/s of Manchester to RAL."""
    ral = Way("Manchester to RAL", "source-a", "sink-a", 570, 1.0)
    assert wan_throughput.frame_us(1_472, ral) == pytest.approx(21, rel=0.02)


def test_plots_are_by_spacing_buffer_and_streams() -> None:
    spacing, buffers, streams = wan_throughput._plots(datagrams(), by_window())
    assert spacing.curves[0].x[1] == pytest.approx(SPACINGS[1] * 1_514 * 8 / 750)
    assert [curve.x[0] for curve in buffers.curves] == [64.0, 64.0]
    assert [curve.x for curve in streams.curves] == [(1.0, 5.0, 7.0, 9.0, 12.0)] * 2
