"""What the controller that leads says of slots, against what emulated routers have; and what every face makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.book.model import Entry
from slotcar.book.rules.roles import Caller, Role
from slotcar.book.slot_now import SlotNow, SlotState
from slotcar.cli.session import actor
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.logs import Logs
from slotcar.desk.overview import Overview
from slotcar.desk.requests import Requests
from slotcar.desk.reservations import cancel
from slotcar.recovery.rollback import BASELINE
from slotcar.reservation import from_mapping
from slotcar.rollout import verifying
from slotcar.rollout.check_requests import ask_check, wait_for_answer
from slotcar.rollout.verifying import RECENT
from slotcar.store import Ledger
from slotcar.views.phases import NOT_GIVEN, Phase
from slotcar.views.timeline import TimelineQuery
from slotcar_client.wire import verbs
from slotcar_lab.ios import Routers
from tests.integration.rollout.test_machine_faults import leading, settled
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.command_line import Cli, in_this_process
from tests.support.patience import PATIENCE_S, wait_for

#: Of the path of a flow from ANL to LBNL the first router alone has lines for it.
FIRST, OTHER = "anl-7507-1", "lbnl-7507"
OPERATOR = Caller("ops", Role.OPERATOR)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CiscoWorld]:
    # However quick the machine, no reading is so recent that a router is not asked again.
    monkeypatch.setattr(verifying, "RECENT", timedelta())
    with Routers() as routers:
        yield CiscoWorld(routers, tmp_path, ROOT / "inventories" / "garnet", answer_s=3)


def reserve(desk: Desk, port: int, **more: str) -> Entry:
    now = datetime.now(UTC)
    document = {
        "name": f"n{port}", "owner": "hep", "source": "anl-premium", "destination": f"lbnl-premium:{port}",
        "protocol": "udp", "service": "ip-premium", "rate": "1 Mbit/s", "start": now.isoformat(), "duration": "1 h",
    }  # fmt: skip
    return Requests(desk).create(from_mapping(document | more, now), OPERATOR, now)


def slot_of(desk: Desk, entry: Entry) -> SlotNow:
    (one,) = Entries(desk).with_slots([Entries(desk).status(entry.handle, OPERATOR)], OPERATOR, datetime.now(UTC))
    assert one.slot is not None
    return one.slot


def states_of(slot: SlotNow) -> dict[str, str]:
    return {one.device: one.state.value for one in slot.devices}


def test_a_slot_is_in_place_once_its_routers_were_read_back_and_ended_once_they_were_again(
    world: CiscoWorld, ledger: Ledger
) -> None:
    with leading(world, ledger) as (loop, failures):
        desk = Desk(ledger, world.network, world.settings)
        wait_for(settled(loop), "the routers to have what is wanted")
        asked_at = datetime.now(UTC)
        entry = reserve(desk, 5001)
        assert slot_of(desk, entry).state in (SlotState.UNKNOWN, SlotState.IN_PLACE), "nobody has seen it, or has"
        wait_for(lambda: slot_of(desk, entry).state is SlotState.IN_PLACE, "it to be in place")
        assert " 5001" in world.running()[FIRST]
        slot = slot_of(desk, entry)
        assert slot.since is not None
        assert set(states_of(slot)) == entry.devices
        reads = {name: at for name, at in loop.status.read_at.items() if name in entry.devices}
        assert min(reads.values()) >= asked_at - RECENT, "all of its path were asked, also those with nothing to do"

        start = entry.reservation.start
        (item,) = Logs(desk).timeline(TimelineQuery(start, start), OPERATOR, datetime.now(UTC))
        phases = {one.device: one.phase for one in item.devices}
        assert phases[FIRST] is Phase.ACTIVE
        assert phases[OTHER] is Phase.UNCHANGED
        assert [(one.name, one.state) for one in item.states] == [("hep/n5001", SlotState.IN_PLACE)]

        cancel(verbs.Cancel(entry.handle), desk, OPERATOR, datetime.now(UTC))
        wait_for(lambda: slot_of(desk, entry).state is SlotState.ENDED, "it to be seen to be gone")
        assert " 5001" not in world.running()[FIRST]
        events = ledger.events(limit=1000, handle=entry.handle)
        of_slot = [
            (one.kind, one.details["owner"], one.details["name"]) for one in events if one.kind.startswith("slot.")
        ]
        assert of_slot == [("slot.in-place", "hep", "n5001"), ("slot.ended", "hep", "n5001")]
        assert failures == []


@pytest.mark.slow  # in short: what is withheld and why, in tests/unit/views/test_slot_states.py
def test_a_router_that_is_dead_and_has_nothing_to_do_keeps_the_slot_from_all(
    world: CiscoWorld, ledger: Ledger
) -> None:
    """Nobody asked it before a start, where none of its lines change."""
    with leading(world, ledger) as (loop, _):
        view = Overview(Desk(ledger, world.network, world.settings))
        desk = view.desk
        wait_for(settled(loop), "the routers to have what is wanted")
        world.routers[OTHER].kill()
        entry = reserve(desk, 5001)
        wait_for(lambda: slot_of(desk, entry).state is SlotState.WITHHELD, "it to be withheld")
        assert " 5001" not in world.running()[FIRST]
        slot = slot_of(desk, entry)
        assert states_of(slot)[OTHER] == "failed"
        assert f"{OTHER}: it takes no push" in slot.why
        assert OTHER in loop.status.troubles, "/readyz says so too"
        requester = Caller("hep", Role.REQUESTER, owner="hep")
        (own,) = Entries(desk).with_slots(
            [Entries(desk).status(entry.handle, requester)], requester, datetime.now(UTC)
        )
        assert own.slot is not None
        assert own.slot.why == f"{OTHER}: it takes no push", "its own words are the operators'"
        world.routers[OTHER].revive()
        ask_check(ledger, [OTHER], "tester", datetime.now(UTC))
        wait_for(lambda: slot_of(desk, entry).state is SlotState.IN_PLACE, "it to be in place")
        start = entry.reservation.start
        (item,) = Logs(desk).timeline(TimelineQuery(start, start), OPERATOR, datetime.now(UTC))
        assert NOT_GIVEN.isdisjoint({one.phase for one in item.devices}), "it is withheld no more"


@pytest.mark.slow  # in short: by a rollback on the command line, below
def test_a_slot_is_rolled_back_or_withheld_by_whoever_holds_a_router(world: CiscoWorld, ledger: Ledger) -> None:
    with leading(world, ledger) as (loop, _):
        desk = Desk(ledger, world.network, world.settings)
        wait_for(settled(loop), "the routers to have what is wanted")
        first = reserve(desk, 5001)
        wait_for(lambda: slot_of(desk, first).state is SlotState.IN_PLACE, "it to be in place")
        desk.held_routers.roll_back(FIRST, BASELINE, OPERATOR, datetime.now(UTC))
        slot = slot_of(desk, first)
        assert (slot.state, states_of(slot)[FIRST]) == (SlotState.ROLLED_BACK, "rolled-back")
        second = reserve(desk, 5002)
        wait_for(lambda: slot_of(desk, second).state is SlotState.WITHHELD, "the other to be withheld")
        assert "held by ops" in slot_of(desk, second).why
        assert slot_of(desk, first).state is SlotState.ROLLED_BACK
        desk.held_routers.release(FIRST, OPERATOR, datetime.now(UTC))
        for one in (first, second):
            wait_for(lambda one=one: slot_of(desk, one).state is SlotState.IN_PLACE, "both to be in place")
        assert {"5001", "5002"} <= set(world.running()[FIRST].split())


@pytest.fixture
def slotcar(
    world: CiscoWorld, database_url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Cli:
    """The command line beside the controller."""
    settings = {"STATE_DIR": world.settings.state_dir, "INVENTORY": world.inventory, "DATABASE_URL": database_url}
    for name, value in settings.items():
        monkeypatch.setenv(f"SLOTCAR_{name}", str(value))
    return in_this_process(monkeypatch, capfd)


def ports(world: CiscoWorld) -> set[str]:
    return {"5001", "5002", "5003"} & set(world.running()[FIRST].split())


def looked_at(ledger: Ledger) -> str:
    """What the leader says of the router once it has looked at it and done what it does."""
    answer = wait_for_answer(ledger, ask_check(ledger, [FIRST], "tester", datetime.now(UTC)), PATIENCE_S)
    assert answer is not None
    return str(answer.details["failed"].get(FIRST, ""))


def test_a_rollback_on_the_command_line_takes_one_reservation_and_holds(
    world: CiscoWorld, ledger: Ledger, slotcar: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came with it at the same boundary stays; whoever leads, or leads next, leaves the router alone."""
    start = datetime.now(UTC).isoformat()
    with leading(world, ledger) as (loop, _):
        desk = Desk(ledger, world.network, world.settings)
        wait_for(settled(loop), "the routers to have what is wanted")
        entries = [reserve(desk, port, start=start) for port in (5001, 5002, 5003)]
        for one in entries:
            wait_for(lambda one=one: slot_of(desk, one).state is SlotState.IN_PLACE, "all to be in place")
        done = slotcar("rollback", "--reservation", "hep/n5002", "--until", "now + 2 h", "--yes")
        assert done.code == 0, done
        assert "this also" not in done.err
        assert f" {FIRST} is held until " in done.out
        assert f"or until `slotcar release {FIRST}`: no controller pushes to it." in done.out
        assert ports(world) == {"5001", "5003"}
        assert f"the configuration before hep/n5002; held by {actor()} until" in looked_at(ledger)
        assert ports(world) == {"5001", "5003"}, "the leader looked, and left it alone"
        states = [slot_of(desk, one).state for one in entries]
        assert states == [SlotState.IN_PLACE, SlotState.ROLLED_BACK, SlotState.IN_PLACE]

    monkeypatch.setenv("SLOTCAR_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    done = slotcar("rollback", "--reservation", "hep/n5001", "--yes")
    assert done.code == 0, done
    assert "the ledger does not answer" in done.err
    assert f" {FIRST} is held until `slotcar release {FIRST}`: no controller pushes to it." in done.out
    assert ports(world) == {"5003"}
    _is_left_alone_by_the_next_leader(world, ledger, desk, entries)


def _is_left_alone_by_the_next_leader(world: CiscoWorld, ledger: Ledger, desk: Desk, entries: Sequence[Entry]) -> None:
    with leading(world, ledger) as (loop, _):
        wait_for(lambda: FIRST in loop.status.troubles, "the next leader to know of it")
        assert "hep/n5001; held by" in looked_at(ledger)
        assert ports(world) == {"5003"}
        wait_for(lambda: slot_of(desk, entries[0]).state is SlotState.ROLLED_BACK, "the slot to be rolled back")
        assert slot_of(desk, entries[2]).state is not SlotState.ROLLED_BACK
        desk.held_routers.release(FIRST, OPERATOR, datetime.now(UTC))
        wait_for(lambda: ports(world) == {"5001", "5002", "5003"}, "it to be pushed to again")


def test_what_a_rollback_would_do_to_a_router_that_cannot_be_read_is_unknown(
    world: CiscoWorld, ledger: Ledger, slotcar: Cli
) -> None:
    world.push()
    world.routers[FIRST].kill()
    done = slotcar("rollback", "--to", BASELINE, "--device", FIRST, "--yes")
    assert done.code == 1
    assert f"{FIRST}: unknown what it has and would lose: " in done.err
    assert "Nothing" not in done.out
