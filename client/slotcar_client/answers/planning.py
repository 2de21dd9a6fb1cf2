"""Plans of reservation files, and what applying one did."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from slotcar_client.answers.admission import Refusal
from slotcar_client.answers.reservations import Entry, Path, Reservation


class Difference(TypedDict):
    key: str
    before: Any
    after: Any


class Step(TypedDict):
    action: Literal["create", "change", "cancel", "no-op"]
    owner: str
    name: str
    handle: str | None
    expected_version: int | None
    reservation: Reservation | None
    paths: list[Path] | None
    differences: list[Difference]
    refusal: Refusal | None
    seen: str
    waits: bool
    note: str
    notes: list[str]


class DeviceDiff(TypedDict):
    device: str
    diff: list[str]
    first_line: int
    lines_left_out: int
    approximations: list[str]


class Boundary(TypedDict):
    at: str
    devices: list[DeviceDiff]


class Approximation(TypedDict):
    devices: list[str]
    words: str


class Summary(TypedDict):
    create: int
    change: int
    cancel: int
    unchanged: int
    refused: int


class InTheWay(TypedDict):
    """What of others' on a router would refuse the plan's lines, or leave them without effect; `certain` or perhaps."""

    device: str
    at: str
    words: str
    certain: bool
    read_at: str


class Plan(TypedDict):
    """What applying a file would do; `apply` takes it as it is. A requester's has no boundaries."""

    format: str
    made_at: str
    ledger_sequence: int | None
    network: str
    set_name: str
    owners: list[str]
    moves: list[str]
    steps: list[Step]
    boundaries: list[Boundary]
    approximations: list[Approximation]
    in_the_way: list[InTheWay]
    not_looked_at: list[str]
    looked_at: str | None
    boundaries_left_out: int
    next: str | None
    summary: Summary


class Applied(TypedDict):
    created: int
    changed: int
    cancelled: int
    entries: list[Entry]
