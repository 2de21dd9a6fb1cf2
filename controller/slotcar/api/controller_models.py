"""The controller, its devices and its health, as the API answers with them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from slotcar.api.context import Time
from slotcar.api.models import Answer, ReasonIn


class HoldIn(ReasonIn):
    until: Time | None = Field(
        default=None, description="when the controller manages it again; left out: once it is released"
    )


class ConfigurationOut(Answer):
    device: str
    platform: str = Field(description="as `slotcar_platform` of the inventory names it", examples=["linux-tc"])
    at: datetime
    lines: list[str]


class ConfigurationsOut(Answer):
    items: list[ConfigurationOut]


class DifferenceOfDeviceOut(Answer):
    device: str
    state: Literal["equal", "different", "failed"]
    diff: list[str] = Field(description="unified diff from what the device has to what is wanted")
    message: str = Field(description="why the device could not be read")


class WatchOut(Answer):
    """How a device tells of changes by itself; what it tells, the controller that leads checks at once."""

    device: str
    state: Literal["connecting", "watching", "listening", "broken", "unwatched"]
    how: str
    since: datetime
    message: str = Field(description="why it is broken or unwatched")
    changes: int = Field(description="how often it reported a change, also of the controller's own")
    checks: int = Field(description="how often it was checked for that")


class ControllerOut(Answer):
    """What this controller is about; all but `leading` is empty where another one leads."""

    now: datetime
    started_at: datetime
    reconciles: bool = Field(description="False for a controller that only answers")
    leading: bool
    settled: bool = Field(description="every device had what is wanted when it was last read")
    checked_at: datetime | None = Field(description="when the device was read whose last reading is oldest")
    next_boundary: datetime | None
    phases: dict[str, str] = Field(description="how far each device is with the next or last boundary")
    troubles: dict[str, str] = Field(description="devices that take no push, and why")
    pushes: int
    failed_pushes: int
    last_push_at: datetime | None
    last_revision: str
    error: str
    watches: list[WatchOut] = Field(
        description="how devices tell of changes; empty where none is to (SLOTCAR_WATCH, SLOTCAR_SYSLOG_LISTEN)"
    )


class CheckOut(Answer):
    name: str
    ok: bool
    message: str


class HealthOut(Answer):
    status: Literal["ok", "failing"]
    checks: list[CheckOut]
