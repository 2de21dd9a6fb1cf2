"""What the controller knows of who tells of changes, for whoever asks; and what a listener is given."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from slotcar.base.problems import SlotcarError


class Unwatched(SlotcarError):
    """A device cannot tell of changes the way it is reached; it is not tried again."""


class WatchBroken(SlotcarError):
    """The connection over which a device tells of changes ended, or was never made; it is tried again."""


class WatchState(StrEnum):
    """Connecting: for the first time. Watching: it reports what changes. Listening: it may send syslog, and nobody knows
    whether it does. Broken: it is tried again. Unwatched: it cannot tell."""

    CONNECTING = "connecting"
    WATCHING = "watching"
    LISTENING = "listening"
    BROKEN = "broken"
    UNWATCHED = "unwatched"


@dataclass(frozen=True, slots=True)
class DeviceWatch:
    """Attributes:
    how: `tc monitor`, `NETCONF notifications`, `syslog`, or nothing.
    message: why it is broken or unwatched.
    """

    state: WatchState
    how: str
    since: datetime
    message: str = ""


@dataclass(slots=True)
class WatchStatus:
    """Written by the watcher only.

    Attributes:
        devices: empty while this controller does not lead.
        changes: how often each device reported a change, its echo of a push included. checks: how often the leader was
            asked to check it for that.
    """

    devices: dict[str, DeviceWatch] = field(default_factory=dict)
    changes: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)


def watch_words(states: Sequence[str]) -> str:
    """`3 of 4 devices tell of changes, 1 broken`; of no device nothing."""
    counted = Counter(states)
    tell = counted.pop(WatchState.WATCHING, 0)
    others = "".join(f", {count} {state}" for state, count in sorted(counted.items()))
    devices, tells = "device" if len(states) == 1 else "devices", "tells" if tell == 1 else "tell"
    return f"{tell} of {len(states)} {devices} {tells} of changes{others}"


@dataclass(frozen=True, slots=True)
class ChangeListener:
    """What a connection to one device reports to. `up`: what changes from now on is reported. `changed`: a change, in
    words. `ended`: nobody listens any more."""

    up: Callable[[], None]
    changed: Callable[[str], None]
    ended: threading.Event


class ChangeSource(Protocol):
    """A device that tells of changes over a connection of its own.

    Attributes:
        how: in words. echo_s: how much later, at the most, it tells what a push did; 0 where that is less than it takes
            from the end of a push's last changing task to the beginning of its comparison.
    """

    how: str
    echo_s: float

    def watch(self, listener: ChangeListener) -> None:
        """Reports changes until the listener has ended. Changes nothing on the device.

        Raises:
            WatchBroken, DeviceError: the connection ended, or cannot be made. Unwatched: it cannot tell.
        """
        ...
