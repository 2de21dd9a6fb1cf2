"""What the devices were last seen to have, carried forward as their programs run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from controller.rollout.model import Program, Reading, Wanted


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reading says of a device.

    Attributes:
        acted: the boundaries of the steps that it took by itself since it was last seen, in their order.
        drift: how it differs from what it could have by itself, empty where it does not.
    """

    acted: tuple[datetime, ...] = ()
    drift: str = ""


@dataclass(slots=True)
class Standing:
    """Per device, by name: what it was last seen to have, and whether that still holds without looking."""

    believed: dict[str, Wanted] = field(default_factory=dict)
    _verified: set[str] = field(default_factory=set)

    def verified(self, name: str, wanted: Wanted) -> bool:
        """Whether the device was seen to have just this, and nothing is due that may have changed it."""
        believed = self.believed.get(name)
        return name in self._verified and believed is not None and believed.identity == wanted.identity

    def has(self, wanted: Mapping[str, Wanted]) -> None:
        self.believed.update(wanted)
        self._verified.update(wanted)

    def doubt(self, names: Iterable[str] | None = None) -> None:
        """These are looked at again; without `names` all."""
        self._verified.difference_update(set(self._verified) if names is None else names)

    def armed_for(self, instant: datetime) -> set[str]:
        """The devices that will do something by themselves at the instant, as far as is known."""
        return {name for name, one in self.believed.items() if instant in one.program.boundaries}

    def forget(self, names: Iterable[str]) -> None:
        """Of these nothing is known: a push to them failed."""
        for name in names:
            self.believed.pop(name, None)
            self._verified.discard(name)

    def compare(self, name: str, reading: Reading) -> Seen:
        """Takes a reading for what the device has from now on, and says what it shows."""
        before = self.believed.get(name)
        if before is None:
            return Seen()
        for steps, later in enumerate(run(before)):
            if later.identity == (reading.configuration.lines, reading.armed_id):
                self.believed[name] = later
                return Seen(before.program.boundaries[:steps])
        self.forget([name])
        same = before.configuration.lines == reading.configuration.lines
        return Seen(drift="what was armed on it is gone" if same else "its configuration differs")


def run(wanted: Wanted) -> list[Wanted]:
    """What a device has after 0, 1, 2 … steps of its program."""
    found, program = [wanted], wanted.program
    for number, configuration in enumerate(program.configurations, 1):
        rest = Program(
            program.instants[number:],
            program.configurations[number:],
            configuration.lines,
            program.boundaries[number:],
        )
        found.append(replace(wanted, configuration=configuration, program=rest))
    return found
