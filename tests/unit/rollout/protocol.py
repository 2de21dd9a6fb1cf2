"""The boundary protocol as a state machine (ADR 6): two controllers, two devices, one slot, and what may go wrong.

Time has three instants: before the slot (0), in it (1), after it (2). A device has a value (1 while it carries the slot), a
program of what it will do by itself, the greatest fence that it has seen and the push that it took last. What is written
here of a device is what `device.sh` does; of a controller, what `pushing.py` and `pusher.py` do.

A device without a lock (IOS with an event manager, `event_manager.py`) takes a push in three parts: what is new is armed
beside what was, the change is made, what was is taken away. A controller may die after each; another may come between, or
a step. Each part looks and acts at once: what a round trip lets through, ADR 6 says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

BEFORE, IN, AFTER = range(3)
Program = tuple[tuple[int, int], ...]


def value_at(time: int, cancelled: bool) -> int:
    """What a device is to have, as a function of the ledger and of the instant (docs/design.md rule 13)."""
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
    locks: bool = True

    def ticks(self, time: int) -> Device:
        """Takes the steps that are due."""
        value = self.value
        for instant, then in self.program:
            value = then if instant <= time else value
        return replace(self, value=value, program=tuple(step for step in self.program if step[0] > time))

    def refuses(self, push: Push, time: int) -> bool:
        if push.fence < self.fence:
            return True
        if self.program != push.expected:
            return True  # it acted, or was armed by another, since it was read
        # This was for the time before a boundary that has passed.
        return push.value != self.value and bool(push.program) and push.program[0][0] <= time

    def activate(self, push: Push, time: int, part: int = 0) -> Device | None:
        """None where it refuses."""
        if push.fence >= self.fence and self.took == push.number and self.program == push.program and not part:
            return self  # already
        if self.locks:
            if self.refuses(push, time):
                return None
            return Device(push.value, push.program, push.fence, push.number, self.program).ticks(time)
        return self.part_of(push, time, part)

    def part_of(self, push: Push, time: int, part: int) -> Device | None:
        """Of a device without a lock."""
        if part == 0:
            program = merged(self.program, push.program)
            taken = replace(self, program=program, fence=push.fence, took=push.number, program_then=self.program)
            return None if self.refuses(push, time) else taken
        if push.fence < self.fence or self.program != push.ready:
            return None
        return replace(self, value=push.value) if part == 1 else replace(self, program=push.program)

    def give_back(self, push: Push, value: int, time: int, part: int = 0) -> Device | None:
        """What it had before the push and the program of then, without what is past of them. None where it refuses."""
        if push.fence < self.fence or (part and self.program != push.ready):
            return None
        was_armed = self.took == push.number
        program = self.program_then if was_armed else ()
        if self.locks:
            return replace(self, value=value, program=program, took=0, program_then=()).ticks(time)
        if part == 0:
            return replace(self, program=merged(self.program, still(program, time)))
        if part == 1:
            return replace(self, value=replace(self, value=value, program=program).ticks(time).value)
        return replace(self, program=still(program, time), took=0, program_then=())


def merged(some: Program, more: Program) -> Program:
    return tuple(sorted({*some, *more}))


def still(program: Program, time: int) -> Program:
    """What is left of it: the rest has been done."""
    return tuple(step for step in program if step[0] > time)


@dataclass(frozen=True, slots=True)
class Push:
    """One device's part of a push. `ready` is what was armed when a device without a lock was made ready for a change."""

    number: int
    fence: int
    expected: Program
    value: int
    program: Program
    ready: Program = ()


@dataclass(frozen=True, slots=True)
class Controller:
    """A living one. `reading` is what the devices had, `todo` the devices that its push is still to reach; `part` how much
    of it the first of them, or the first that is to be given back, has taken, and `ready` what it had armed then."""

    fence: int
    number: int = 0
    reading: tuple[tuple[int, Program], ...] | None = None
    planned: tuple[int, Program] | None = None
    todo: tuple[int, ...] = ()
    back: tuple[int, ...] = ()
    part: int = 0
    ready: Program = ()

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
                states = tuple((device.value, device.program) for device in self.devices)
                yield become(replace(one, reading=states, number=self.pushes + 1), pushes=self.pushes + 1)
        elif one.planned is None:
            if self.leader != number:
                yield become(Controller(one.fence))  # it looks whether it leads before it pushes
                return
            wanted = (value_at(self.time, self.cancelled), program_at(self.time, self.cancelled))
            todo = tuple(at for at, states in enumerate(one.reading) if states != wanted)
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
        done = tuple(place for place, state in enumerate(one.reading) if state != one.planned)
        failed = replace(one, todo=(), back=done, part=0, ready=())
        push = Push(one.number, one.fence, one.reading[at][1], *one.planned, one.ready)
        after = self.devices[at].activate(push, self.time, one.part)
        if after is None:
            yield become(failed)
            return
        devices = _set(self.devices, at, after)
        if after.locks or one.part == 2:
            yield become(replace(one, todo=one.todo[1:], part=0, ready=()), devices)
        else:
            yield become(replace(one, part=one.part + 1, ready=after.program), devices)
        if losses:
            yield become(failed)
            yield become(failed, devices)

    def _give_back(self, one: Controller, become, losses: bool) -> Iterator[World]:  # type: ignore[no-untyped-def]
        assert one.reading is not None
        assert one.planned is not None
        at = one.back[0]
        push = Push(one.number, one.fence, one.reading[at][1], *one.planned, one.ready)
        device = self.devices[at]
        # A device that never took the push has nothing to give back.
        back = device.give_back(push, one.reading[at][0], self.time, one.part) if device.took == one.number else None
        rest = replace(one, back=one.back[1:], part=0, ready=())
        if back is None:
            yield become(rest)
            return
        goes_on = replace(one, part=one.part + 1, ready=back.program)
        yield become(rest if device.locks or one.part == 2 else goes_on, _set(self.devices, at, back))
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
