"""The network, and how much of each of its resources is reserved."""

from __future__ import annotations

from typing import TypedDict

from slotcar_client.answers.reservations import Window


class CourseStep(TypedDict):
    """From `at` to the next step, in the resource's `unit`; of a rounded one, the highest and the least in it."""

    at: str
    reserved_bps: int
    least_reserved_bps: int
    free_bps: int


class Resource(TypedDict):
    """A service's share of one way through an interface (layer 2), an SLS (layer 3), or what a resource manager has.

    All amounts are in `unit`.
    """

    resource: str
    place: str
    device: str
    unit: str
    capacity_bps: int
    window: Window
    reserved_bps: int
    free_bps: int
    tightest: Window | None
    rounded: bool
    steps: list[CourseStep]


class Domain(TypedDict):
    name: str
    over_provisioned: bool
    description: str


class Position(TypedDict):
    x: int
    y: int


class Interface(TypedDict):
    name: str
    role: str
    capacity_bps: int
    address: str | None
    neighbour: str | None
    reserved_shares: dict[str, int]
    description: str


class Device(TypedDict):
    name: str
    domain: str
    platform: str
    position: Position | None
    interfaces: list[Interface]


class Link(TypedDict):
    ends: list[str]
    capacity_bps: int


class Sls(TypedDict):
    name: str
    upstream: str
    downstream: str
    service: str
    rate_bps: int
    ingress: str
    validity: Window | None
    excess: str
    description: str


class AttachedHost(TypedDict):
    name: str
    domain: str
    address: str
    attached_to: str


class Topology(TypedDict):
    domains: list[Domain]
    devices: list[Device]
    links: list[Link]
    sls: list[Sls]
    hosts: list[AttachedHost]
