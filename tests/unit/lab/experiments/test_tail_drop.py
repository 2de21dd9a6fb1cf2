"""Throughput by the tail-drop threshold: rows from figures that are made up, and the thresholds that are pushed."""

from __future__ import annotations

import re

import pytest

from slotcar.network import load_network
from slotcar.views.configurations import configurations_at
from slotcar_lab.experiments import tail_drop
from slotcar_lab.experiments.model import Verdict
from slotcar_lab.experiments.tail_drop import LINE_BPS, THRESHOLDS, Parts
from tests.support.requests import T0

AS_THE_PAPER, PROMISED, DIFFERS = Verdict.AS_THE_PAPER, Verdict.AS_PROMISED, Verdict.DIFFERS
MOST = re.compile(r"qdisc dev eth1 parent 51c0:2\d .* max (\d+)b .* DP 1 ")


def parts(udp: float, *tcp: float) -> Parts:
    return Parts(dict.fromkeys(THRESHOLDS, udp), dict(zip(THRESHOLDS, tcp, strict=True)))


def verdicts(udp: float, *tcp: float) -> list[Verdict]:
    return [row.verdict for row in tail_drop._rows(parts(udp, *tcp))]


def test_a_threshold_below_tcp_s_bursts_costs_it_its_rate() -> None:
    assert verdicts(99.5, 40, 70, 90, 95, 96, 96) == [AS_THE_PAPER, AS_THE_PAPER, AS_THE_PAPER, PROMISED]
    assert tail_drop._rows(parts(99.5, 40, 70, 90, 95, 96, 96))[0].ours == pytest.approx(4000 / 96)


def test_a_threshold_that_does_not_matter_differs_and_so_does_one_that_hurts() -> None:
    assert verdicts(99.5, 95, 95, 95, 95, 95, 95) == [DIFFERS, AS_THE_PAPER, AS_THE_PAPER, PROMISED]
    assert verdicts(90.0, 40, 90, 60, 95, 70, 70) == [AS_THE_PAPER, DIFFERS, DIFFERS, DIFFERS]
    assert tail_drop.falls([40, 90, 60, 95, 70, 70]) == 2


def test_the_sub_queues_differ_by_their_threshold() -> None:
    network = load_network(tail_drop.HERE / "inventory")
    lines = configurations_at((), network, T0)["near"].lines
    pushed = [int(match[1]) for match in map(MOST.match, lines) if match]
    assert pushed == [LINE_BPS // 80 * one // 100 for one in THRESHOLDS]


def test_the_plot_has_both_protocols() -> None:
    plot = tail_drop._plot(parts(99.5, 40, 70, 90, 95, 96, 96))
    assert [len(curve.x) for curve in plot.curves] == [len(THRESHOLDS)] * 2
