"""QBSS over a long fat pipe: rows from figures that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotcar_lab.experiments.model import Verdict
from slotcar_lab.experiments.qbss_wan import Rates, rows_of

AS_THE_PAPER, PROMISED, DIFFERS, NOT_SHOWN = (
    Verdict.AS_THE_PAPER, Verdict.AS_PROMISED, Verdict.DIFFERS, Verdict.NOT_SHOWN,
)  # fmt: skip
RATES = Rates(alone=23.0, whole=23.2, beside=(23.0, 22.0, 22.8), after=(22.0, 21.0, 23.0))


def verdicts(rates: Rates) -> list[Verdict]:
    return [row.verdict for row in rows_of(rates)]


def test_qbss_that_fills_the_pipe_and_leaves_best_effort_whole_is_as_promised() -> None:
    assert verdicts(RATES) == [PROMISED, PROMISED, AS_THE_PAPER, AS_THE_PAPER, AS_THE_PAPER]
    rows = rows_of(RATES)
    assert [row.ours for row in rows[1:4]] == pytest.approx([2300 / 23.2, 6780 / 69.6, 2200 / 23.2])
    assert rows[2].note == "each 99, 95, 98"


def test_qbss_that_does_not_fill_it_or_takes_from_best_effort_differs() -> None:
    assert verdicts(replace(RATES, alone=15.0))[:2] == [DIFFERS, DIFFERS]
    assert verdicts(replace(RATES, beside=(23.0, 20.0, 22.8)))[2:4] == [DIFFERS, DIFFERS]
    assert verdicts(replace(RATES, after=(22.0, 10.0, 22.0)))[-1] is DIFFERS


def test_what_was_not_measured_is_not_shown() -> None:
    assert set(verdicts(Rates(None, None, (), ()))) == {NOT_SHOWN}
