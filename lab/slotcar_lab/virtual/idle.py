"""Until when controllers have nothing to do: a file for each, which is there for as long as that is so.

Where somebody gives them turns, a controller that has something to do waits for its own, and an instant has come when that
one says so: one after the other they do the same, whatever this machine does beside.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

#: So long, in seconds of this machine, a controller waits before it looks again whether something happened.
NAP_S = 0.05
#: An instant that is so little after a tick has come with that one: by so little the guest's clock is later than the tick
#: when a controller begins, more or less, and what it does again after a time is later by as much.
NEAR_S = 0.1
#: The turn, in the folder. Without it nobody waits for one.
TURN = "turn"
NOBODY = 0


class Idle(NamedTuple):
    """Of one controller's loop.

    Attributes:
        until: seconds since the epoch, by the guest's clock.
        looked: when its last look began that found nothing to do, in seconds of this machine's monotonic clock; 0 before.
        wants: whether it has something to do, and waits for its turn.
    """

    until: float
    looked: float = 0.0
    wants: bool = False

    def at_rest(self, since: float, come: float) -> bool:
        """Whether it waits for its turn, or for an instant after the one that has come, and found so since."""
        return self.wants or (self.looked > since and self.until > come + NEAR_S)


class Turn(NamedTuple):
    """Whose turn it is: the number of a process. `at` is the instant that has come, seconds since the epoch."""

    pid: int
    at: float


@contextmanager
def idle_noted(folder: Path, now: Callable[[], float], until: float) -> Iterator[Iterator[float]]:
    """This process has nothing to do until then, by the guest's clock, unless something happens."""
    _note(folder, Idle(until))
    try:
        yield _naps(folder, now, until)
    finally:
        while (turn := read_turn(folder)) is not None and turn.pid != os.getpid():
            _note(folder, Idle(until, wants=True))
            time.sleep(NAP_S / 2)
        (folder / str(os.getpid())).unlink()


def _naps(folder: Path, now: Callable[[], float], until: float) -> Iterator[float]:
    over = False
    while not over:
        turn = read_turn(folder)
        over = now() >= until and (turn is None or turn.at + NEAR_S >= until)
        began = time.monotonic()
        yield 0.0 if over else NAP_S
        _note(folder, Idle(until, began))


def _note(folder: Path, idle: Idle) -> None:
    _write(folder / str(os.getpid()), idle)


def read_idle(folder: Path, pid: int) -> Idle | None:
    """What a process said; None while it is at work."""
    try:
        return Idle(*json.loads((folder / str(pid)).read_text()))
    except FileNotFoundError:
        return None


def read_turn(folder: Path) -> Turn | None:
    """None where nobody gives turns."""
    try:
        return Turn(*json.loads((folder / TURN).read_text()))
    except FileNotFoundError:
        return None


def give_turn(folder: Path, turn: Turn | None) -> None:
    """From now on controllers wait for their turns. With None every one goes on as it likes."""
    if turn is None:
        (folder / TURN).unlink(missing_ok=True)
    else:
        _write(folder / TURN, turn)


def _write(file: Path, what: Idle | Turn) -> None:
    """At once: whoever reads it has all of it."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_text(json.dumps(what))
    part.replace(file)
