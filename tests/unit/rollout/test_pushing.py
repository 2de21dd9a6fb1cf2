"""What a leader does with devices that were read while a boundary passed, and with a ledger that is away during a push."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import Entry, Event
from slotcar.planning.offline import entries_of
from slotcar.platforms.model import Configuration
from slotcar.rollout.attempts import Attempt
from slotcar.rollout.check_requests import LOOK_BACK, CheckRequests
from slotcar.rollout.device_folder import AFTER
from slotcar.rollout.model import Failure, Outlook, Wanted
from slotcar.rollout.playbook import PlaybookResult, _Limits
from slotcar.store import Ledger
from slotcar_client.wire.events import CheckRequested
from tests.support.requests import T0, reservation
from tests.unit.rollout.pushing_world import Plays, World
from tests.unit.rollout.support import NETWORK

BEGINS, ENDS = T0 + timedelta(minutes=10), T0 + timedelta(minutes=20)
DEVICES = sorted(NETWORK.devices)
FAILED = PlaybookResult(ok=False, failures={"r2": Failure("r2", "it broke", unreachable=False)})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, now=BEGINS - timedelta(seconds=3))


@pytest.fixture
def entries() -> tuple[Entry, ...]:
    (entry,) = entries_of([reservation("night", 1_000_000, 10, 20)], NETWORK, T0)
    return (replace(entry, handle="h1", number=1),)


def nothing() -> None:
    """Between two readings."""


# -- a boundary passes while devices are read ---------------------------------------------------------------------------


def test_devices_read_before_their_step_are_read_once_more(world: World, entries: tuple[Entry, ...]) -> None:
    armed, after = world.wanted(entries, world.now, BEGINS), world.wanted(entries, BEGINS)
    world.reads((world.passes(seconds=4), after | {"r1": armed["r1"]}), (nothing, after))
    assert world.reconcile(entries, BEGINS) is Attempt.DONE
    assert world.pusher.reading_names == [DEVICES, ["r1"]]
    assert world.plays.names == []


def test_devices_are_read_twice_and_no_more(world: World, entries: tuple[Entry, ...]) -> None:
    armed, after = world.wanted(entries, world.now, BEGINS), world.wanted(entries, BEGINS)
    world.reads((world.passes(seconds=4), after | {"r1": armed["r1"]}), (nothing, armed))
    assert world.reconcile(entries, BEGINS) is Attempt.DONE
    assert world.pusher.reading_names == [DEVICES, ["r1"]]
    assert [name for kind, name in world.events.kinds if kind == "push.started"] == ["r1"]


def test_a_device_that_does_not_answer_again_is_set_aside(world: World, entries: tuple[Entry, ...]) -> None:
    armed, after = world.wanted(entries, world.now, BEGINS), world.wanted(entries, BEGINS)
    others = world.wanted((), BEGINS)
    world.reads(
        (world.passes(seconds=4), after | {"r1": armed["r1"]}), (nothing, {"r1": "it is gone"}), (nothing, others)
    )
    world.reconcile(entries, BEGINS)
    assert world.pusher.reading_names[:2] == [DEVICES, ["r1"]]
    assert world.pushing.status.troubles["r1"] == "it is gone"
    assert ("push.started", "r1") not in world.events.kinds


def test_a_step_taken_during_the_reading_is_archived_with_its_reservations_and_ends(
    world: World, entries: tuple[Entry, ...]
) -> None:
    armed, after = world.wanted(entries, world.now, BEGINS), world.wanted(entries, BEGINS)
    world.reads((nothing, armed), (world.passes(seconds=4), after))
    assert world.reconcile(entries, BEGINS) is Attempt.DONE
    world.pushing.states.doubt()
    assert world.reconcile(entries, BEGINS) is Attempt.DONE
    (revision,) = world.archive.revisions()
    folder = world.archive.device_folder(revision, "r1")
    assert [one.handle for one in folder.reservations()] == ["h1"]
    assert folder.slot_ends(AFTER) == (ENDS.timestamp(),)


def test_a_push_after_a_boundary_comes_after_it_in_the_archive(world: World, entries: tuple[Entry, ...]) -> None:
    armed, after = world.wanted(entries, world.now, BEGINS), world.wanted(entries, BEGINS)
    (other,) = entries_of([reservation("by-hand", 2_000_000, 0, 30)], NETWORK, T0)
    changed_by_hand = world.wanted([other], world.now)["r1"]
    world.reads((nothing, armed), (world.passes(seconds=4), after | {"r1": changed_by_hand}))
    assert world.reconcile(entries, BEGINS) is Attempt.DONE
    world.pushing.states.doubt()
    assert world.reconcile(entries, BEGINS) is Attempt.DONE
    acted, pushed = world.archive.revisions()
    assert (sorted(world.archive.devices_of(acted)), sorted(world.archive.devices_of(pushed))) == (DEVICES[1:], ["r1"])


# -- what is known good -------------------------------------------------------------------------------------------------


def test_what_another_controller_pushed_is_kept_as_good(world: World, entries: tuple[Entry, ...]) -> None:
    has = world.wanted(entries, world.now, BEGINS)
    world.reads((nothing, has))
    assert world.reconcile(entries, BEGINS) is Attempt.DONE
    assert world.archive.revisions() == []
    for name, one in has.items():
        assert world.archive.known_good_of(NETWORK.devices[name], one) is None


def test_nothing_is_kept_of_a_router_that_was_never_managed(world: World) -> None:
    """It would count as pushed to, and the next push to it would wait for nobody."""
    empty = {name: Wanted(Configuration(name, device.platform)) for name, device in NETWORK.devices.items()}
    world.pushing.wanted_for = lambda *_: Outlook(empty, {})
    world.reads((nothing, empty))
    assert world.reconcile((), BEGINS) is Attempt.DONE
    assert not world.archive.known_good.exists()


def test_what_a_full_disk_did_not_keep_is_kept_once_there_is_room(world: World, entries: tuple[Entry, ...]) -> None:
    empty, armed = world.wanted((), world.now), world.wanted(entries, world.now, BEGINS)
    world.archive.known_good.parent.mkdir(parents=True)
    world.archive.known_good.write_text("no folder")
    world.reads((nothing, empty), (nothing, armed))
    world.reconcile(entries, BEGINS)
    assert "the devices have the push" in world.pushing.status.troubles["r1"]
    world.archive.known_good.unlink()
    world.now += timedelta(seconds=1)
    world.pushing.health.retry(DEVICES, world.now)
    assert world.reconcile(entries, BEGINS) is Attempt.DONE
    assert not [kind for kind, _ in world.events.kinds if kind == "device.drifted"]
    assert world.archive.known_good_of(NETWORK.devices["r1"], armed["r1"]) is None


# -- the ledger is away -------------------------------------------------------------------------------------------------


def test_a_failed_push_is_rolled_back_without_the_ledger_too(world: World, entries: tuple[Entry, ...]) -> None:
    world.plays.answers["push-linux"] = FAILED
    object.__setattr__(world.pusher, "playbooks", goes_down(world, world.plays))
    world.reads((nothing, world.wanted((), world.now)))
    with pytest.raises(LedgerUnavailable):
        world.reconcile(entries, BEGINS)
    assert world.plays.names == ["push-linux", "rollback"]
    assert world.archive.revisions() == []


def goes_down(world: World, plays: Plays) -> Plays:
    return replace(plays, on_run=lambda: setattr(world.events, "down", True))


def test_a_push_that_cannot_be_recorded_is_no_revision(world: World, entries: tuple[Entry, ...]) -> None:
    world.reads((lambda: setattr(world.events, "down", True), world.wanted((), world.now)))
    with pytest.raises(LedgerUnavailable):
        world.reconcile(entries, BEGINS)
    assert (world.plays.names, world.archive.revisions(taken_back=True)) == ([], [])


def test_a_play_that_ends_in_an_unforeseen_way_is_taken_back(world: World, entries: tuple[Entry, ...]) -> None:
    def break_once() -> None:
        if world.plays.names == ["push-linux"]:
            raise RuntimeError("a callback failed")

    object.__setattr__(world.pusher, "playbooks", replace(world.plays, on_run=break_once))
    world.reads((nothing, world.wanted((), world.now)), *[(nothing, world.wanted((), world.now))] * 3)
    world.reconcile(entries, BEGINS)
    assert world.plays.names == ["push-linux", "rollback"]
    assert "unforeseen: RuntimeError: a callback failed" in world.pushing.status.troubles["r1"]


@pytest.mark.parametrize("before_s", [60, 2])
def test_a_play_that_waits_for_a_boundary_goes_on_while_the_ledger_is_away(
    before_s: int, world: World, entries: tuple[Entry, ...]
) -> None:
    world.now = BEGINS - timedelta(seconds=before_s)
    world.events.down = True
    assert not world.pushing._superseded(world.wanted(entries, BEGINS), BEGINS)


def test_the_question_whether_to_give_up_ends_no_play_by_an_error(tmp_path: Path) -> None:
    def ask() -> bool:
        questions.append(True)
        raise RuntimeError("no answer")

    questions: list[bool] = []
    limits = _Limits(Plays(tmp_path, tmp_path), "push", 60, ask)
    assert [limits.passed(), limits.passed()] == [False, False]
    assert questions == [True]


def test_no_request_for_a_check_is_lost_however_many_came_during_a_play() -> None:
    class Recorded:
        """Events of one kind, a page at a time."""

        count = 0

        def last_event(self) -> int:
            return self.count

        def events_of(self, _: object, after: int | None, limit: int) -> list[Event]:
            numbers = range(1, self.count + 1)[-limit:] if after is None else range(after + 1, self.count + 1)[:limit]
            return [Event(one, T0, CheckRequested.kind, None, None, {"devices": [f"r{one}"]}) for one in numbers]

    recorded = Recorded()
    requests = CheckRequests(cast(Ledger, recorded))
    assert requests.read() == set()
    recorded.count = 3 * LOOK_BACK + 7
    assert requests.read() == {f"r{number}" for number in range(1, recorded.count + 1)}
    assert set(requests.pending) == set(range(1, recorded.count + 1))
    assert requests.read() == set()
