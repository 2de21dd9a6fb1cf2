"""Rows and plots of A1's experiments from figures that are made up, and the streams that they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from slotcar_lab.experiments import a1_1, a1_2
from slotcar_lab.experiments.model import Verdict

AS_THE_PAPER, AS_PROMISED, DIFFERS = Verdict.AS_THE_PAPER, Verdict.AS_PROMISED, Verdict.DIFFERS
BLOCK = a1_1.NETWORK_BLOCK_BYTES


def rates(**largest: float) -> dict[tuple[str, int], float]:
    of_raw = {"raw": 18.5, "tcp": 18.0, "again": 17.9, "once": 18.2} | largest
    return {
        (how, size): rate * part
        for how, rate in of_raw.items()
        for size, part in ((32, 0.2), (BLOCK, 0.99), (BLOCK + 1, 0.95), (16_384, 1.0))
    }


def test_figure_1_is_judged_beside_raw_datagrams() -> None:
    rows = list(a1_1._rows(rates()))
    assert [row.verdict for row in rows] == [AS_THE_PAPER] * 6
    assert rows[2].ours == pytest.approx(100 * 18.2 / 18.5)
    assert [row.verdict for row in a1_1._rows(rates(again=18.3))][3] is DIFFERS
    assert [row.verdict for row in a1_1._rows(rates(once=9.0))][2:4] == [DIFFERS, DIFFERS]
    whole = {key: rate for key, rate in rates().items() if key != ("again", BLOCK + 1)}
    assert [row.verdict for row in a1_1._rows(whole | {("again", BLOCK + 1): whole["again", BLOCK] * 0.999})][
        5
    ] is DIFFERS


def test_figure_1_is_a_curve_for_each_way_to_send() -> None:
    plot = a1_1._plot(rates())
    assert [curve.name for curve in plot.curves] == list(a1_1.NAMES.values())
    assert all(curve.x == (32, BLOCK, BLOCK + 1, 16_384) for curve in plot.curves)


def test_what_is_sent_without_a_window_fits_the_line_with_its_headers() -> None:
    """The headers of each packet: Ethernet's 14, IPv4's 20, UDP's 8, and 8 of the library's."""
    assert a1_1.on_the_line_bytes("once", BLOCK) == 1_500 + 14
    assert a1_1.on_the_line_bytes("once", BLOCK + 1) == BLOCK + 1 + 2 * 50
    assert a1_1.on_the_line_bytes("raw", 1_472) == 1_514
    assert a1_1.on_the_line_bytes("raw", 1_473) == 1_473 + 8 + 2 * 34
    for stream in a1_1.schedule(100.0, a1_1.SIZES):
        how = "raw" if stream["how"] == "raw" else "once"
        line_bps = stream["rate_ps"] * 8 * a1_1.on_the_line_bytes(how, stream["size"]) / stream["size"]
        assert 0.98 * a1_1.LINE_BPS < line_bps < a1_1.LINE_BPS


def test_streams_follow_each_other_with_ports_of_their_own() -> None:
    streams = a1_1.schedule(100.0, (64, 128))
    assert [one["begin"] for one in streams] == [100.0 + 3.0 * number for number in range(8)]
    assert len({one["port"] for one in streams}) == 8


def results(age_s: float = 0.09, requests: int = 0, wrong: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    at = [number / 100 for number in range(600)]
    changed = [(n / 100, 0.0) for n in range(200)] + [(2 + n / 25, 0.0) for n in range(50)]
    changed += [(4 + n / 50, 0.0) for n in range(100)]
    arrivals: Mapping[str, list[tuple[float, float]]] = {
        "newest": [(one, age_s) for one in at], "window": [(one, one) for one in at], "changed": changed,
        "urgent": [(one, 0.01) for one in at], "alike": [(one, 0.2) for one in at], "fast": [], "slow": [],
        "checked": [(one, 0.0) for one in at[:570]], "unchecked": [(one, 0.0) for one in at[:595]],
    }  # fmt: skip
    received = {name: {"arrivals": ages, "wrong": 0, "dropped": 7} for name, ages in arrivals.items()}
    received["unchecked"]["wrong"], received["checked"]["wrong"] = 25, wrong
    sent = {name: {"sent": 600, "until_s": 6.0, "changes": 2, "asked": requests} for name in arrivals}
    sent["fast"]["until_s"] = 1.02
    return sent, received


def test_each_option_is_judged_by_its_figure() -> None:
    rows = list(a1_2.rows(*results(), 6.0))
    assert {row.verdict for row in rows} == {AS_THE_PAPER, AS_PROMISED}
    assert rows[0].ours == pytest.approx(90)
    assert rows[0].note == "7 heads of the full queue were dropped"
    assert rows[4].note == "570 of 600 were delivered"


def test_an_option_that_does_nothing_differs() -> None:
    verdicts = {row.figure: row.verdict for row in a1_2.rows(*results(age_s=0.3, requests=1, wrong=3), 6.0)}
    assert [verdicts[rule.figure] for rule in (a1_2.NEWEST, a1_2.NOT_ASKED, a1_2.CHECKED)] == [DIFFERS] * 3


def test_the_plots_are_of_jitter_priority_and_change() -> None:
    _, received = results()
    jitter, sort, change = a1_2.plots(received, 6.0)
    assert [plot.slug for plot in (jitter, sort, change)] == ["jitter", "sort", "change"]
    assert change.curves[0].y[:8] == pytest.approx([100.0] * 8, rel=0.05)


def test_cases_have_ports_and_names_of_their_own() -> None:
    played = [one for _, cases in a1_2.cases(6.0) for one in cases]
    assert len({one["name"] for one in played}) == len({one["port"] for one in played}) == len(played) == 11
