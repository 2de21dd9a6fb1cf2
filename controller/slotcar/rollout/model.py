"""What rollout takes and gives: what devices are to have, revisions, results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from slotcar.base.problems import InvalidInput, SlotcarError
from slotcar.network.model import Device
from slotcar.platforms.model import Change, Configuration, RefusedPart

#: What a device answers that has nothing armed.
NO_PROGRAM = "none"


class PushFailed(SlotcarError):
    """Devices could not be given what the ledger wants.

    `rolled_back` says whether all are as they were, `devices` which of them failed and why (none: all may have).
    """

    def __init__(
        self, message: str, *, rolled_back: bool, revision: str = "", devices: Mapping[str, str] | None = None
    ) -> None:
        self.rolled_back = rolled_back
        self.revision = revision
        self.devices = devices or {}
        super().__init__(message)


class NotKept(InvalidInput):
    """All devices have the push, and the archive could not keep it as known good."""


class Superseded(SlotcarError):
    """The change that a play was about to activate is not wanted any more; the devices have what they had before."""


class NobodyNamed(SlotcarError):
    """A playbook was to run, and nobody said on which devices."""


#: What a device answers, among other words, to a push that was right only a moment ago.
STALE = "read it again"


class Restless(SlotcarError):
    """A device acted by itself while it was read: the answers belong to no one instant."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a program: at this instant, these lines."""

    at: datetime
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """What is armed on a device: what it does by itself at coming instants (docs/design.md rule 9).

    Attributes:
        instants: when each step is due.
        configurations: what the device is to have from then on.
        initial_lines: the device's configuration until the first of them.
        boundaries: for which boundary each step is; a device acts at it, or a little before or after (`device_order.py`).
    """

    instants: tuple[datetime, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    initial_lines: tuple[str, ...] = ()
    boundaries: tuple[datetime, ...] = ()

    def __post_init__(self) -> None:
        if not self.boundaries:
            object.__setattr__(self, "boundaries", self.instants)

    @property
    def id(self) -> str:
        """Equal for equal programs; `none` where nothing is armed."""
        return self.ids[0]

    @property
    def ids(self) -> tuple[str, ...]:
        """After each number of steps, the name of the program of what is left: that of nothing comes last."""
        names = [NO_PROGRAM]
        rest = ""
        lines_before = (self.initial_lines, *(configuration.lines for configuration in self.configurations))
        for number in range(len(self.instants) - 1, -1, -1):
            step = [self.instants[number].isoformat(), self.configurations[number].lines, rest]
            rest = _digest(step)
            names.append(_digest([lines_before[number], rest])[:16])
        return tuple(reversed(names))


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ConfiguredReservation:
    """A reservation that a device's configuration is for: what the archive tells of it with the database dead.

    Attributes:
        name: `OWNER/NAME`.
        version: of its entry, so that a change of it is seen.
        devices: all devices of its path that Slotcar configures, by name.
        end: when the slot ends that was open; None where an older Slotcar wrote it.
        start: since when it has the rate that it has; None likewise.
    """

    handle: str
    name: str
    version: int
    devices: tuple[str, ...]
    end: datetime | None = None
    start: datetime | None = None


def still_open(some: Iterable[ConfiguredReservation], now: datetime) -> tuple[ConfiguredReservation, ...]:
    """The reservations whose slot has not ended, as far as is known."""
    return tuple(one for one in some if one.end is None or one.end > now)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one device is to have at an instant, and the reservations that this is for.

    Attributes:
        ends: what it is to have as its open slots end one after another, if nothing begins; of every device, also of one
            that does nothing by itself. The archive keeps it, so that no rollback brings back a slot that has ended.
    """

    configuration: Configuration
    program: Program = field(default_factory=Program)
    reservations: tuple[ConfiguredReservation, ...] = ()
    ends: Program = field(default_factory=Program)

    @property
    def identity(self) -> tuple[tuple[str, ...], str]:
        """Equal where a device that has one has the other."""
        return self.configuration.lines, self.program.id


@dataclass(frozen=True, slots=True)
class Outlook:
    """What devices are to have at an instant; `unrenderable` says why others cannot have what they should."""

    wanted: Mapping[str, Wanted]
    unrenderable: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one device has.

    Attributes:
        armed_id: the name of what it will still do by itself.
        lag_us: how late it took the last step of that by itself; None where it took none.
        fence: the greatest number of a lead that it has taken something from; 0 where it knows none.
    """

    configuration: Configuration
    armed_id: str = NO_PROGRAM
    lag_us: int | None = None
    fence: int = 0


@dataclass(frozen=True, slots=True)
class DeviceRevision:
    """One device's part of a revision. `replaces` names the program that is armed until then."""

    device: Device
    change: Change
    program: Program
    commands: tuple[str, ...]
    replaces: str = NO_PROGRAM
    reservations: tuple[ConfiguredReservation, ...] = ()
    ends: Program = field(default_factory=Program)


@dataclass(frozen=True, slots=True)
class Revision:
    """One push: named by its instant and its content, kept in the archive.

    `fence` is greater the later its controller took the lead: a device takes nothing from an earlier one. An operator's own
    hand has none and is always heeded. `acted`: nobody pushed it; it is what devices were seen to have done by themselves.
    """

    id: str
    at: datetime
    devices: Mapping[str, DeviceRevision]
    fence: int | None = None
    acted: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """Why Ansible could not do something on a device."""

    device: str
    message: str
    unreachable: bool


@dataclass(frozen=True, slots=True)
class PushResult:
    """A push that was verified. `changed` are the devices that got another configuration.

    Attributes:
        ahead_us: how far the clocks of those that told it are ahead of this machine's.
        compared_s: when the readings began that the devices were compared by, seconds of this machine's monotonic clock.
        refused: by device, what it did not do of what it was given; all else is in force.
    """

    revision: str
    changed: tuple[str, ...]
    rearmed: tuple[str, ...] = ()
    ahead_us: Mapping[str, int] = field(default_factory=dict)
    compared_s: Mapping[str, float] = field(default_factory=dict)
    refused: Mapping[str, Sequence[RefusedPart]] = field(default_factory=dict)
