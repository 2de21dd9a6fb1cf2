"""Lets the time of a lab run for a controller: never while it is at work, and never past an instant at which it will be."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slotcar_lab.clocks import Clock
from slotcar_lab.controller import Controller
from slotcar_lab.errors import LabError
from slotcar_lab.virtual.idle import Idle, read_idle

#: A loop that is at work for longer, in seconds of this machine, hangs.
PATIENCE_S = 900.0
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Conductor:
    """The lab's clock, for whoever does something beside a controller.

    Attributes:
        clock: the guest's.
        controller: the one that runs now.
        folder: where it says until when it has nothing to do.
    """

    clock: Clock
    controller: Callable[[], Controller]
    folder: Path

    def now(self) -> float:
        return self.clock.now()

    def wait_until(self, at: float) -> None:
        """
        Raises:
            LabError: the controller does not come to rest.
        """
        while self.now() < at:
            self.clock.wait_until(min(at, self.wait_idle().until))

    def wait_idle(self) -> Idle:
        """Waits until the controller has nothing to do and has seen all that the ledger has, and gives what it said.

        Raises:
            LabError: it does not come to that.
        """
        deadline = time.monotonic() + PATIENCE_S
        while True:
            controller = self.controller()
            if read_idle(self.folder, controller.pid) is not None:  # else it need not be asked, which is work for it
                newest = controller.newest_event()  # before it is looked at again: what it has seen since is more
                at_rest = read_idle(self.folder, controller.pid)
                if at_rest is not None and at_rest.last_event >= newest and at_rest.until > self.now():
                    return at_rest
            if time.monotonic() > deadline:
                raise LabError(f"the controller does not come to rest: {controller.get('/v1/controller')}")
            time.sleep(LOOK_S)
