"""The last known state of every device, from the audit log and the leader's status: no device is read. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from slotcar.base.timebase import iso
from slotcar.book.model import Event
from slotcar.network.model import Network
from slotcar.rollout.status import LoopStatus
from slotcar_client.wire import documents
from slotcar_client.wire.events import (
    KINDS,
    DeviceDrifted,
    DeviceHeld,
    DeviceReleased,
    DeviceSetAside,
    DeviceUnadopted,
    PushFailure,
    PushNotRolledBack,
    PushVerified,
)


class DeviceState(StrEnum):
    """`equal`: it had what was wanted when it was last pushed to or read. `held`: an operator
    took it back, and nothing is pushed to it. `unknown`: nothing was recorded of it."""

    EQUAL = "equal"
    DRIFTED = "drifted"
    FAILED = "failed"
    WAITING = "waiting"
    HELD = "held"
    UNKNOWN = "unknown"


#: The events that end in a state; all others leave a device in the one that it has.
_STATES: Mapping[type, DeviceState] = {
    PushVerified: DeviceState.EQUAL,
    DeviceDrifted: DeviceState.DRIFTED,
    DeviceSetAside: DeviceState.FAILED,
    PushFailure: DeviceState.FAILED,
    PushNotRolledBack: DeviceState.FAILED,
    DeviceUnadopted: DeviceState.WAITING,
    DeviceHeld: DeviceState.HELD,
    DeviceReleased: DeviceState.UNKNOWN,
}
#: Kinds of events that tell of a device's state.
TELLING = tuple(kind.kind for kind in KINDS.values() if kind in _STATES)


@dataclass(frozen=True, slots=True)
class KnownState:
    """The last known state of one device.

    Attributes:
        since: of the event that told it; None where none did.
        read_at: when the leader last read the device and it had what is wanted, or was given it.
        phase: how far it is with the next or last boundary, as the leader says; empty elsewhere.
    """

    device: str
    domain: str
    platform: str
    state: DeviceState
    message: str = ""
    since: datetime | None = None
    read_at: datetime | None = None
    phase: str = ""


def known_states(
    network: Network, latest: Iterable[Event], loop: LoopStatus | None, now: datetime
) -> tuple[KnownState, ...]:
    """The state of every device, by name; `latest` are the last events of `TELLING` of each, in any order.

    A hold whose time is over holds no longer, though its release is recorded only by the next controller that leads.
    """
    last: dict[str, Event] = {}
    for event in sorted(latest, key=lambda one: one.sequence):
        if type(event.says) in _STATES and event.device:
            last[event.device] = event
    return tuple(_known(name, network, last, loop or LoopStatus(), now) for name in sorted(network.devices))


def _known(name: str, network: Network, last: Mapping[str, Event], loop: LoopStatus, now: datetime) -> KnownState:
    device, event = network.devices[name], last.get(name)
    state = _state_by(event, now) if event else DeviceState.UNKNOWN
    message = event.says.words if event and event.says and state is not DeviceState.EQUAL else ""
    if event and (until := _ended_hold(event, now)):
        message = f"held until {until.isoformat()}; no controller that leads has read it since"
    read_at = loop.read_at.get(name)
    if name in loop.troubles:
        state = state if state in (DeviceState.WAITING, DeviceState.HELD) else DeviceState.FAILED
        message = loop.troubles[name]
    elif read_at is not None and (event is None or read_at >= event.at):
        state, message = DeviceState.EQUAL, ""
    return KnownState(
        name, device.domain, device.platform, state, message, event.at if event else None, read_at,
        str(loop.phases.get(name, "")),
    )  # fmt: skip


def _state_by(event: Event, now: datetime) -> DeviceState:
    return DeviceState.UNKNOWN if _ended_hold(event, now) else _STATES[type(event.says)]


def _ended_hold(event: Event, now: datetime) -> datetime | None:
    """Until when it was held; None where it still is, or was not."""
    until = event.says.until if isinstance(event.says, DeviceHeld) else None
    return until if until is not None and until <= now else None


def states_document(states: Iterable[KnownState], managed: Container[str]) -> list[documents.DeviceState]:
    """`managed`: the devices that Slotcar may push to."""
    return [
        {
            "device": one.device,
            "domain": one.domain,
            "platform": one.platform,
            "state": one.state.value,
            "message": one.message,
            "since": iso(one.since) if one.since else None,
            "read_at": iso(one.read_at) if one.read_at else None,
            "phase": one.phase,
            "managed": one.device in managed,
        }
        for one in states
    ]
