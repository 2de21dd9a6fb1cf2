"""What an operator did with the database dead is in the audit log once a controller leads again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Caller, Role
from slotcar.cli.rolling_back import RollbackDesk
from slotcar.desk.desk import Desk
from slotcar.network import load_network
from slotcar.planning.errors import NotPossible
from slotcar.rollout.archive import Archive
from slotcar.rollout.holding import Removal, holds_of
from slotcar.rollout.unrecorded import keep_unrecorded, record_kept
from slotcar.store import Ledger
from slotcar_client.wire.events import DeviceHeld, PushRolledBack
from tests.support.requests import at

LAB = Path(__file__).resolve().parents[3] / "inventories" / "lab"
EDGE, HUB = "anl-edge", "esnet-hub"
OPERATOR = Caller("ops", Role.OPERATOR)


def test_a_rollback_without_a_ledger_is_recorded_later_at_its_own_time(ledger: Ledger, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "state")
    record_kept(archive, ledger)
    keep_unrecorded(archive, PushRolledBack(by="operator", message="to baseline"), ["r1", "r2"], at(5))
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

    def roll_back() -> dict[str, Removal]:
        pushed.append("anl-edge")
        return {"anl-edge": Removal(["hep/cms"])}

    desk = RollbackDesk(Settings(state_dir=tmp_path), load_network(LAB), until=None)
    desk.hold_and(roll_back, ["anl-edge"], "taken back")
    assert pushed == ["anl-edge"]
    kept = [json.loads(file.read_text()) for file in sorted(Archive(tmp_path).unrecorded.glob("*.json"))]
    assert [(one["kind"], one["device"]) for one in kept] == [
        ("push.rolled-back", "anl-edge"),
        (DeviceHeld.kind, "anl-edge"),
    ]


def removed(ledger: Ledger) -> dict[str, tuple[str, ...]]:
    return {name: hold.removed for name, hold in holds_of(ledger, datetime.now(UTC)).items()}


def test_rollbacks_after_each_other_add_up_by_router_where_nobody_led(ledger: Ledger, tmp_path: Path) -> None:
    """The next leader leaves the routers alone, and would tell what the first one took as in place."""
    ledger.record(DeviceHeld(actor="ops", removed=("r-before",)), at(0), device=EDGE)
    archive = Archive(tmp_path)
    desk = RollbackDesk(Settings(state_dir=tmp_path), load_network(LAB), until=None)
    both = {EDGE: Removal(["r-a"], ["r-b"]), HUB: Removal(["r-a"], ["r-b"])}
    desk._without_ledger(lambda: both, [EDGE, HUB], "taken back: a")
    desk._without_ledger(lambda: {EDGE: Removal(["r-b"])}, [EDGE], "taken back: b")
    record_kept(archive, ledger)
    assert removed(ledger) == {EDGE: ("r-a", "r-b", "r-before"), HUB: ("r-a",)}
    desk._without_ledger(lambda: {EDGE: Removal([], ["r-a"])}, [EDGE], "brought back: a")
    record_kept(archive, ledger)
    assert removed(ledger) == {EDGE: ("r-b", "r-before"), HUB: ("r-a",)}


def test_a_rollback_with_a_ledger_again_records_the_holds_of_earlier_ones_first(
    ledger: Ledger, database_url: str, tmp_path: Path
) -> None:
    """Else the next leader would put the earlier hold, with its end, over the later one."""
    settings, network = Settings(state_dir=tmp_path, database_url=database_url), load_network(LAB)
    soon = datetime.now(UTC) + timedelta(hours=1)
    RollbackDesk(settings, network, soon)._without_ledger(lambda: {EDGE: Removal(["r-a"])}, [EDGE], "taken back: a")
    RollbackDesk(settings, network, None).hold_and(lambda: {EDGE: Removal(["r-b"])}, [EDGE], "taken back: b")
    record_kept(Archive(tmp_path), ledger)
    hold = holds_of(ledger, datetime.now(UTC))[EDGE]
    assert (hold.reason, hold.until, hold.removed) == ("taken back: b", None, ("r-a", "r-b"))


def test_two_events_of_one_device_at_one_instant_are_both_kept(ledger: Ledger, tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    for message in ("one", "two"):
        keep_unrecorded(archive, PushRolledBack(by="operator", message=message), [EDGE], at(5))
    record_kept(archive, ledger)
    assert [event.details["message"] for event in ledger.events(limit=9)] == ["one", "two"]


def test_rollbacks_after_each_other_add_up_by_router_until_it_is_pushed_to(ledger: Ledger, tmp_path: Path) -> None:
    holder = Desk(ledger, load_network(LAB), Settings(state_dir=tmp_path)).held_routers

    def take(*handles: str, leave: tuple[str, ...] = ()) -> None:
        done = {EDGE: Removal(handles, leave)}
        holder.while_held([EDGE], "a rollback", OPERATOR, datetime.now(UTC), None, lambda: done)

    def fail() -> dict[str, Removal]:
        raise NotPossible("it does not answer")

    take("r-a")
    take("r-b")
    assert removed(ledger) == {EDGE: ("r-a", "r-b")}
    take(leave=("r-a",))
    assert removed(ledger) == {EDGE: ("r-b",)}, "it brought it back"
    holder.hold(EDGE, OPERATOR, datetime.now(UTC), None, "a fan")
    assert removed(ledger) == {EDGE: ("r-b",)}, "an operator who holds it anew pushes nothing"
    holder.release(EDGE, OPERATOR, datetime.now(UTC))
    with pytest.raises(NotPossible):
        holder.while_held([EDGE], "a rollback", OPERATOR, datetime.now(UTC), None, fail)
    assert removed(ledger) == {}
    take("r-c")
    assert removed(ledger) == {EDGE: ("r-b", "r-c")}, "nobody pushed to it since"
    holder.release(EDGE, OPERATOR, datetime.now(UTC))
    ledger.append_event("push.verified", datetime.now(UTC), device=EDGE)
    take("r-d")
    assert removed(ledger) == {EDGE: ("r-d",)}
