"""Answers about resources over time, the network, boundaries, last states, revisions and use."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from slotcar.api.models import UNIT, Answer, WindowOut
from slotcar.api.timeline_models import TimelineItemOut


class CourseStepOut(Answer):
    """From `at` to the next step, in the resource's `unit`; of a rounded one, the highest and the least in it."""

    at: datetime
    reserved_bps: int
    least_reserved_bps: int
    free_bps: int


class ResourceOut(Answer):
    """A service's share of one way through an interface (layer 2), an SLS (layer 3), or what a resource manager has.

    All amounts are in `unit`: bits per second of a line only.
    """

    resource: str
    place: str = Field(description="the resource in words")
    device: str = Field(description="whose interface it is, or where the SLS is policed")
    unit: str = Field(description=UNIT)
    capacity_bps: int = Field(description="in `unit`, as the other amounts are")
    window: WindowOut = Field(description="what was asked about, without what is past: nothing is kept of that")
    reserved_bps: int = Field(description="the highest in the window; of background reservations what is promised")
    free_bps: int = Field(description="what is free over the whole window")
    tightest: WindowOut | None = Field(description="when least is free; null where nothing is reserved")
    rounded: bool = Field(description="whether `steps` are fewer than the levels that there are")
    steps: list[CourseStepOut]


class ResourcesOut(Answer):
    items: list[ResourceOut]
    next: str | None = Field(description="`after` of the following page, null on the last")


class DomainOut(Answer):
    name: str
    over_provisioned: bool
    description: str = Field(description="the operator's own words, empty where there are none")


class PositionOut(Answer):
    x: int
    y: int


class InterfaceOut(Answer):
    name: str
    role: str
    capacity_bps: int
    address: str | None
    neighbour: str | None
    reserved_shares: dict[str, int] = Field(description="by service, what may be reserved of it, bit/s")
    description: str


class DeviceOut(Answer):
    name: str
    domain: str
    platform: str
    position: PositionOut | None = Field(description="where a map draws it, as the inventory says")
    interfaces: list[InterfaceOut]


class LinkOut(Answer):
    ends: list[str]
    capacity_bps: int


class SlsOut(Answer):
    name: str
    upstream: str
    downstream: str
    service: str
    rate_bps: int
    ingress: str
    validity: WindowOut | None
    excess: str
    description: str


class AttachedHostOut(Answer):
    name: str
    domain: str
    address: str
    attached_to: str


class TopologyOut(Answer):
    domains: list[DomainOut]
    devices: list[DeviceOut]
    links: list[LinkOut]
    sls: list[SlsOut]
    hosts: list[AttachedHostOut]


class BoundaryCountOut(Answer):
    """How many slots of reservations start, end or change their rate at an instant."""

    at: datetime
    starting: int
    ending: int
    changing: int


class BoundaryCountsOut(Answer):
    items: list[BoundaryCountOut]
    next: datetime | None = Field(description="`from` of the following page, null on the last")


class HunkOut(Answer):
    first_line: int
    lines: list[str] = Field(description="each with a space, a plus or a minus before it")


class DiffGroupOut(Answer):
    """Devices that change by the same lines."""

    devices: list[str]
    added: int
    removed: int
    lines: int
    notes: list[str] = Field(description="what the platform does otherwise than it should")
    hunks: list[HunkOut] = Field(description="with three lines of context")


class BoundaryViewOut(Answer):
    at: datetime
    item: TimelineItemOut | None = Field(description="as in the timeline; null where nothing happens then")
    groups: list[DiffGroupOut] | None = Field(description="null for who may not see configurations")


class DeviceStateOut(Answer):
    device: str
    domain: str
    platform: str
    state: Literal["equal", "drifted", "failed", "waiting", "held", "unknown"]
    message: str
    since: datetime | None = Field(description="of the event that told it")
    read_at: datetime | None = Field(description="when the controller that leads read it last")
    phase: str


class HoldOut(Answer):
    """A router that is left alone: nothing is pushed to it, and no slot is ended on it."""

    device: str
    reason: str
    actor: str = Field(description="who holds it")
    since: datetime
    until: datetime | None = Field(description="when the controller manages it again; null: once it is released")


class HoldsOut(Answer):
    items: list[HoldOut]


class DeviceStatesOut(Answer):
    items: list[DeviceStateOut]


class RevisionOut(Answer):
    """One push: the names of the reservations that came on its devices, and that went."""

    revision: str
    at: datetime
    devices: list[str]
    came: list[str]
    went: list[str]
    rollback_of: str


class RevisionsOut(Answer):
    items: list[RevisionOut]
    next: str | None = Field(description="`before` of the following page, null on the last")


class UsageOut(Answer):
    """Rate times time that was and is reserved in `[start, end)`, of payload; of an SLS of layer 3."""

    month: str
    start: datetime
    end: datetime
    name: str
    bits: int
    reservations: int


class UsagesOut(Answer):
    by: Literal["owner", "sls", "domain"]
    items: list[UsageOut]
