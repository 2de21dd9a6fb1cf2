"""Devices: what they are to have, what they have, and what was pushed to them."""

from __future__ import annotations

from typing import Literal, TypedDict


class Configuration(TypedDict):
    device: str
    platform: str
    at: str
    lines: list[str]


class DifferenceOfDevice(TypedDict):
    device: str
    state: Literal["equal", "different", "failed"]
    diff: list[str]
    message: str


class DeviceState(TypedDict):
    device: str
    domain: str
    platform: str
    state: Literal["equal", "drifted", "failed", "waiting", "held", "unknown"]
    message: str
    since: str | None
    read_at: str | None
    phase: str


class Hold(TypedDict):
    """A router that is left alone; `until` is None where it is held until it is released."""

    device: str
    reason: str
    actor: str
    since: str
    until: str | None


class Revision(TypedDict):
    """One push: the names of the reservations that came on its devices, and that went."""

    revision: str
    at: str
    devices: list[str]
    came: list[str]
    went: list[str]
    rollback_of: str
