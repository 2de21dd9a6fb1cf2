"""What each device was last seen to have, and what it must have by now because of its program. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from slotcar.rollout.model import Program, Reading, Wanted


@dataclass(frozen=True, slots=True)
class Difference:
    """How a reading differs from what the device was last seen to have.

    Attributes:
        acted: the boundaries of the steps that it took by itself since it was last seen, in their order.
        drift: in words, how it differs from what its program can have made of it; empty where it does not.
    """

    acted: tuple[datetime, ...] = ()
    drift: str = ""


@dataclass(slots=True)
class DeviceStates:
    """Per device, by name: what it was last seen to have, and whether that still holds without looking."""

    last_seen: dict[str, Wanted] = field(default_factory=dict)
    _verified: set[str] = field(default_factory=set)
    _rolled_back: set[str] = field(default_factory=set)

    def is_verified(self, name: str, wanted: Wanted) -> bool:
        """Whether the device was seen to have just this, and nothing is due that may have changed it."""
        last = self.last_seen.get(name)
        return name in self._verified and last is not None and last.identity == wanted.identity

    def verified(self, devices: Mapping[str, Wanted]) -> None:
        """These were seen to have this."""
        self.last_seen.update(devices)
        self._verified.update(devices)
        self._rolled_back.difference_update(devices)

    def doubt(self, names: Iterable[str] | None = None) -> None:
        """These are to be read again; without `names` all."""
        self._verified.difference_update(set(self._verified) if names is None else names)

    def armed_for(self, instant: datetime) -> set[str]:
        """The devices that will do something by themselves at the instant, as far as is known."""
        return {name for name, one in self.last_seen.items() if instant in one.program.boundaries}

    def forget(self, names: Iterable[str]) -> None:
        """Forgets what these devices have, as a push to them failed."""
        for name in names:
            self.last_seen.pop(name, None)
            self._verified.discard(name)
            self._rolled_back.discard(name)

    def push_rolled_back(self, names: Iterable[str]) -> None:
        """Keeps what these were last seen to have, to be read again: each refused a push because it had acted by itself
        since it was read, and the push was rolled back. They go on with their programs, whose steps are then still
        known. A device that differs when it is read has not drifted: the push may have left it so."""
        names = [name for name in names if name in self.last_seen]
        self.doubt(names)
        self._rolled_back.update(names)

    def compare(self, name: str, reading: Reading) -> Difference:
        """Takes a reading for what the device has from now on, and says how it differs from before."""
        before = self.last_seen.get(name)
        if before is None:
            return Difference()
        for steps, later in enumerate(after_each_step(before)):
            if later.identity == (reading.configuration.lines, reading.armed_id):
                self.last_seen[name] = later
                self._rolled_back.discard(name)
                return Difference(before.program.boundaries[:steps])
        may_be_of_push = name in self._rolled_back
        self.forget([name])
        if may_be_of_push:
            return Difference()
        same = before.configuration.lines == reading.configuration.lines
        return Difference(drift="what was armed on it is gone" if same else "its configuration differs")


def after_each_step(wanted: Wanted) -> list[Wanted]:
    """What a device has after 0, 1, 2 … steps of its program."""
    states, program = [wanted], wanted.program
    for number, configuration in enumerate(program.configurations, 1):
        rest = Program(
            program.instants[number:],
            program.configurations[number:],
            configuration.lines,
            program.boundaries[number:],
        )
        states.append(replace(wanted, configuration=configuration, program=rest))
    return states
