"""Reservations and groups, as the ledger holds them."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Window(TypedDict):
    """Half-open: `[start, end)`."""

    start: str
    end: str


class Slot(Window):
    forward_bps: int
    reverse_bps: int


class End(TypedDict):
    host: str
    port: int | None


class Share(TypedDict):
    """Of a background reservation."""

    weight: int
    at_least_bps: int
    at_most_bps: int


class Reservation(TypedDict):
    """What was asked for, as far as programs usually look at it; the answer has more."""

    name: str
    owner: str
    source: End
    destination: End
    protocol: str
    service: str
    direction: str
    rate_bps: int | None
    windows: list[Window]
    slots: list[Slot]
    share: Share | None
    labels: dict[str, str]


class Hop(TypedDict):
    device: str
    ingress: str
    egress: str
    reserved: bool


class Path(TypedDict):
    source: str
    destination: str
    hops: list[Hop]
    sls: list[str]


class Demand(TypedDict):
    """The amounts are in `unit`, such as `bps` or `millicores`; `rate_bps` is the highest of them."""

    resource: str
    unit: str
    rate_bps: int
    amounts: list[int]


class Proposed(TypedDict):
    """A change that waits for approval."""

    reservation: Reservation
    paths: list[Path]
    demands: list[Demand]
    proposed_by: str
    proposed_at: str


class Progress(TypedDict):
    """The last report of a volume by a deadline."""

    remaining_bytes: int
    at: str
    needed_bps: int
    missing_bytes: int


class DeviceSlot(TypedDict):
    """What is on one device of a slot; `state` as of `SlotNow`."""

    device: str
    state: str
    since: str | None
    why: str


class SlotNow(TypedDict):
    """The slot that is open, else the next one, else the last: what was verified of it.

    `state`: planned, armed, in-place, withheld, failed, rolled-back, ending, ended or unknown.
    """

    number: int
    of: int
    start: str
    end: str
    state: str
    since: str | None
    why: str
    devices: list[DeviceSlot]


class Entry(TypedDict):
    """A reservation as the ledger holds it; `version` is what a change is of."""

    handle: str
    number: int
    state: str
    version: int
    reservation: Reservation
    paths: list[Path]
    demands: list[Demand]
    created_at: str
    changed_at: str
    hold_until: str | None
    proposed: Proposed | None
    progress: Progress | None
    slot: SlotNow | None
    notes: list[str]
    group: NotRequired[str | None]


class Member(Entry):
    """A member of a group, of a flow or of another resource."""

    member: str
    on_failure: str


class Group(TypedDict):
    """Several resources that were reserved together, all or none."""

    handle: str
    owner: str
    name: str
    version: int
    state: str
    start: str
    end: str
    hold_until: str | None
    slot_state: str | None
    members: list[Member]
