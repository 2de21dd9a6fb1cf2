"""What is read of devices beside their configuration, in the same login, and taken by whoever wants it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from slotcar.network.model import Device
from slotcar.platforms.model import Configuration


@dataclass(frozen=True, slots=True)
class Answered:
    """A device's part of a reading: what of Slotcar's it has, and all that it printed, by command."""

    configuration: Configuration
    outputs: Mapping[str, str]


class Beside(Protocol):
    def commands(self, device: Device) -> Sequence[str]:
        """They change nothing, and one that fails does not fail the reading."""
        ...

    def take(self, answered: Mapping[str, Answered], asked_at: datetime, at: datetime) -> None:
        """What devices said between the two instants. It raises nothing: no push waits for it."""
        ...


class _Nothing:
    def commands(self, device: Device) -> Sequence[str]:
        return ()

    def take(self, answered: Mapping[str, Answered], asked_at: datetime, at: datetime) -> None:
        pass


#: Nothing else is read.
NOTHING: Beside = _Nothing()
