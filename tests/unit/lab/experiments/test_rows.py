"""Rows of experiments from figures that are made up: what they say where something is missing, or was never reached."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar_lab.experiments import ecn, emerge_3, loss_pattern, nict_af, nict_share, policer_burst
from slotcar_lab.experiments.ecn import Ran, Runs
from slotcar_lab.experiments.model import Rule, Verdict
from slotcar_lab.experiments.policer_burst import Point
from slotcar_lab.experiments.queues import Depth

AS_THE_PAPER, DIFFERS, NOT_SHOWN = Verdict.AS_THE_PAPER, Verdict.DIFFERS, Verdict.NOT_SHOWN


def depths(*queued_packets: int) -> tuple[Depth, ...]:
    return tuple(Depth(n * 50_000, "51c3:", 1_500 * one, one, 0, 0) for n, one in enumerate(queued_packets))


WITHOUT = Ran((0.1,) * 100, (0.1,) * 40, 20e6, 200, (depths(100, 10, 90, 12),))
WITH = Ran((0.1,) * 110, (0.1,) * 30 + (1.2,), 20e6, 10, (depths(50, 40, 45, 95),))
ONE: Runs = {(1, False): WITHOUT, (1, True): WITH}
TWO: Runs = ONE | {
    (2, False): replace(WITHOUT, depths=(*WITHOUT.depths, depths(3, 5))),
    (2, True): replace(WITH, keeping=(0.1,) * 105, depths=(*WITH.depths, depths(4, 4))),
}


def verdicts(runs: Runs) -> list[Verdict]:
    return [row.verdict for row in ecn._rows(runs)]


def test_ecn_gains_less_behind_two_congestion_points_than_behind_one() -> None:
    rows = ecn._rows(TWO)
    assert [row.ours for row in rows[:3]] == [pytest.approx(110), pytest.approx(105), pytest.approx(77.5)]
    assert verdicts(TWO) == [AS_THE_PAPER, DIFFERS, DIFFERS, AS_THE_PAPER, AS_THE_PAPER, AS_THE_PAPER]
    assert rows[2].note == "31 with, 1 of them above 1 s; 40 without, 0 of them above 1 s"


def test_what_ecn_was_not_measured_by_is_not_shown() -> None:
    assert verdicts(ONE)[:2] == [AS_THE_PAPER, NOT_SHOWN]
    blind: Runs = {key: replace(ran, depths=((),)) for key, ran in ONE.items()}
    assert verdicts(blind)[-1] is NOT_SHOWN
    assert all(not plot.curves for plot in ecn._plots(blind))


def test_every_congested_queue_has_its_histogram() -> None:
    plots = ecn._plots(TWO)
    assert [plot.slug for plot in plots] == ["histogram", "histogram-near", "histogram-mid", "queue"]
    assert all(len(plot.curves) == 2 for plot in plots)
    assert all(sum(curve.y) == pytest.approx(100) for plot in plots[:3] for curve in plot.curves)


def test_routers_of_ecns_network_drop_one_of_fifty() -> None:
    network = load_network(Path(ecn.__file__).parent / "inventory")
    assert {device.options["mark_denominator"] for device in network.devices.values()} == {50}


@pytest.mark.parametrize(
    ("parts", "knee"),
    [
        ((0.2, 0.96, 1.0), 400.0),
        ((0.2, 0.96, 0.9), inf),
        ((1.0, 0.5, 1.0), 600.0),
        ((1.0, 1.0, 1.0), 200.0),
        ((), None),
    ],
)
def test_a_knee_is_where_every_larger_burst_is_enough(parts: tuple[float, ...], knee: float | None) -> None:
    points = [Point(f"tcp-{n}", 200_000 * n, part) for n, part in enumerate(parts, 1)]
    assert policer_burst._knee(points) == knee
    judged = policer_burst.RULES["tcp-knee"].judge(knee).verdict
    assert judged is {
        400.0: AS_THE_PAPER, 600.0: AS_THE_PAPER, 200.0: DIFFERS, inf: DIFFERS, None: NOT_SHOWN,
    }[knee]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "ours", "beside", "verdict"),
    [
        (loss_pattern.SMALL, 0.3, 0.0, AS_THE_PAPER),
        (loss_pattern.SMALL, 2.38, 0.0, DIFFERS),
        (loss_pattern.BURSTY, 2.0, 0.0, DIFFERS),
        (policer_burst.RULES["starved"], 51.9, 0.0, DIFFERS),
        (policer_burst.RULES["udp-knee"], 10.2, 0.0, AS_THE_PAPER),
        (policer_burst.RULES["udp-knee"], 20.4, 0.0, DIFFERS),
        (nict_af.FIXED, 94.0, 98.6, AS_THE_PAPER),
        (nict_af.FIXED, 88.4, 98.6, DIFFERS),
        (nict_af.NEWRENO, 80.0, 94.8, AS_THE_PAPER),
        (nict_af.NEWRENO, 93.1, 88.4, DIFFERS),
        (nict_share.SAVED, 11.8, 18.0, DIFFERS),
    ],
)
def test_a_rule_holds_at_what_the_paper_prints_and_not_at_what_is_far_from_it(
    rule: Rule, ours: float, beside: float, verdict: Verdict
) -> None:
    assert rule.judge(ours, beside).verdict is verdict


def test_a_stream_of_which_nothing_arrived_is_as_late_as_can_be() -> None:
    assert emerge_3._median_ms(()) == 3_000
