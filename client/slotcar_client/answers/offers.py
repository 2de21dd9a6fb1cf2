"""What a caller is, what it may ask for, and how much of it."""

from __future__ import annotations

from typing import Literal, TypedDict


class Caller(TypedDict):
    name: str
    role: Literal["requester", "operator", "auditor"]
    owner: str | None
    expires_at: str | None


class Host(TypedDict):
    name: str
    address: str
    domain: str


class Network(TypedDict):
    prefix: str
    domain: str


class Endpoints(TypedDict):
    hosts: list[Host]
    networks: list[Network]


class Service(TypedDict):
    service: str
    reserved: bool
    phb: str
    dscps: list[int]
    treatment: str


class QuotaUse(TypedDict):
    what: Literal["reservations", "windows", "holds", "volume"]
    limit: int | None
    in_use: int


class Limits(TypedDict):
    owner: str
    horizon_s: int
    hold_s: int
    longest_hold_s: int | None
    approval_rate_bps: int | None
    approval_duration_s: int | None
    max_windows: int
    max_body_bytes: int
    webhook_hosts: list[str]
    quotas: list[QuotaUse]
