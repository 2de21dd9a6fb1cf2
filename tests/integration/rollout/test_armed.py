"""IOS routers with an event manager under a controller of its own process: slots begin and end on them by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.timebase import Window
from slotcar.book.model import Entry
from slotcar.rollout.ios import eem
from slotcar.rollout.ios.applets import PREFIX
from slotcar.rollout.model import NO_PROGRAM, PushFailed
from slotcar.store import open_ledger
from slotcar_lab.ios import RefuseLine, Router, Routers
from tests.support.ahead import armed_ahead
from tests.support.cisco import ROOT, CiscoWorld, without_fence
from tests.support.controllers import Controller
from tests.support.patience import wait_for
from tests.support.requests import reservation

FIRST, LAST = "anl-7507-1", "lbnl-7507"
ARMED = (FIRST, LAST)
FLOW = (
    "--source",
    "anl-premium",
    "--destination",
    "lbnl-premium:5001",
    "--protocol",
    "udp",
    "--owner",
    "test",
    "--direction",
    "both",
)
#: A slot is armed as soon as it is asked for.
AHEAD = {"SLOTCAR_STAGE_LEAD": "5 min"}
#: The operator's own applet is there, byte for byte, whatever Slotcar does.
OPERATORS = (
    "event manager environment ops_mail noc@example.org\n"
    "event manager applet OPERATORS\n"
    " description nightly\n"
    " event timer countdown time 86400\n"
    ' action 1 cli command "show clock"\n'
)


@dataclass
class Armed:
    """GARNET's routers with the modular command line, those of the flow with an event manager, and a database."""

    world: CiscoWorld
    state_dir: Path
    database_url: str

    def controller(self, **settings: str) -> Controller:
        self.state_dir.mkdir(exist_ok=True)
        return Controller(
            self.state_dir,
            self.world.inventory,
            SLOTCAR_DATABASE_URL=self.database_url,
            **{"SLOTCAR_STAGE_LEAD": "35 s", **settings},
        )

    def texts(self) -> dict[str, str]:
        """What the routers run, but for the number of the lead."""
        return {name: without_fence(text) for name, text in self.world.running().items()}


@pytest.fixture
def armed(tmp_path: Path, database_url: str) -> Iterator[Armed]:
    with open_ledger(database_url, tmp_path, migrate=True):
        pass
    with Routers() as routers:
        world = CiscoWorld(routers, tmp_path, ROOT / "inventories" / "garnet", platform="cisco-mqc", eem=ARMED)
        for name in ARMED:
            assert world.routers[name].configure(OPERATORS) == []
        yield Armed(world, tmp_path / "controller", database_url)


def reserve(controller: Controller, name: str, start: str, duration: str, rate: str = "10 Mbit/s") -> None:
    controller.slotcar("create", "--name", name, *FLOW, "--rate", rate, "--start", start, "--duration", duration)


def reserve_ahead(controller: Controller, name: str, length: timedelta) -> datetime:
    """Reserves a slot that both routers are armed for before it begins; when it does. Missed attempts have ended."""

    def ask(start: datetime, attempt: int) -> datetime:
        reserve(controller, f"{name}-{attempt}", start.isoformat(), f"{length.seconds} s")
        return start + length

    return armed_ahead(controller, ARMED, ask)


def events(controller: Controller, *kinds: str) -> list[dict[str, Any]]:
    events_ = controller.get("/v1/events?limit=1000")["items"]
    return [event for event in events_ if event["kind"] in kinds]


def carries(router: Router, what: str = "eq 5001") -> bool:
    return what in router.running_text()


def fired(router: Router, count: int = 1) -> Callable[[], bool]:
    return lambda: len(router.fired) >= count


def armed_on(router: Router) -> str:
    return eem.armed_id(router.running_text())


def boundaries(controller: Controller) -> list[dict[str, Any]]:
    """Of the timeline, with their phases."""
    items: list[dict[str, Any]] = controller.get("/v1/timeline")["items"]
    return items


@pytest.mark.slow
def test_a_slot_begins_and_ends_on_the_routers_with_the_controller_killed_before_it_begins(armed: Armed) -> None:
    """docs/design.md rule 9, and the start too (ADR 6)."""
    first, last = (armed.world.routers[name] for name in ARMED)
    with armed.controller(**AHEAD) as controller:
        controller.wait_settled()
        before = armed.texts()
        start = reserve_ahead(controller, "orphan", timedelta(seconds=6))
        wait_for(lambda: controller.armed() >= set(ARMED), "the boundary to be armed")
        (staged,) = (one for one in events(controller, "boundary.staged") if one["details"]["at"] == start.isoformat())
        assert set(staged["details"]["devices"]) == set(ARMED)
        assert staged["details"]["revision"]
        controller.kill()
    assert not carries(first), "it has not begun"
    earlier = {router: len(router.fired) for router in (first, last)}
    instants = [one.at for one in eem.Registered.of(first.running_text()).applets]
    assert len(instants) == 2, "its start and its end"
    for router, count in earlier.items():
        assert router.wait_for(lambda one, count=count: len(one.fired) > count)
        assert carries(router)
    for router, count in earlier.items():
        assert router.wait_for(lambda one, count=count: len(one.fired) == count + 2)
        for one, at in zip(router.fired[count:], instants, strict=True):
            assert one.ended
            assert at is not None
            assert one.at_ns / 1e9 >= at - 0.01, "not before its instant"
    assert armed.texts() == before, "byte for byte, the operator's own applet with it"


@pytest.mark.slow
def test_what_the_routers_did_is_seen_and_told_and_is_no_drift(armed: Armed) -> None:
    length = timedelta(seconds=12)
    with armed.controller(**AHEAD) as controller:
        controller.wait_settled()
        before = armed.texts()
        start = reserve_ahead(controller, "seen", length)
        earlier = {armed.world.routers[name]: len(armed.world.routers[name].fired) for name in ARMED}
        for router, count in earlier.items():
            wait_for(fired(router, count + 1), "the slot to begin")
        wait_for(lambda: bool(controller.devices_of("boundary.active", start)), "its start to be told")
        for router, count in earlier.items():
            wait_for(fired(router, count + 2), "the slot to end, at both ends")
        wait_for(lambda: bool(controller.devices_of("boundary.active", start + length)), "its end to be told")
        controller.wait_settled()
        assert armed.texts() == before
        assert events(controller, "device.drifted", "push.failed", "push.device-failed", "boundary.failed") == []
        every = events(controller, "boundary.active")
        active = [one for one in every if datetime.fromisoformat(one["details"]["at"]) >= start]
        assert [set(one["details"]["devices"]) for one in active] == [set(ARMED)] * 2
        assert all(one["details"]["revision"] for one in active)
        shown = controller.slotcar("timeline", "--format", "json")
        assert shown.count('"phase": "active"') >= 4, shown
        for router, count in earlier.items():
            assert [one.ended for one in router.fired[count:]] == [True, True]


@pytest.mark.slow
def test_a_modify_and_a_cancel_arm_the_routers_anew(armed: Armed) -> None:
    first = armed.world.routers[FIRST]
    with armed.controller() as controller:
        controller.wait_settled()
        before = armed.texts()
        reserve(controller, "open", "now", "10 min")
        wait_for(lambda: carries(first) and controller.settled(), "the slot")
        armed_before = armed_on(first)
        assert armed_before != NO_PROGRAM, "its end is armed"
        ((end,), files) = ([one.at for one in eem.Registered.of(first.running_text()).applets], first.files())
        controller.slotcar("modify", "test/open", "--duration", "20 min")
        wait_for(lambda: armed_on(first) not in (armed_before, eem.INCOMPLETE), "the new end to be armed")
        (later,) = (one.at for one in eem.Registered.of(first.running_text()).applets)
        assert end is not None
        assert later is not None
        assert later - end == pytest.approx(600, abs=1)
        controller.wait_settled()
        assert len([name for name in first.files() if name.startswith(PREFIX)]) == 1
        assert first.files() != files
        controller.slotcar("cancel", "test/open", "--yes", "--reason", "beam lost")
        wait_for(lambda: not carries(first), "the flow's end")
        controller.wait_settled()
        assert armed.texts() == before
        assert armed_on(first) == NO_PROGRAM
        assert first.fired == []
        assert events(controller, "device.drifted") == []


@pytest.mark.slow
def test_a_router_that_restarts_in_a_slot_is_found_and_armed_again(armed: Armed) -> None:
    first = armed.world.routers[FIRST]
    with armed.controller(SLOTCAR_CHECK_INTERVAL="2 s") as controller:
        controller.wait_settled()
        reserve(controller, "open", "now", "10 min")
        wait_for(lambda: carries(first) and controller.settled(), "the slot")
        armed_before = armed_on(first)
        first.reload()
        wait_for(lambda: bool(events(controller, "device.drifted")), "the loss to be seen")
        wait_for(lambda: carries(first) and armed_on(first) == armed_before, "the slot and its end")
        drifts = events(controller, "device.drifted")
        assert {one["device"] for one in drifts} == {FIRST}
        assert drifts[0]["details"]["message"] == "its configuration differs"


@pytest.mark.slow
def test_a_wrong_clock_is_named_and_changes_no_instant(armed: Armed) -> None:
    first, last = (armed.world.routers[name] for name in ARMED)
    first.set_clock(-7.0)
    with armed.controller(**AHEAD) as controller:
        controller.wait_settled()
        start = reserve_ahead(controller, "clocked", timedelta(seconds=20))
        wait_for(lambda: controller.armed() >= set(ARMED), "the boundary to be armed")
        earlier = {router: len(router.fired) for router in (first, last)}
        clocks = events(controller, "device.clock-off")
        assert {one["device"] for one in clocks} == {FIRST}
        assert -9_000_000 < clocks[0]["details"]["ahead_us"] < -5_000_000
        for router, count in earlier.items():
            wait_for(fired(router, count + 1), "the slot to begin")
            assert router.fired[count].at_ns / 1e9 >= start.timestamp() - 0.01


@pytest.mark.slow
def test_a_rollback_gives_back_what_was_armed(armed: Armed) -> None:
    """Pushes of the controller's own classes, without its loop: what they arm, read back and roll back."""
    world, first = armed.world, armed.world.routers[FIRST]
    world.push()
    unreserved = world.running()
    entries = flow_until(world, 600)
    assert set(world.push(entries).changed) == set(ARMED)
    with_flow, armed_before = world.running(), armed_on(first)
    assert armed_before == world.read()[FIRST].armed_id == world.wanted(entries)[FIRST].program.id
    assert world.push(entries).revision == "", "twice the same touches nothing"
    longer = flow_until(world, 1200)
    assert set(world.push(longer).rearmed) == set(ARMED)
    assert armed_on(first) != armed_before
    world.pusher.roll_back(world.pusher.archive.revisions()[-1])
    assert without_delays(world.running()) == without_delays(with_flow)

    world.routers[LAST].fault(RefuseLine("police"))
    with pytest.raises(PushFailed, match="Invalid input") as failed:
        world.push(flow_until(world, 1200, rate_bps=12_000_000))
    world.routers[LAST].heal()
    assert failed.value.rolled_back
    assert without_delays(world.running()) == without_delays(with_flow), "one that fails takes both back, and both arm"

    assert world.push(entries).revision == ""
    world.pusher.roll_back(world.pusher.archive.revisions()[1])
    assert world.running() == unreserved


def without_delays(texts: dict[str, str]) -> dict[str, list[str]]:
    return {
        name: [line for line in text.splitlines() if not line.startswith(" event timer countdown")]
        for name, text in texts.items()
    }


def flow_until(world: CiscoWorld, seconds: int, rate_bps: int = 10_000_000) -> tuple[Entry, ...]:
    """One reservation that is open and ends so many seconds after midnight's tomorrow: the same whenever it is asked."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    both = {"source": {"host": "anl-premium"}, "destination": {"host": "lbnl-premium", "port": 5001}}
    window = Window(today - timedelta(days=1), today + timedelta(days=2, seconds=seconds))
    request = reservation("cms", rate_bps, **both, direction="both")
    return world.entries(request.over((window,)))
