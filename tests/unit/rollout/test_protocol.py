"""Every state that the boundary protocol can reach with two controllers, two devices, crashes and lost messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.unit.rollout import protocol
from tests.unit.rollout.protocol import AFTER, IN, Controller, Device, World, program_at, value_at


def reachable(start: World, until: Callable[[World], bool] = lambda _: False) -> dict[World, World | None]:
    """All states, each with the one that it was first reached from; no further than one of which `until` is true."""
    before: dict[World, World | None] = {start: None}
    waiting = deque([start])
    while waiting:
        world = waiting.popleft()
        for later in world.next():
            if later not in before:
                before[later] = world
                waiting.append(later)
                if until(later):
                    return before
    return before


LOCKING, LOCKLESS = World(), World(devices=(Device(locks=False), Device(locks=False)))


@pytest.fixture(
    scope="module",
    params=[pytest.param(LOCKING, id="locking"), pytest.param(LOCKLESS, id="lockless", marks=pytest.mark.slow)],
)
def states(request: pytest.FixtureRequest) -> dict[World, World | None]:
    return reachable(request.param)


def history(states: dict[World, World | None], world: World | None) -> str:
    """The shortest way to a state, for whoever has to find out why it is wrong."""
    lines = []
    while world is not None:
        lines.append(str(world))
        world = states[world]
    return "\n".join(reversed(lines))


def never(states: dict[World, World | None], wrong: Callable[[World], bool]) -> None:
    for world in states:
        assert not wrong(world), history(states, world)


def test_there_is_much_to_reach(states: dict[World, World | None]) -> None:
    assert len(states) > 10_000
    assert any(one.fence == 2 for world in states for one in world.devices), "two controllers led, one after the other"
    assert any(world.devices[0].value != world.devices[1].value for world in states), "a push stopped half way"


def test_nothing_is_active_before_its_slot_or_after_it(states: dict[World, World | None]) -> None:
    """docs/design.md rule 9. Whoever died, whatever was lost."""
    never(states, lambda world: world.time != IN and any(one.value for one in world.devices))


def test_whatever_carries_the_slot_is_armed_to_end_it(states: dict[World, World | None]) -> None:
    never(states, _unending)


def test_a_device_never_goes_back_to_an_earlier_lead(states: dict[World, World | None]) -> None:
    """A step from one state to the next takes no fence down."""
    for later, world in states.items():
        pairs = zip(world.devices, later.devices, strict=True) if world else ()
        assert all(now.fence <= then.fence for now, then in pairs), history(states, later)


def test_from_everywhere_one_living_controller_makes_all_devices_right(states: dict[World, World | None]) -> None:
    # What a new controller does depends on the devices, the ledger and the time: one of each kind will do.
    for world in {(one.time, one.cancelled, one.devices): one for one in states}.values():
        end = settled(world)
        wanted = (value_at(end.time, end.cancelled), program_at(end.time, end.cancelled))
        assert all((one.value, one.program) == wanted for one in end.devices), history(states, world)


def settled(world: World) -> World:
    """The others die, nothing is lost any more, and a new controller does what it has to."""
    fresh = World(world.time, world.cancelled, world.devices, (None, None), None, world.fences, 0).leads(0)
    for _ in range(40):
        controller = fresh.controllers[0]
        assert controller is not None
        following = list(fresh.steps(0, controller, losses=False))
        if not following:
            return fresh
        (fresh,) = following
    raise AssertionError(f"it goes on for ever: {fresh}")


@pytest.mark.parametrize("weakened", ["fence", "expected"])
def test_the_protocol_needs_each_of_its_checks(monkeypatch: pytest.MonkeyPatch, weakened: str) -> None:
    """The model finds it when a device takes what comes from an old lead, or was computed from an old reading."""
    strict = Device.activate

    def lax(self: Device, push, time, part=0):  # type: ignore[no-untyped-def]
        if weakened == "fence":
            push = replace(push, fence=max(push.fence, self.fence))
        else:
            push = replace(push, expected=self.program)
        return strict(self, push, time, part)

    monkeypatch.setattr(Device, "activate", lax)
    wrong = WRONG[weakened]
    assert any(wrong(world) for world in reachable(World(), until=wrong))


@pytest.mark.parametrize("weakened", ["beside", "ready"])
def test_a_device_without_a_lock_needs_what_stands_for_it(monkeypatch: pytest.MonkeyPatch, weakened: str) -> None:
    """What was armed goes before the change; or nobody looks whether a step was taken in between."""
    strict = Device.part_of
    if weakened == "beside":
        monkeypatch.setattr(protocol, "merged", lambda some, more: more)
    else:
        monkeypatch.setattr(
            Device, "part_of", lambda self, push, *more: strict(self, replace(push, ready=self.program), *more)
        )
    assert any(_unending(world) for world in reachable(LOCKLESS, until=_unending))


def _unending(world: World) -> bool:
    return any(one.value and (AFTER, 0) not in one.program for one in world.devices)


def _stale(world: World) -> bool:
    """A device that a later lead has changed has what an earlier one computed since."""
    return any(
        one is not None and one.planned is not None and device.took == one.number and one.fence < world.fences
        and _others_done(world, one)
        for one in world.controllers
        for device in world.devices
    )  # fmt: skip


def _others_done(world: World, old: Controller) -> bool:
    return any(one is not None and one.fence > old.fence and one.idle for one in world.controllers)


def _outside(world: World) -> bool:
    return world.time != IN and any(one.value for one in world.devices)


WRONG: dict[str, Callable[[World], bool]] = {"fence": _stale, "expected": _outside}
