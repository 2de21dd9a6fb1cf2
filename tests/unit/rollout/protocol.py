"""The boundary protocol as a state machine (ADR 6): two controllers, two devices, one slot, and what may go wrong.

Time has three instants: before the slot (0), in it (1), after it (2). A device has a value (1 while it carries the slot), a
program of what it will do by itself, the greatest fence that it has seen and the push that it took last. What is written
here of a device is what `device.sh` does; of a controller, what `loop.py` and `pusher.py` do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

BEFORE, IN, AFTER = range(3)
Program = tuple[tuple[int, int], ...]


def value_at(time: int, cancelled: bool) -> int:
    """DESIGN, the one idea: what a device is to have, as a function of the ledger and of the instant."""
    return int(time == IN and not cancelled)


def program_at(time: int, cancelled: bool) -> Program:
    return () if cancelled else tuple(step for step in ((IN, 1), (AFTER, 0)) if step[0] > time)


@dataclass(frozen=True, slots=True)
class Device:
    """`took` is the last push that was activated here, `value_then` and `program_then` what it replaced."""

    value: int = 0
    program: Program = ()
    fence: int = 0
    took: int = 0
    program_then: Program = ()

    def ticks(self, time: int) -> Device:
        """Takes the steps that are due."""
        value = self.value
        for instant, then in self.program:
            value = then if instant <= time else value
        return replace(self, value=value, program=tuple(step for step in self.program if step[0] > time))

    def activate(self, push: Push, time: int) -> Device | None:
        """None where it refuses."""
        if push.fence < self.fence:
            return None
        if self.took == push.number and self.program == push.program:
            return self  # already
        if self.program != push.expected:
            return None  # it acted, or was armed by another, since it was read
        if push.value != self.value and push.program and push.program[0][0] <= time:
            return None  # this was for the time before a boundary that has passed
        return Device(push.value, push.program, push.fence, push.number, self.program).ticks(time)

    def give_back(self, push: Push, value: int, time: int) -> Device:
        """What it had before the push, and the program of then, whose steps that are due it takes at once."""
        if push.fence < self.fence:
            return self
        was_armed = self.took == push.number
        program = self.program_then if was_armed else ()
        return replace(self, value=value, program=program, took=0, program_then=()).ticks(time)


@dataclass(frozen=True, slots=True)
class Push:
    """One device's part of a push."""

    number: int
    fence: int
    expected: Program
    value: int
    program: Program


@dataclass(frozen=True, slots=True)
class Controller:
    """A living one. `reading` is what the devices had, `todo` the devices that its push is still to reach."""

    fence: int
    number: int = 0
    reading: tuple[tuple[int, Program], ...] | None = None
    planned: tuple[int, Program] | None = None
    todo: tuple[int, ...] = ()
    back: tuple[int, ...] = ()

    @property
    def idle(self) -> bool:
        return self.reading is None


@dataclass(frozen=True, slots=True)
class World:
    """`leader` holds the database's lock; one that lost its connection may live on without knowing."""

    time: int = BEFORE
    cancelled: bool = False
    devices: tuple[Device, ...] = (Device(), Device())
    controllers: tuple[Controller | None, ...] = (None, None)
    leader: int | None = None
    fences: int = 0
    pushes: int = 0

    def next(self) -> Iterator[World]:
        """Whatever may happen next."""
        if self.time < AFTER:
            later = self.time + 1
            yield replace(self, time=later, devices=tuple(one.ticks(later) for one in self.devices))
        if not self.cancelled and self.time < AFTER:
            yield replace(self, cancelled=True)
        for number, controller in enumerate(self.controllers):
            if controller is None:
                if self.leader is None and self.fences < MOST_LEADS:
                    yield self.leads(number)
                continue
            left = self.leader if self.leader != number else None
            yield replace(self, controllers=_set(self.controllers, number, None), leader=left)  # it dies
            if self.leader == number:
                yield replace(self, leader=None)  # its connection breaks, and it does not know yet
            yield from self.steps(number, controller, losses=True)

    def leads(self, number: int) -> World:
        controllers = _set(self.controllers, number, Controller(self.fences + 1))
        return replace(self, controllers=controllers, leader=number, fences=self.fences + 1)

    def steps(self, number: int, one: Controller, *, losses: bool) -> Iterator[World]:
        """What a controller may do next; with losses, its messages and the answers to them may get lost."""

        def become(other: Controller, devices: tuple[Device, ...] | None = None, pushes: int | None = None) -> World:
            return replace(
                self,
                controllers=_set(self.controllers, number, other),
                devices=self.devices if devices is None else devices,
                pushes=self.pushes if pushes is None else pushes,
            )

        if one.reading is None:
            if self.wants_change() and self.pushes < MOST_PUSHES:
                seen = tuple((device.value, device.program) for device in self.devices)
                yield become(replace(one, reading=seen, number=self.pushes + 1), pushes=self.pushes + 1)
        elif one.planned is None:
            if self.leader != number:
                yield become(Controller(one.fence))  # it looks whether it leads before it pushes
                return
            wanted = (value_at(self.time, self.cancelled), program_at(self.time, self.cancelled))
            todo = tuple(at for at, seen in enumerate(one.reading) if seen != wanted)
            yield become(replace(one, planned=wanted, todo=todo))
        elif one.todo:
            yield from self._activate(one, become, losses)
        elif one.back:
            yield from self._give_back(one, become, losses)
        else:
            yield become(Controller(one.fence))

    def _activate(self, one: Controller, become, losses: bool) -> Iterator[World]:  # type: ignore[no-untyped-def]
        assert one.reading is not None
        assert one.planned is not None
        at = one.todo[0]
        done = tuple(place for place, seen in enumerate(one.reading) if seen != one.planned)
        failed = replace(one, todo=(), back=done)
        push = Push(one.number, one.fence, one.reading[at][1], *one.planned)
        after = self.devices[at].activate(push, self.time)
        if after is None:
            yield become(failed)
            return
        devices = _set(self.devices, at, after)
        yield become(replace(one, todo=one.todo[1:]), devices)
        if losses:
            yield become(failed)
            yield become(failed, devices)

    def _give_back(self, one: Controller, become, losses: bool) -> Iterator[World]:  # type: ignore[no-untyped-def]
        assert one.reading is not None
        assert one.planned is not None
        at = one.back[0]
        push = Push(one.number, one.fence, one.reading[at][1], *one.planned)
        rest = replace(one, back=one.back[1:])
        device = self.devices[at]
        # A device that never took the push has nothing to give back.
        back = device.give_back(push, one.reading[at][0], self.time) if device.took == one.number else device
        yield become(rest, _set(self.devices, at, back))
        if losses:
            yield become(rest)

    def wants_change(self) -> bool:
        wanted = (value_at(self.time, self.cancelled), program_at(self.time, self.cancelled))
        return any((one.value, one.program) != wanted for one in self.devices)


#: So many leads and pushes in all.
MOST_LEADS = 2
MOST_PUSHES = 2


def _set(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])
