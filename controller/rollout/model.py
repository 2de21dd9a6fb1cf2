"""What rollout takes and gives: what devices are to have, revisions, results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controller.network.model import Device
from controller.problems import SlotcarError
from controller.render.model import Change, Configuration

#: What a device answers that has no guard armed.
NO_GUARD = "none"


class PushFailed(SlotcarError):
    """Devices could not be made to carry what the ledger wants.

    `rolled_back` says whether all are as they were, `devices` which of them failed and why (none: all may have).
    """

    def __init__(
        self, message: str, *, rolled_back: bool, revision: str = "", devices: Mapping[str, str] | None = None
    ) -> None:
        self.rolled_back = rolled_back
        self.revision = revision
        self.devices = devices or {}
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a guard: `delay_s` after the activation, run these lines."""

    delay_s: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """What is armed on a device: the ends of the slots that are open, in case the controller dies (DESIGN rule 9).

    Attributes:
        ends: when each step is due, without the grace that the controller has before it.
        configurations: what the device is to have from then on.
        standing: the lines that it has until the first of them.
    """

    ends: tuple[datetime, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    standing: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Equal for equal guards; `none` where nothing is armed."""
        if not self.ends:
            return NO_GUARD
        later = [[end.isoformat(), c.lines] for end, c in zip(self.ends, self.configurations, strict=True)]
        text = json.dumps([self.standing, later])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Carried:
    """A reservation that a device's configuration is for: what the archive tells of it with the database dead.

    Attributes:
        name: `OWNER/NAME`.
        version: of its entry, so that a change of it is seen.
        devices: all devices of its path that Slotcar configures, by name.
    """

    handle: str
    name: str
    version: int
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one device is to have at an instant, and the reservations that this is for."""

    configuration: Configuration
    guard: Guard = field(default_factory=Guard)
    carried: tuple[Carried, ...] = ()

    @property
    def identity(self) -> tuple[tuple[str, ...], str]:
        """Equal where a device that has one has the other."""
        return self.configuration.lines, self.guard.id


@dataclass(frozen=True, slots=True)
class Outlook:
    """What devices are to have at an instant; `unrenderable` says why others cannot have what they should."""

    wanted: Mapping[str, Wanted]
    unrenderable: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one device has."""

    configuration: Configuration
    guard_id: str = NO_GUARD


@dataclass(frozen=True, slots=True)
class DeviceRevision:
    """One device's part of a revision."""

    device: Device
    change: Change
    guard: Guard
    commands: tuple[str, ...]
    carried: tuple[Carried, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """One push: named by its instant and its content, kept for ever in the archive."""

    id: str
    at: datetime
    devices: Mapping[str, DeviceRevision]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why Ansible could not do something on a device."""

    device: str
    message: str
    unreachable: bool


@dataclass(frozen=True, slots=True)
class PushResult:
    """A push that was verified. `changed` are the devices that got another configuration."""

    revision: str
    changed: tuple[str, ...]
    rearmed: tuple[str, ...] = ()
