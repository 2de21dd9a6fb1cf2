"""`slotcar usage` at a terminal of the controller's machine."""

from __future__ import annotations

from pathlib import Path

from slotcar.store import open_ledger
from tests.integration.api.test_counted import keep
from tests.integration.cli.conftest import Cli
from tests.integration.cli.test_backup import Write


def test_what_was_used_is_told_of_a_reservation_and_in_sums(
    cli: Cli, reservations: Write, database_url: str, tmp_path: Path
) -> None:
    assert cli("apply", reservations(), "--yes").code == 0
    entry = cli("status", "--all", "--format", "json").data["items"][0]
    name = f"{entry['reservation']['owner']}/{entry['reservation']['name']}"
    unknown = cli("usage", name)
    assert "unknown: nothing of this time was read of it" in unknown.out
    with open_ledger(database_url, tmp_path / "ledger") as ledger:
        keep(ledger, entry["number"], 30_000)
    shown = cli("usage", name)
    assert shown.code == 0, shown
    assert "in all" in shown.out
    assert "120 kB (80 %)" in shown.out
    sums = cli("usage", "--by", "domain")
    assert sums.code == 0, sums
    assert "120 kB" in sums.out
    assert "Nothing that was counted is unused." in cli("usage", "--unused").out


def test_what_cannot_be_asked_is_refused(cli: Cli) -> None:
    assert "say one of RESERVATION, --by" in cli("usage", "hep/x", "--unused").err
    assert "is nothing to sum by" in cli("usage", "--by", "moon").err
    assert "say DEVICE:INTERFACE" in cli("usage", "--link", "anl-edge").err
    assert "is none of anl-edge" in cli("usage", "--link", "anl-edge:eth99").err
