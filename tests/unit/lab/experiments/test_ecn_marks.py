"""ECN by the mark denominator: which runs there are, and rows from figures that are made up."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from slotcar.network import load_network
from slotcar_lab.experiments import ecn, ecn_marks
from slotcar_lab.experiments.ecn import Ran
from slotcar_lab.experiments.ecn_marks import BOTH, FIRST, INVENTORIES, NEITHER, ONLY_SACK, Key, cases
from slotcar_lab.experiments.model import Verdict
from slotcar_lab.experiments.queues import Depth

AS_THE_PAPER, DIFFERS, NOT_SHOWN = Verdict.AS_THE_PAPER, Verdict.DIFFERS, Verdict.NOT_SHOWN
DROPPED = (Depth(0, "51c3:", 0, 0, 100, 0), Depth(50_000, "51c3:", 0, 0, 300, 0))
RAN = Ran((0.1,) * 100, (0.1,) * 20, 8e6, 190, (DROPPED,))
MEASURED_S = 12.0


def runs(**changed: dict[Key, Ran]) -> dict[Key, Ran]:
    counts = {NEITHER: 80, ONLY_SACK: 100, BOTH: 110}
    ran = {case: replace(RAN, keeping=(0.1,) * counts[case[2]]) for case in cases(smoke=False)}
    ran[10, 1, BOTH] = replace(RAN, keeping=(0.1,) * 125)
    ran[FIRST, 2, BOTH] = replace(RAN, received_bps=8.2e6)
    ran[FIRST, 1, NEITHER] = replace(RAN, keeping=(0.1,) * 80, retransmitted=210)
    return ran | changed.get("by", {})


def verdicts(ran: dict[Key, Ran]) -> list[Verdict]:
    return [row.verdict for row in ecn_marks._rows(ran, MEASURED_S)]


def test_gains_are_told_by_denominator_congestion_points_and_ends() -> None:
    rows = ecn_marks._rows(runs(), MEASURED_S)
    assert [row.ours for row in rows[:4]] == pytest.approx([110, 15, 102.5, 125])
    assert rows[0].note == (
        "one of 10: 125.0 %, 190 beside 190 segments again; one of 50: 110.0 %, 190 beside 190 segments again;"
        " one of 200: 110.0 %, 190 beside 190 segments again"
    )
    assert rows[5].ours == pytest.approx(100 * 190 / 210)
    assert verdicts(runs()) == [AS_THE_PAPER] * 6


def test_a_rule_that_does_not_hold_differs() -> None:
    without = {(200, 1, BOTH): replace(RAN, keeping=(0.1,) * 98)}
    assert verdicts(runs(by=without))[0] is DIFFERS
    alike = {(10, 1, BOTH): replace(RAN, keeping=(0.1,) * 110), (FIRST, 2, BOTH): replace(RAN, received_bps=7.9e6)}
    assert verdicts(runs(by=alike))[1:3] == [DIFFERS, DIFFERS]
    worse = {(FIRST, 1, ONLY_SACK): replace(RAN, keeping=(0.1,) * 81, received_bps=7.9e6, retransmitted=400)}
    assert verdicts(runs(by=worse))[3:] == [DIFFERS, DIFFERS, DIFFERS]


def test_a_short_run_shows_what_one_inventory_has() -> None:
    short = dict.fromkeys(cases(smoke=True), RAN)
    assert verdicts(short)[:3] == [NOT_SHOWN] * 3
    by_mark, by_ends = ecn_marks._plots(short)
    assert by_mark.curves[0].x == (50.0,)
    assert [curve.x for curve in by_ends.curves] == [(1.0,)] * 3


def test_what_transactions_move_is_counted_with_the_long_flows() -> None:
    assert ecn_marks.payload_bps(RAN, 12.0) == pytest.approx(8e6 + 120 * 64_000 / 12)


def test_the_inventories_differ_by_the_denominator_alone() -> None:
    for denominator, inventory in INVENTORIES.items():
        devices = load_network(inventory).devices.values()
        assert {device.options["mark_denominator"] for device in devices} == {denominator}


def test_the_queues_that_are_asked_are_those_of_the_path() -> None:
    devices = load_network(INVENTORIES[FIRST]).devices
    neighbours = [str(devices[router].interfaces[name].neighbour) for router, name in ecn.CONGESTED]
    assert neighbours == ["mid:eth1", "far:eth1"]


def test_runs_of_one_inventory_follow_each_other() -> None:
    denominators = [denominator for denominator, _, _ in cases(smoke=False)]
    changes = [after for before, after in pairwise(denominators) if after != before]
    assert [denominators[0], *changes] == [50, 10, 200]
