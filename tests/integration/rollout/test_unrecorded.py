"""What an operator did with the database dead is in the audit log once a controller leads again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slotcar.cli.rolling_back import RollbackDesk
from slotcar.ledger import Ledger
from slotcar.network import load_network
from slotcar.rollout.archive import Archive
from slotcar.rollout.holding import HELD
from slotcar.rollout.unrecorded import keep_unrecorded, record_kept
from slotcar.settings import Settings
from tests.support.requests import at

LAB = Path(__file__).resolve().parents[3] / "inventories" / "lab"


def test_a_rollback_without_a_ledger_is_recorded_later_at_its_own_time(ledger: Ledger, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "state")
    record_kept(archive, ledger)
    keep_unrecorded(archive, "push.rolled-back", ["r1", "r2"], at(5), {"by": "operator", "message": "to baseline"})
    (archive.unrecorded / "0.json").write_text("half")
    record_kept(archive, ledger)
    record_kept(archive, ledger)
    events = [event for event in ledger.events(limit=100) if event.kind == "push.rolled-back"]
    assert [(event.at, event.device, event.details["message"]) for event in events] == [
        (at(5), "r1", "to baseline"),
        (at(5), "r2", "to baseline"),
    ]
    assert [one.name for one in archive.unrecorded.iterdir()] == ["0.unreadable"]


@pytest.mark.parametrize("lost", ["postgres", "postgres/postmaster.pid"])
def test_a_rollback_is_made_and_kept_beside_what_a_lost_database_left(
    tmp_path: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain file in the place of its folder; a pid file that a full disk cut off."""
    monkeypatch.delenv("SLOTCAR_DATABASE_URL", raising=False)
    (tmp_path / lost).parent.mkdir(exist_ok=True)
    (tmp_path / lost).write_text("4711\n/lo")
    pushed = []

    def roll_back() -> dict[str, list[str]]:
        pushed.append("anl-edge")
        return {"anl-edge": ["hep/cms"]}

    desk = RollbackDesk(Settings(state_dir=tmp_path), load_network(LAB), until=None)
    desk.hold_and(roll_back, ["anl-edge"], "taken back")
    assert pushed == ["anl-edge"]
    kept = [json.loads(file.read_text()) for file in sorted(Archive(tmp_path).unrecorded.glob("*.json"))]
    assert [(one["kind"], one["device"]) for one in kept] == [("push.rolled-back", "anl-edge"), (HELD, "anl-edge")]
