"""What the first page says of devices and of the controller. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.rollout.status import LoopStatus, devices_words
from slotcar.views.device_states import DeviceState, KnownState
from slotcar.web.words import DEVICES, StateMark


@dataclass(frozen=True, slots=True)
class Trouble:
    device: str
    mark: StateMark
    message: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class StateCount:
    mark: StateMark
    count: int


def troubles_of(states: Sequence[KnownState]) -> tuple[Trouble, ...]:
    """Devices that failed, drifted, are held or wait, the worst first."""
    order = (DeviceState.FAILED, DeviceState.DRIFTED, DeviceState.HELD, DeviceState.WAITING)
    listed = sorted(
        (one for one in states if one.state in order), key=lambda one: (order.index(one.state), one.device)
    )
    return tuple(Trouble(one.device, DEVICES[one.state], one.message, one.since) for one in listed)


def summary_of(states: Sequence[KnownState]) -> tuple[StateCount, ...]:
    counts = Counter(one.state for one in states)
    return tuple(StateCount(DEVICES[state], counts[state]) for state in DeviceState if counts[state])


def controller_words(loop: LoopStatus | None, now: datetime) -> tuple[str, bool]:
    """What this controller is about in a sentence, and whether that is well."""
    if loop is None:
        return "This controller answers and does not push (--no-reconcile).", True
    if loop.leading:
        words = devices_words(loop.settled, loop.checked_at, now, len(loop.troubles))
        return f"This controller leads: {words}.", not loop.troubles
    if loop.error:
        return f"This controller cannot lead: {loop.error}", False
    return "Another controller leads; what devices are about stands in the log.", True
