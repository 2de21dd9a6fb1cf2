"""The rows of `slotcar audit`."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from slotcar.cli.auditing import _month, _rows
from slotcar.measuring.audits.words import FIGURES


def hour(start: int, packets: int = 0) -> dict[str, Any]:
    figure = {"verdict": "unknown", "low": None, "high": None, "error": None, "reason": "nobody measured it"}
    return {
        "start": f"2027-03-01T{start:02}:00:00Z", "end": f"2027-03-01T{start + 1:02}:00:00Z", "verdict": "unknown",
        "source": "", "destination": "", "sent_packets": packets, **dict.fromkeys(FIGURES, figure),
    }  # fmt: skip


def test_hours_in_a_row_of_which_the_same_is_to_be_said_are_one_row() -> None:
    times = [row[0] for row in _rows([hour(1), hour(2), hour(3, packets=7), hour(4), hour(6)])]
    assert times == [
        "2027-03-01T01:00:00Z to 2027-03-01T03:00:00Z",
        "2027-03-01T03:00:00Z to 2027-03-01T04:00:00Z",
        "2027-03-01T04:00:00Z to 2027-03-01T05:00:00Z",
        "2027-03-01T06:00:00Z to 2027-03-01T07:00:00Z",
    ], "between 5 and 6 the SLS promised nothing"


def test_a_month_that_has_not_begun_has_no_report() -> None:
    with pytest.raises(typer.BadParameter, match="9999-01 has not begun"):
        _month("9999-01")
