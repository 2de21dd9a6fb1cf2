"""The timeline and its boundaries, as the API answers with them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from slotcar.api.models import Answer
from slotcar.book.slot_now import SlotState
from slotcar.views.timeline import SlotAtBoundary

PhaseName = Literal["planned", "staged", "armed", "active", "failed", "withheld", "unrecorded", "nothing to do"]


class DeviceAtBoundaryOut(Answer):
    device: str
    phase: PhaseName
    lag_us: int | None = Field(description="how long after the boundary it acted, where that was measured")
    message: str = Field(description="why it failed, or that it came late")


class StateAtBoundaryOut(Answer):
    """What is on the devices of a slot that starts or ends there, where it is the reservation's present slot."""

    name: str
    what: Literal["starting", "ending"]
    state: SlotState
    since: datetime | None
    why: str = Field(description="by what and by whom, where it is not as it should be")


class TimelineItemOut(Answer):
    at: datetime
    starting: list[str]
    ending: list[str]
    changing: list[str] = Field(description="those whose rate changes")
    slots: list[SlotAtBoundary] = Field(description="which slot it is, of those of them that have several")
    active: int = Field(description="reservations with an open slot from this instant on, by the ledger")
    states: list[StateAtBoundaryOut] = Field(default_factory=list, description="what was verified of their slots")
    phase: PhaseName = Field(description="of the device that is furthest behind")
    lag_us: int | None = Field(description="of the last device, as far as lags are known")
    skew_us: int | None = Field(description="from the first device to the last one")
    devices: list[DeviceAtBoundaryOut] = Field(description="those that it concerns")


class TimelineOut(Answer):
    items: list[TimelineItemOut]
    next: datetime | None = Field(description="ask again with `from` at this for the page after; null on the last")
