"""Plans of reservation files, and what an apply did, as the API answers with them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from slotcar.api.models import Answer, EntryOut, PathOut, RefusalOut, ReservationOut


class DifferenceOut(Answer):
    key: str
    before: Any
    after: Any


class StepOut(Answer):
    action: Literal["create", "change", "cancel", "no-op"]
    owner: str
    name: str
    handle: str | None
    expected_version: int | None
    reservation: ReservationOut | None
    paths: list[PathOut] | None = Field(
        description="those that an apply takes, and no others; null where it takes none"
    )
    differences: list[DifferenceOut]
    refusal: RefusalOut | None
    seen: str = Field(description="stands for what the reservation was when the plan was made; an apply compares it")
    waits: bool = Field(description="it comes into force only once an operator has approved it")
    note: str
    notes: list[str] = Field(
        description="what whoever asks for it should know, such as that it can never get what it says"
    )


class DeviceDiffOut(Answer):
    device: str
    diff: list[str] = Field(description="unified diff of the part of the configuration that Slotcar owns")
    first_line: int = Field(description="how many lines of this diff stood on the pages before")
    lines_left_out: int = Field(description="how many lines of this diff come on the pages after")
    approximations: list[str] = Field(
        description="what the platform does otherwise than it should, each at the first boundary that changes the device"
    )


class BoundaryOut(Answer):
    at: datetime
    devices: list[DeviceDiffOut]


class ApproximationOut(Answer):
    devices: list[str]
    words: str


class InTheWayOut(Answer):
    device: str
    at: datetime = Field(description="from which boundary of the plan on")
    words: str
    certain: bool = Field(
        description="a push would be refused by it; where false, it may take packets, and a push goes ahead"
    )
    read_at: datetime = Field(description="when the router was read")


class SummaryOut(Answer):
    create: int
    change: int
    cancel: int
    unchanged: int
    refused: int


class PlanOut(Answer):
    format: str
    made_at: datetime
    ledger_sequence: int | None
    network: str
    set_name: str
    owners: list[str] = Field(
        description="of whom it speaks: what they have in the set and not in the file is cancelled"
    )
    moves: list[str] = Field(
        description="handles of deadline transfers that move to make room; for a requester, marks that stand for them"
    )
    steps: list[StepOut]
    boundaries: list[BoundaryOut] = Field(description="none for a requester, who sees no device")
    approximations: list[ApproximationOut] = Field(
        description="what devices on the paths do otherwise than they should, whether their lines change or not: each once,"
        " with the numbers of the first boundary that has it, at the boundaries from the page's beginning on; none for a"
        " requester, who sees no device"
    )
    in_the_way: list[InTheWayOut] = Field(
        description="what of others' on the routers of the paths, as they were last read, would refuse the lines of the"
        " boundaries from the page's beginning on, or leave them without effect; none for a requester, who sees no device"
    )
    not_looked_at: list[str] = Field(description="routers of the paths of which the controller has no reading")
    looked_at: datetime | None = Field(
        description="when the others were read, the earliest; null where there are none"
    )
    boundaries_left_out: int = Field(description="boundaries that come after those of this page")
    next: str | None = Field(
        description="plan the same again with `from` at this for the page after; null on the last"
    )
    summary: SummaryOut


class AppliedOut(Answer):
    created: int
    changed: int
    cancelled: int
    entries: list[EntryOut]
