"""Answers about who asks and what may be asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from slotcar.api.models import Answer


class CallerOut(Answer):
    name: str
    role: Literal["requester", "operator", "auditor"]
    owner: str | None = Field(description="whose reservations a requester's are; null for an open API's caller")
    expires_at: datetime | None


class HostOut(Answer):
    name: str
    address: str
    domain: str


class NetworkOut(Answer):
    prefix: str
    domain: str


class EndpointsOut(Answer):
    hosts: list[HostOut]
    networks: list[NetworkOut] = Field(description="of these an address may be said instead of a name")


class ServiceOut(Answer):
    service: str
    reserved: bool = Field(description="whether it is promised a rate")
    phb: str
    dscps: list[int]
    treatment: str


class ServicesOut(Answer):
    items: list[ServiceOut]


class QuotaUseOut(Answer):
    what: Literal["reservations", "windows", "holds", "volume"]
    limit: int | None = Field(description="null for none; a volume is in bits")
    in_use: int


class LimitsOut(Answer):
    """Seconds, bits per second, bits."""

    owner: str
    horizon_s: int = Field(description="how far from now a reservation may end")
    hold_s: int = Field(description="how long a hold usually lasts")
    longest_hold_s: int | None
    approval_rate_bps: int | None = Field(description="above it an operator approves; null for no such gate")
    approval_duration_s: int | None
    max_windows: int = Field(description="windows of one request")
    max_body_bytes: int
    webhook_hosts: list[str] = Field(description="where a requester's webhooks may go")
    quotas: list[QuotaUseOut]
