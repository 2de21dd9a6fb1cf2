"""The clock that a lab goes by: this machine's, or that of a guest in virtual time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from slotcar_lab.agent.hold import TIME
from slotcar_lab.client import AgentAddress

#: A guest that forwards 100 Mb/s needs many seconds for one of its own.
RUN_TIMEOUT_S = 7_200.0


def read_time(file: Path) -> float:
    """What a guest tells there, in seconds since the epoch."""
    with file.open("rb", buffering=0) as memory:
        return float(TIME.unpack(memory.read(TIME.size))[0] / 10**9)


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def wait_until(self, at: float) -> None:
        """Returns at an instant, seconds since the epoch; at once where it is over."""
        ...


class MachineClock:
    """This machine's clock."""

    def now(self) -> float:
        return time.time()

    def wait_until(self, at: float) -> None:
        time.sleep(max(0.0, at - time.time()))


MACHINE = MachineClock()


@dataclass(frozen=True, slots=True)
class VirtualClock:
    """The clock of a guest in virtual time, which to wait for lets run.

    Attributes:
        file: where the guest tells its time.
        patience_s: how long, by this machine, it may take to get to an instant.
    """

    address: AgentAddress
    file: Path
    patience_s: float = RUN_TIMEOUT_S

    def now(self) -> float:
        return read_time(self.file)

    def wait_until(self, at: float) -> None:
        """
        Raises:
            LabError: the guest does not get there; nobody can say how long it may take, so this takes long.
        """
        if at > self.now():
            self.address.ask("run_until", self.patience_s, until_ns=round(at * 1e9))
