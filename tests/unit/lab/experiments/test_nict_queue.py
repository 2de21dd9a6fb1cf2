"""NICT's queue study: rows from figures that are made up, and the queues that its inventories make."""

from __future__ import annotations

import re

import pytest

from slotcar.network import load_network
from slotcar.views.configurations import configurations_at
from slotcar_lab.experiments import nict_queue
from slotcar_lab.experiments.model import Verdict
from slotcar_lab.experiments.nict_af import Ran
from slotcar_lab.experiments.nict_queue import COMMITTED_BPS, LINK_BPS, QUEUES_MS, TRANSFERS
from tests.support.requests import T0

AS_THE_PAPER, PROMISED, DIFFERS = Verdict.AS_THE_PAPER, Verdict.AS_PROMISED, Verdict.DIFFERS
LIMIT = re.compile(r"qdisc dev eth1 .*limit (\d+)b .*DP 1 ")


def runs(proposed: tuple[float, ...], newreno: float) -> dict[tuple[str, int, nict_queue.Transfer], Ran]:
    """Per cent of the committed rate by the queue's length, both round trips alike."""
    by_queue = dict(zip(QUEUES_MS, proposed, strict=True))
    return {
        (method, queue_ms, one): Ran(COMMITTED_BPS * (part if method == "proposed" else newreno) / 100, 3)
        for method in nict_queue.METHODS
        for queue_ms, part in by_queue.items()
        for one in TRANSFERS
    }


def verdicts(proposed: tuple[float, ...], newreno: float) -> list[Verdict]:
    return [row.verdict for row in nict_queue._rows(runs(proposed, newreno))]


def test_a_queue_that_is_long_enough_is_as_the_paper() -> None:
    assert verdicts((90, 99, 99, 99), 80) == [AS_THE_PAPER, AS_THE_PAPER, AS_THE_PAPER, PROMISED, PROMISED]
    assert [row.ours for row in nict_queue._rows(runs((90, 99, 99, 99), 80))] == pytest.approx(
        [99, 0, 9, 25, 8000 / 90]
    )


def test_a_sender_that_needs_no_queue_differs_and_so_does_one_that_always_does() -> None:
    assert verdicts((99, 99, 99, 99), 99) == [AS_THE_PAPER, AS_THE_PAPER, DIFFERS, PROMISED, DIFFERS]
    assert verdicts((90, 90, 90, 90), 80)[:4] == [DIFFERS, AS_THE_PAPER, DIFFERS, DIFFERS]


def test_what_is_taken_beyond_the_rate_is_not_the_reservation_s() -> None:
    assert nict_queue.percent(Ran(2 * COMMITTED_BPS, 0)) == 100


@pytest.mark.parametrize("queue_ms", QUEUES_MS)
def test_each_inventory_s_queue_is_as_long_as_its_name_says(queue_ms: int) -> None:
    network = load_network(nict_queue.inventory(queue_ms))
    lines = configurations_at((), network, T0)["near"].lines
    (limit,) = {int(match[1]) for match in map(LIMIT.match, lines) if match}
    assert limit == max(30_000, LINK_BPS // 8 * queue_ms // 1_000)


def test_the_plot_has_a_curve_for_each_method_and_round_trip() -> None:
    plot = nict_queue._plot(runs((90, 99, 99, 99), 80))
    assert [curve.name for curve in plot.curves] == [
        "proposed, 20 ms", "proposed, 100 ms", "newreno, 20 ms", "newreno, 100 ms"
    ]  # fmt: skip
    assert all(curve.x == tuple(map(float, QUEUES_MS)) for curve in plot.curves)
