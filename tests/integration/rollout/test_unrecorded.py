"""What an operator did with the database dead is in the audit log once a controller leads again."""

from __future__ import annotations

from pathlib import Path

from slotcar.ledger import Ledger
from slotcar.rollout.archive import Archive
from slotcar.rollout.unrecorded import keep_unrecorded, record_kept
from tests.support.requests import at


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
