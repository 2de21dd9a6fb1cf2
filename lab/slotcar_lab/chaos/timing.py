"""The clock that chaos goes by: that of a guest in virtual time, or this machine's. Nothing else differs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from slotcar_lab.chaos.script import pace_of
from slotcar_lab.clocks import VirtualClock
from slotcar_lab.control import Lab
from slotcar_lab.controller import SLOTCAR
from slotcar_lab.guest.machine import PLAIN, Extras
from slotcar_lab.virtual.conductor import Conductor
from slotcar_lab.virtual.guest_time import GuestTime, guest_time
from slotcar_lab.virtual.idle import give_turn

#: By the same clock from the beginning, a seed's controllers count the same hours. In the past: files are never old then.
IN_VIRTUAL_TIME = Extras(virtual_time=True, clock_at="2026-01-05T00:00:00")
IN_REAL_TIME = PLAIN
#: Guest seconds. Controllers at work move the guest's clock by up to two of them, more or less.
TICK_S = 5.0
#: Controllers are started at a whole multiple of so many.
FIRST_BEGINS_S = 3600.0
#: A round begins at a whole multiple of so many.
ROUND_BEGINS_S = 60.0
#: So often devices are read though nothing should have changed. Each time is a play, which is what virtual time costs.
CHECK_VIRTUAL, CHECK_REAL = "30 s", "10 s"
LOOK_S = 0.1
#: Of this machine's time: a guest that takes longer to get to a tick hangs.
GRANT_S = 600.0


class Timing(Protocol):
    """Attributes:
    check_interval: of the controllers.
    """

    check_interval: str

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    @property
    def instant(self) -> float:
        """The instant at which what happens now was to happen, seconds since the epoch."""
        ...

    def wait_until(self, at: float) -> None:
        """Waits for an instant; in virtual time also until no controller is at work.

        Raises:
            NotAtRest: a controller hangs.
        """
        ...

    def rest(self) -> None:
        """Waits until no controller is at work, where that can be known.

        Raises:
            NotAtRest: a controller hangs.
        """
        ...

    def begin_round(self) -> float:
        """Waits until a round may begin, and gives the instant."""
        ...

    def begin(self, pids: Callable[[], Sequence[int]], beside: Callable[[], None]) -> None:
        """From now on waits go by these controllers, and `beside` is called in them."""
        ...

    def end(self) -> None: ...

    def environment(self) -> dict[str, str]:
        """For controllers and commands."""
        ...

    def serve(self, port: int) -> list[str]:
        """The command that runs a controller."""
        ...

    def pace(self, turn_s: float) -> float: ...


@dataclass(slots=True)
class RealTime:
    """This machine's clock."""

    check_interval: str = CHECK_REAL
    _beside: Callable[[], None] = field(default=lambda: None)

    def now(self) -> float:
        return time.time()

    @property
    def instant(self) -> float:
        return time.time()

    def wait_until(self, at: float) -> None:
        self._beside()
        while (left_s := at - time.time()) > 0:
            time.sleep(min(LOOK_S, left_s))
            self._beside()

    def rest(self) -> None:
        """Controllers are at work as they like."""

    def begin_round(self) -> float:
        return time.time()

    def begin(self, pids: Callable[[], Sequence[int]], beside: Callable[[], None]) -> None:
        del pids
        self._beside = beside

    def end(self) -> None:
        """Nothing is held."""

    def environment(self) -> dict[str, str]:
        return {}

    def serve(self, port: int) -> list[str]:
        return [str(SLOTCAR), "serve", "--port", str(port)]

    def pace(self, turn_s: float) -> float:
        return pace_of(turn_s)


@dataclass(slots=True)
class VirtualTime:
    """A guest's clock, which a conductor lets run."""

    by: GuestTime
    conductor: Conductor
    check_interval: str = CHECK_VIRTUAL

    def now(self) -> float:
        return self.conductor.now()

    @property
    def instant(self) -> float:
        return self.conductor.come

    def wait_until(self, at: float) -> None:
        self.conductor.wait_until(at)

    def rest(self) -> None:
        self.conductor.wait_idle()

    def begin_round(self) -> float:
        self.wait_for_whole(ROUND_BEGINS_S)
        return self.instant

    def wait_for_whole(self, seconds: float) -> None:
        """Waits for the next whole multiple of so many."""
        self.conductor.wait_until((self.instant // seconds + 1) * seconds)

    def begin(self, pids: Callable[[], Sequence[int]], beside: Callable[[], None]) -> None:
        self.conductor.by_turns()
        self.wait_for_whole(FIRST_BEGINS_S)  # how far it is at the end of its boot depends on this machine
        self.conductor.pids, self.conductor.beside = pids, beside

    def end(self) -> None:
        give_turn(self.conductor.folder, None)

    def environment(self) -> dict[str, str]:
        return self.by.environment()

    def serve(self, port: int) -> list[str]:
        return self.by.serve(port)

    def pace(self, turn_s: float) -> float:
        del turn_s  # no slot ends while a controller is at work
        return 1.0


def timing_of(lab: Lab, folder: Path) -> Timing:
    """The one that goes by a lab's clock, its files made in `folder`.

    Raises:
        LabError: the library of the clock cannot be compiled here.
    """
    by = guest_time(lab, folder)
    if by is None:
        return RealTime()
    clock = VirtualClock(lab.address, by.file, GRANT_S)
    return VirtualTime(by, Conductor(clock, list, by.idle, TICK_S))
