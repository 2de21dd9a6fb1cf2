"""Slot boundaries, past and to come, and what was reserved in a month."""

from __future__ import annotations

from typing import Literal, TypedDict


class DeviceAtBoundary(TypedDict):
    device: str
    phase: str
    lag_us: int | None
    message: str


class SlotAtBoundary(TypedDict):
    """Which slot of a reservation that has several, counted from 1."""

    name: str
    what: Literal["starting", "ending", "changing"]
    number: int
    of: int


class StateAtBoundary(TypedDict):
    """What was verified of a slot that starts or ends there, where it is the reservation's present one."""

    name: str
    what: Literal["starting", "ending"]
    state: str
    since: str | None
    why: str


class TimelineItem(TypedDict):
    """One boundary: `owner/name` of what starts, ends and changes its rate there."""

    at: str
    starting: list[str]
    ending: list[str]
    changing: list[str]
    active: int
    phase: str
    lag_us: int | None
    skew_us: int | None
    devices: list[DeviceAtBoundary]
    slots: list[SlotAtBoundary]
    states: list[StateAtBoundary]


class BoundaryCount(TypedDict):
    """How many slots of reservations start, end or change their rate at an instant."""

    at: str
    starting: int
    ending: int
    changing: int


class Hunk(TypedDict):
    first_line: int
    lines: list[str]


class DiffGroup(TypedDict):
    """Devices that change by the same lines."""

    devices: list[str]
    added: int
    removed: int
    lines: int
    notes: list[str]
    hunks: list[Hunk]


class BoundaryView(TypedDict):
    at: str
    item: TimelineItem | None
    groups: list[DiffGroup] | None


class Usage(TypedDict):
    """Rate times time that was and is reserved in `[start, end)`, of payload; of an SLS of layer 3."""

    month: str
    start: str
    end: str
    name: str
    bits: int
    reservations: int
