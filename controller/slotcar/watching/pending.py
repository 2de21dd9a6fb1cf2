"""Which devices are to be checked, and when, because they reported a change. Pure: times are seconds by a clock that nobody
sets, and passed in.

A change that was told outside of the leader's own pushes is always followed by a reading that begins after it. A push is
compared after its last change of a device: what that tells until then is the push's own, and what it tells afterwards is
checked once. A device is asked for less and less often while it does not come to rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from slotcar.rollout.status import Work

#: A check waits until a device has told nothing for so long: whoever types has more lines. Longer than it takes until the
#: leader reads a device after a boundary at which that acted by itself (`schedule.SETTLE`).
QUIET_S = 2.0
#: It does not wait for longer.
LONGEST_WAIT_S = 6.0
#: What a push did may be told so much later, where it does not come over a device's own connection at once, or where
#: nobody knows when the push was compared.
ECHO_S = 1.0
#: Between two checks of one device for what it told; twice as long each time, until it told nothing for `REST_S`.
FIRST_INTERVAL_S = 5.0
LONGEST_INTERVAL_S = 60.0
REST_S = 2 * LONGEST_INTERVAL_S


@dataclass(slots=True)
class _Changes:
    """Changes that no reading was after yet: the first and the last, and what the last was, in words."""

    first_s: float
    last_s: float
    what: str

    def add(self, other: _Changes) -> _Changes:
        what = self.what if self.last_s > other.last_s else other.what
        return _Changes(min(self.first_s, other.first_s), max(self.last_s, other.last_s), what)


@dataclass(slots=True)
class _DeviceReports:
    """`during`: reported while a push went on that began at `push_began_s`. `echo_s`: how much later it tells what
    was done to it."""

    changes: _Changes | None = None
    during: _Changes | None = None
    push_began_s: float = -math.inf
    echo_s: float = ECHO_S
    checked_s: float = -math.inf
    interval_s: float = 0.0


@dataclass(slots=True)
class Pending:
    """The devices to be checked during one lead."""

    _devices: dict[str, _DeviceReports] = field(default_factory=dict)

    def note(self, name: str, what: str, work: Work, now_s: float, echo_s: float = ECHO_S) -> None:
        """A device told of a change.

        Args:
            work: what the leader last did there.
            echo_s: how much later the device tells what was done to it; 0 where a task of Ansible's takes longer.
        """
        device = self._devices.setdefault(name, _DeviceReports())
        device.echo_s = echo_s
        one = _Changes(now_s, now_s, what)
        if work.push_ended_s == math.inf:
            device.during = device.during.add(one) if device.during else one
            device.push_began_s = work.push_began_s
        elif not work.push_began_s <= now_s <= _own_until_s(work, echo_s):
            device.changes = device.changes.add(one) if device.changes else one

    def due(self, work: Mapping[str, Work], now_s: float) -> dict[str, str]:
        """The devices that are to be checked now, each with what it reported; they count as asked for."""
        due = {}
        for name, device in self._devices.items():
            of_device = work.get(name, Work())
            _resolve(device, of_device)
            if device.changes is not None and of_device.read_s > device.changes.last_s:
                device.changes = None
            if (
                device.changes is not None
                and of_device.push_ended_s < math.inf
                and _is_due(device, device.changes, now_s)
            ):
                due[name] = device.changes.what
                _note_check(device, now_s)
        return due


def _resolve(device: _DeviceReports, work: Work) -> None:
    """What was reported while a push went on was its own where it changed the device, until it was compared."""
    during = device.during
    if during is None or work.push_ended_s == math.inf:
        return
    if work.push_began_s != device.push_began_s:
        device.changes = device.changes.add(during) if device.changes else during
    elif during.last_s > _own_until_s(work, device.echo_s):
        late = _Changes(during.last_s, during.last_s, during.what)
        device.changes = device.changes.add(late) if device.changes else late
    device.during = None


def _own_until_s(work: Work, echo_s: float) -> float:
    return work.push_ended_s + ECHO_S if work.compared_s is None else work.compared_s + echo_s


def _is_due(device: _DeviceReports, changes: _Changes, now_s: float) -> bool:
    rested = now_s - changes.last_s >= QUIET_S or now_s - changes.first_s >= LONGEST_WAIT_S
    return rested and now_s - device.checked_s >= device.interval_s


def _note_check(device: _DeviceReports, now_s: float) -> None:
    again = now_s - device.checked_s < REST_S
    device.interval_s = min(2 * device.interval_s, LONGEST_INTERVAL_S) if again else FIRST_INTERVAL_S
    device.checked_s, device.changes = now_s, None
