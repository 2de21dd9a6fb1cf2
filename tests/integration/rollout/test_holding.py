"""A router that is taken back while a controller leads is held, and left alone until it is released (ADR 34)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.overview import Overview
from slotcar.desk.requests import Requests
from slotcar.planning.errors import NotPossible
from slotcar.recovery import held_routers
from slotcar.recovery.rollback import BASELINE
from slotcar.reservation import from_mapping
from slotcar.rollout import holding
from slotcar.rollout.check_requests import ask_check, wait_for_answer
from slotcar.rollout.holding import Hold, Holds, held_devices, holds_of
from slotcar.store import Ledger
from slotcar.views.device_states import DeviceState
from slotcar_client.wire.events import DeviceReleased
from slotcar_lab.ios import Routers
from tests.integration.rollout.test_ios_rollback import emergency
from tests.integration.rollout.test_machine_faults import events, leading, settled
from tests.support.cisco import ROOT, CiscoWorld, flow_of, without_fence
from tests.support.command_line import in_this_process
from tests.support.patience import PATIENCE_S, wait_for

ONE = "anl-7507-1"
OPERATOR = Caller("ops", Role.OPERATOR)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CiscoWorld]:
    with Routers() as routers:
        yield CiscoWorld(routers, tmp_path, ROOT / "inventories" / "garnet")


def running(world: CiscoWorld) -> dict[str, str]:
    return {name: without_fence(text) for name, text in world.running().items()}


def document(port: int) -> dict[str, str]:
    now = datetime.now(UTC)
    return {
        "name": f"n{port}", "owner": "hep", "source": "anl-premium", "destination": f"lbnl-premium:{port}",
        "protocol": "udp", "service": "ip-premium", "rate": "1 Mbit/s", "start": now.isoformat(), "duration": "1 h",
    }  # fmt: skip


def reserve(view: Overview, port: int) -> None:
    now = datetime.now(UTC)
    Requests(view.desk).create(from_mapping(document(port), now), OPERATOR, now)


def looked_at(ledger: Ledger) -> str:
    """What the leader says of the router once it has looked at it and done what it does."""
    answer = wait_for_answer(ledger, ask_check(ledger, [ONE], "tester", datetime.now(UTC)), PATIENCE_S)
    assert answer is not None
    return str(answer.details["failed"].get(ONE, ""))


@pytest.mark.slow
def test_a_router_is_taken_back_while_a_controller_leads_and_stays_until_it_is_released(
    world: CiscoWorld,
    ledger: Ledger,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with leading(world, ledger) as (loop, failures):
        view = Overview(Desk(ledger, world.network, world.settings))  # sets the terms of the ledger
        holder = view.desk.held_routers
        wait_for(settled(loop), "the routers to have what is wanted")
        unreserved = running(world)
        reserve(view, 5001)
        wait_for(lambda: "5001" in world.running()[ONE], "the slot to be active")
        wait_for(settled(loop), "the routers to have it")
        others = {name: text for name, text in running(world).items() if name != ONE}

        revision = holder.roll_back(ONE, BASELINE, OPERATOR, datetime.now(UTC))
        assert revision
        assert running(world)[ONE] == unreserved[ONE]
        assert "rolled back to baseline; held by ops until it is released" in looked_at(ledger)
        assert running(world) == others | {ONE: unreserved[ONE]}, "the leader looked, and left it and the others alone"
        state = next(one for one in view.device_states(OPERATOR, loop.status, datetime.now(UTC)) if one.device == ONE)
        assert (state.state, "held by ops" in state.message) == (DeviceState.HELD, True)
        known = view.device_states(OPERATOR, None, datetime.now(UTC))
        assert next(one for one in known if one.device == ONE).state is DeviceState.HELD

        reserve(view, 5002)
        assert "held by ops" in looked_at(ledger)
        assert running(world) == others | {ONE: unreserved[ONE]}, "what crosses it is active nowhere"
        assert [one["devices"] for one in events(ledger, "push.withheld")] == [[ONE]]
        assert holder.roll_back(ONE, BASELINE, OPERATOR, datetime.now(UTC)) == "", "it has that already, and is held"
        assert failures == []
    with leading(world, ledger) as (loop, _):
        wait_for(lambda: ONE in loop.status.troubles, "the next leader to know of it")
        assert "held by ops" in looked_at(ledger)
        assert running(world)[ONE] == unreserved[ONE]

        for name, value in (
            ("STATE_DIR", world.settings.state_dir), ("INVENTORY", world.inventory), ("DATABASE_URL", database_url),
        ):  # fmt: skip
            monkeypatch.setenv(f"SLOTCAR_{name}", str(value))
        operator = in_this_process(monkeypatch, capfd)
        assert operator("release", ONE).code == 2, "nobody can be asked"
        assert f"Released: {ONE}." in operator("release", ONE, "--yes").out
        wait_for(lambda: {"5001", "5002"} <= set(world.running()[ONE].split()), "it to be pushed to")
        wait_for(settled(loop), "all routers to have what is wanted")
        assert ONE not in loop.status.troubles
        assert held_devices(ledger, datetime.now(UTC)) == {}
        assert f"{ONE} is not held" in operator("release", ONE, "--yes").err
        with pytest.raises(NotPossible, match="is not held"):
            holder.release(ONE, OPERATOR, datetime.now(UTC))


@pytest.mark.slow
def test_with_nobody_leading_the_next_leader_leaves_it_alone_too(
    world: CiscoWorld,
    ledger: Ledger,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    world.push()
    view = Overview(Desk(ledger, world.network, world.settings))
    holder = view.desk.held_routers
    assert world.routers[ONE].configure("no access-list rate-limit 61 1") == []
    assert holder.roll_back(ONE, BASELINE, OPERATOR, datetime.now(UTC))
    assert world.routers[ONE].configure("no access-list rate-limit 61 1") == []
    held = world.running()[ONE]
    for name, value in (
        ("STATE_DIR", world.settings.state_dir), ("INVENTORY", world.inventory), ("DATABASE_URL", database_url),
    ):  # fmt: skip
        monkeypatch.setenv(f"SLOTCAR_{name}", str(value))
    done = in_this_process(monkeypatch, capfd)("push", "--yes")
    assert done.code == 1
    assert f"{ONE}: rolled back to baseline; held by ops" in done.err
    with leading(world, ledger):
        assert "held by ops" in looked_at(ledger)
        assert world.running()[ONE] == held
        holder.release(ONE, OPERATOR, datetime.now(UTC))
        wait_for(lambda: "access-list rate-limit 61 1" in world.running()[ONE], "it to be repaired")


def test_a_rollback_tells_what_a_router_lacks_also_where_the_emergency_playbook_took_it(
    world: CiscoWorld, ledger: Ledger
) -> None:
    """Nothing differs then, and the router is held: nobody who leads would find out."""
    (one,) = flow_of(world)
    world.push()
    world.push((one,))
    emergency(world, "before")
    holder = Desk(ledger, world.network, world.settings).held_routers
    assert holder.roll_back(ONE, BASELINE, OPERATOR, datetime.now(UTC)) == ""
    assert holds_of(ledger, datetime.now(UTC))[ONE].removed == (one.handle,)


def test_where_whoever_leads_does_not_answer_nothing_is_done(
    world: CiscoWorld, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a standby, or a controller that only answers, finds it: pushing beside a leader would be undone by it."""
    world.push()
    assert world.routers[ONE].configure("no access-list rate-limit 61 1") == []
    before = world.running()
    view = Overview(Desk(ledger, world.network, world.settings))
    holder = view.desk.held_routers
    monkeypatch.setattr(held_routers, "PATIENCE_S", 0.2)
    lease = ledger.try_lead()
    assert lease is not None
    with lease, pytest.raises(NotPossible, match="did not answer within 0 s, so nothing was done"):
        holder.roll_back(ONE, BASELINE, OPERATOR, datetime.now(UTC))
    assert world.running() == before
    assert held_devices(ledger, datetime.now(UTC)) == {}
    with pytest.raises(NotPossible):
        holder.roll_back(ONE, (datetime.now(UTC) - timedelta(days=9)).isoformat(), OPERATOR, datetime.now(UTC))
    assert held_devices(ledger, datetime.now(UTC)) == {}, "there was nothing to go back to"


def test_a_hold_ends_by_itself_at_the_time_that_was_said(ledger: Ledger) -> None:
    """For whoever asks at once, and with an event once somebody leads; a later hold replaces an earlier one."""
    now = datetime.now(UTC)
    until = now + timedelta(hours=2)
    hold = Hold(ONE, "a fan", "ops", now, until)
    ledger.record(hold.event, now, device=ONE)
    holds = Holds(ledger)
    assert holds.read(now) == set()
    assert (list(holds.held), holds.ends()) == ([ONE], [until])
    assert f"held by ops until {iso(until)} or until it is released" in held_devices(ledger, now)[ONE]
    assert held_devices(ledger, until) == {}, "nobody has to lead for it to be over"
    assert holds.read(until - timedelta(microseconds=1)) == set()
    assert holds.read(until) == {ONE}
    assert (holds.held, holds.ends(), holds.read(until)) == ({}, [], set())
    recorded = events(ledger, "device.released")
    assert [(one["actor"], one["message"]) for one in recorded] == [("controller", f"held until {iso(until)}")]

    ledger.record(hold.event, until, device=ONE)
    ledger.record(Hold(ONE, "", "ops", until).event, until, device=ONE)
    assert holds.read(until + timedelta(days=9)) == set()
    assert (list(holds.held), holds.ends()) == ([ONE], [])


def test_a_hold_that_is_said_again_as_it_ends_is_not_ended_with_it(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator's word came between what the leader read and what it was about to write."""
    now = datetime.now(UTC)
    until = now + timedelta(hours=2)
    ledger.record(Hold(ONE, "a fan", "ops", now, until).event, now, device=ONE)
    holds = Holds(ledger)
    assert holds.read(now) == set()
    last_event = ledger.last_event

    def and_then_it_is_held_again() -> int:
        number = last_event()
        monkeypatch.undo()
        ledger.record(Hold(ONE, "still", "ops", until).event, until, device=ONE)
        return number

    monkeypatch.setattr(ledger, "last_event", and_then_it_is_held_again)
    assert holds.read(until) == set()
    assert holds.read(until) == set()
    assert "still; held by ops" in held_devices(ledger, until)[ONE]
    assert (list(holds.held), holds.ends()) == ([ONE], [])
    assert events(ledger, "device.released") == []


def test_a_hold_that_another_operator_made_meanwhile_is_not_released_with_the_one_that_was_seen(
    world: CiscoWorld, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    holder = Desk(ledger, world.network, world.settings).held_routers
    holder.hold(ONE, OPERATOR, now, None, "a fan")

    def and_then_it_is_held_anew(*arguments: Any) -> dict[str, Hold]:
        monkeypatch.undo()
        holds_before = holds_of(*arguments)
        holder.hold(ONE, Caller("night", Role.OPERATOR), now, None, "a line card")
        return holds_before

    monkeypatch.setattr(held_routers, "holds_of", and_then_it_is_held_anew)
    with pytest.raises(NotPossible, match="held anew by somebody else meanwhile"):
        holder.release(ONE, OPERATOR, now)
    assert "a line card; held by night" in held_devices(ledger, now)[ONE]
    assert events(ledger, "device.released") == []


def test_holds_of_which_more_were_recorded_than_are_read_at_once_are_all_known(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "MOST", 2)
    now, names = datetime.now(UTC), [f"r{number}" for number in range(5)]
    holds = Holds(ledger)
    assert holds.read(now) == set()
    for name in names:
        ledger.record(Hold(name, "", "ops", now).event, now, device=name)
    holds.read(now)
    assert sorted(holds.held) == names
    for name in names[1:]:
        ledger.record(DeviceReleased(), now, device=name)
    assert holds.read(now) == set(names[1:])
    assert list(holds.held) == names[:1]


@pytest.mark.slow
def test_whoever_leads_takes_a_router_back_into_care_when_its_hold_ends(world: CiscoWorld, ledger: Ledger) -> None:
    with leading(world, ledger) as (loop, failures):
        view = Overview(Desk(ledger, world.network, world.settings))
        holder = view.desk.held_routers
        wait_for(settled(loop), "the routers to have what is wanted")
        now = datetime.now(UTC)
        with pytest.raises(InvalidInput, match="is past"):
            holder.hold(ONE, OPERATOR, now, now)
        holder.hold(ONE, OPERATOR, now, datetime.now(UTC) + timedelta(seconds=20), "a fan")
        assert "a fan; held by ops until" in looked_at(ledger)
        assert world.routers[ONE].configure("no access-list rate-limit 61 1") == []
        wait_for(lambda: "access-list rate-limit 61 1" in world.running()[ONE], "it to be repaired")
        assert datetime.now(UTC) >= now + timedelta(seconds=20)
        wait_for(settled(loop), "the routers to have what is wanted")
        assert (ONE in loop.status.troubles, holder.holds(OPERATOR, datetime.now(UTC)), failures) == (False, (), [])
