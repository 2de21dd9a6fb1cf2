"""The experiment of four assured classes: what it reads off a router, and what its rules say."""

from __future__ import annotations

from dataclasses import replace

from slotcar.network import load_network
from slotcar.views.configurations import configurations_at
from slotcar_lab.experiments import class_shares
from slotcar_lab.experiments.class_shares import FLOWS, LINE_BPS, SHARES, Got, rows_of, thresholds_in
from slotcar_lab.experiments.model import Verdict
from tests.support.requests import T0

PROMISED, DIFFERS = Verdict.AS_PROMISED, Verdict.DIFFERS
GOT = (
    Got("one", 4, 4.0, 380.0, 250.0, 500.0),
    Got("two", 4, 4.1, 400.0, 250.0, 500.0),
    Got("three", 4, 3.9, 150.0, 112.5, 225.0),
    Got("four", 16, 16.2, 90.0, 62.5, 125.0),
)


def test_the_classes_thresholds_are_found_in_what_is_pushed() -> None:
    network = load_network(class_shares.HERE / "inventory")
    lines = configurations_at((), network, T0)["near"].lines
    queue_bytes = LINE_BPS // 8 // 20  # 50 ms
    usual = queue_bytes * 20 // 100, queue_bytes * 40 // 100
    shorter = LINE_BPS * 3 // 800
    own = shorter * 15 // 100, shorter * 30 // 100
    assert thresholds_in(lines) == {0: usual, 1: usual, 2: own, 3: usual}


def test_every_class_sends_three_times_its_share() -> None:
    for flow, share in zip(FLOWS, SHARES.values(), strict=True):
        assert 2.9 < flow.rate_bps * 1_442 / 1_400 / (LINE_BPS * share / 100) <= 3


def test_the_rules_tell_shares_and_waits_of_their_own_from_others() -> None:
    assert [row.verdict for row in rows_of(GOT)] == [PROMISED] * 3
    too_much = replace(GOT[3], part=20.0)
    assert [row.verdict for row in rows_of((*GOT[:3], too_much))] == [DIFFERS, PROMISED, PROMISED]
    as_the_others = replace(GOT[2], wait_ms=390.0)
    assert [row.verdict for row in rows_of((*GOT[:2], as_the_others, GOT[3]))] == [PROMISED, DIFFERS, DIFFERS]
