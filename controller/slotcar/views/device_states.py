"""The last known state of every device, from the audit log and the leader's status: no device is read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from slotcar.ledger.model import Event
from slotcar.network.model import Network
from slotcar.rollout.status import LoopStatus
from slotcar.timebase import iso


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
_STATES = {
    "push.verified": DeviceState.EQUAL,
    "device.drifted": DeviceState.DRIFTED,
    "push.device-failed": DeviceState.FAILED,
    "push.failed": DeviceState.FAILED,
    "push.not-rolled-back": DeviceState.FAILED,
    "device.unadopted": DeviceState.WAITING,
    "device.held": DeviceState.HELD,
    "device.released": DeviceState.UNKNOWN,
}
#: Kinds of events that tell of a device's state.
TELLING = tuple(_STATES)


@dataclass(frozen=True, slots=True)
class KnownState:
    """Of one device.

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


def known_states(network: Network, latest: Iterable[Event], loop: LoopStatus | None) -> tuple[KnownState, ...]:
    """Of every device, by name; `latest` are the last events of `TELLING` of each, in any order."""
    last: dict[str, Event] = {}
    for event in sorted(latest, key=lambda one: one.sequence):
        if event.kind in _STATES and event.device:
            last[event.device] = event
    return tuple(_known(name, network, last, loop or LoopStatus()) for name in sorted(network.devices))


def _known(name: str, network: Network, last: Mapping[str, Event], loop: LoopStatus) -> KnownState:
    device, event = network.devices[name], last.get(name)
    state = _STATES[event.kind] if event else DeviceState.UNKNOWN
    message = str(event.details.get("message", "")) if event and state is not DeviceState.EQUAL else ""
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


def states_document(states: Iterable[KnownState]) -> list[dict[str, Any]]:
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
        }
        for one in states
    ]
