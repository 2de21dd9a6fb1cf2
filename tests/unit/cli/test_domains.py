"""What `slotcar domains` makes of files, and of a controller's answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.cli import domains
from tests.support.checkout import ROOT

GROUP = """\
version: 1
defaults: {owner: hep}
together:
  - name: both
    start: now + 1 h
    duration: 1 h
    members:
      - name: one
        network:
          {source: anl-premium, destination: lbnl-premium, protocol: udp, service: ip-premium, rate: 1 Mbit/s}
"""
FLOW = (
    "{name: x, owner: hep, source: a, destination: b, protocol: udp, service: best-effort, start: now, duration: 1 h}"
)


def test_a_group_s_file_is_one_group_with_what_it_has_by_default(tmp_path: Path) -> None:
    file = tmp_path / "both.yml"
    file.write_text(GROUP)
    group = domains._group_of(file)
    assert group is not None
    assert (group["name"], group["owner"], [one["name"] for one in group["members"]]) == ("both", "hep", ["one"])


def test_a_reservation_s_file_is_no_group_and_one_of_both_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "one.yml"
    file.write_text(f"version: 1\nreservations:\n  - {FLOW}\n")
    assert domains._group_of(file) is None
    file.write_text(f"{GROUP}reservations:\n  - {FLOW}\n")
    with pytest.raises(InvalidInput, match="is to say one group and nothing beside it"):
        domains._group_of(file)


def test_what_remains_the_rates_the_parts_and_the_others_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    examples = ROOT / "controller" / "slotcar" / "api" / "examples"
    connection: Any = json.loads((examples / "connection_status.json").read_text())["answer"]
    volume = json.loads((examples / "report_connection.json").read_text())["answer"]["volume"]
    connection |= {
        "volume": volume | {"missing_bytes": 10**9}, "members": [connection["connection"], "anl-2"],
        "delays": [{"domain": "esnet", "delay_us": 20_000, "jitter_us": None}],
        "segments": [connection["segments"][0] | {"domain": "lbnl", "why": "its link is down"}],
    }  # fmt: skip
    domains._show(connection)
    shown = capsys.readouterr().out
    assert (
        "volume 15 GB of 20 GB remained at 2027-03-01T13:10:00Z, to be moved by 2027-03-01T16:00:00Z; 1 GB of it cannot"
        in shown
    )
    assert "slot   2027-03-01T13:00:00Z .. 2027-03-01T14:00:00Z  10 Mbit/s\n" in shown
    assert "lbnl: reserve-start, version 1 in force, at 2027-03-01T12:00:00Z: its link is down\n" in shown
    assert "group  with anl-2" in shown
    assert "esnet promises a delay of 20 ms at most" in shown


@pytest.mark.parametrize(
    ("forward_bps", "reverse_bps", "words"),
    [
        (10_000_000, 0, "  10 Mbit/s"), (0, 10_000_000, "  10 Mbit/s"), (10_000_000, 10_000_000, "  10 Mbit/s"),
        (10_000_000, 2_000_000, "  10 Mbit/s forward, 2 Mbit/s reverse"), (0, 0, ""),
    ],
)  # fmt: skip
def test_a_slot_is_shown_with_each_rate_that_it_has(forward_bps: int, reverse_bps: int, words: str) -> None:
    window = {"start": "2027-03-01T13:00:00Z", "end": "2027-03-01T14:00:00Z"}
    slot: Any = window | {"forward_bps": forward_bps, "reverse_bps": reverse_bps}
    assert domains._slot(slot) == f"{window['start']} .. {window['end']}{words}"
