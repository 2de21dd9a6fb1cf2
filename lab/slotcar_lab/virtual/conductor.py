"""Lets the time of a lab run for controllers: never while one is at work, nor past an instant at which one will be."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slotcar_lab.clocks import Clock
from slotcar_lab.errors import LabError
from slotcar_lab.patience import HANG_S
from slotcar_lab.virtual.idle import NEAR_S, NOBODY, Idle, Turn, give_turn, read_idle, read_turn

#: A controller that is at work for longer, in seconds of this machine, hangs.
#: A guest whose clock stands still for so long, in seconds of this machine, hangs: held, it creeps.
STILL_S = 120.0
LOOK_S = 0.02


class NotAtRest(LabError):
    """A controller is at work for so long that it hangs."""


class GuestHangs(LabError):
    """The guest's clock stands still: its emulator is at fault, and nothing can be said of controllers."""


def _nothing() -> None:
    """Nobody does anything beside."""


@dataclass(slots=True)
class Conductor:
    """The lab's clock, for whoever does something beside controllers.

    Time is held for each controller that lives: until it has looked, since time was held, whether something happened, and
    has nothing to do. One that has ended holds it no more; one that was told to stop does until it has ended.

    Attributes:
        clock: the guest's.
        pids: the controllers that live now, by their processes, in the order of their turns.
        folder: where they say until when they have nothing to do.
        tick_s: with it, time runs to whole multiples of so many seconds only, and controllers that have something to do at
            one of them do it one after the other (`by_turns`). At work a controller moves the guest's clock by a second or
            two, more or less: what comes next begins at the same tick all the same.
        beside: called again and again while time is held; for what else may happen on this machine.
    """

    clock: Clock
    pids: Callable[[], Sequence[int]]
    folder: Path
    tick_s: float = 0.0
    beside: Callable[[], None] = _nothing
    _moved: tuple[float, float] = (0.0, 0.0)

    def now(self) -> float:
        return self.clock.now()

    def by_turns(self) -> None:
        """From now on, until `give_turn` with None."""
        give_turn(self.folder, Turn(NOBODY, self.now()))

    def wait_until(self, at: float) -> None:
        """
        Raises:
            NotAtRest: a controller hangs. GuestHangs.
        """
        at = self._tick(at)
        while self.come < at:
            until = max(min(at, self._tick(self.wait_idle(), NEAR_S)), self._tick(self.now()))
            self.clock.wait_until(until)
            if (turn := read_turn(self.folder)) is not None:
                give_turn(self.folder, turn._replace(at=until))

    @property
    def come(self) -> float:
        """The instant that has come, as controllers go by it: by turns the last tick, else the present."""
        turn = read_turn(self.folder)
        return turn.at if turn else self.now()

    def _tick(self, at: float, near_s: float = 0.0) -> float:
        """The next instant to which time may run, from so shortly before that one on."""
        return math.ceil((at - near_s) / self.tick_s) * self.tick_s if self.tick_s and at < math.inf else at

    def wait_idle(self) -> float:
        """Waits until no controller has anything to do, and gives the instant at which one will have.

        Raises:
            NotAtRest: it does not come to that. GuestHangs.
        """
        since = time.monotonic()
        deadline = since + HANG_S
        while True:
            self.beside()
            self._look_at_guest()
            notes = {pid: read_idle(self.folder, pid) for pid in self.pids()}
            come = self.come
            idle = {pid: one for pid, one in notes.items() if one is not None and one.at_rest(since, come)}
            if len(idle) == len(notes):
                if not self._gives_turn(idle):
                    return min((one.until for one in idle.values()), default=math.inf)
                since = time.monotonic()
                deadline = since + HANG_S
            if time.monotonic() > deadline:
                raise NotAtRest(f"it does not come to rest: {', '.join(map(str, notes.keys() - idle.keys()))}")
            time.sleep(LOOK_S)

    def _look_at_guest(self) -> None:
        now, at_s = self.now(), time.monotonic()
        if now != self._moved[0]:
            self._moved = (now, at_s)
        elif at_s - self._moved[1] > STILL_S:
            raise GuestHangs(f"the guest hangs: its clock stands still for {STILL_S:g} s of this machine's time")

    def _gives_turn(self, idle: dict[int, Idle]) -> bool:
        """Whether one may do what it has to do, or whether nobody may from now on: then all look again."""
        wanting = next((pid for pid, one in idle.items() if one.wants), NOBODY)
        turn = read_turn(self.folder)
        if turn is None or turn.pid == wanting == NOBODY:
            return False
        give_turn(self.folder, turn._replace(pid=wanting))
        return True
