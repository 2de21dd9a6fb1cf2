"""What the API answers with, as models: they are the OpenAPI's schemas, and every answer is checked against them, but those
of reservations, whose documents tests hold to theirs (`slotcar.api.answers`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from slotcar.base import lengths
from slotcar.base.problems import LINE_PATTERN
from slotcar.book.model import State
from slotcar.book.slot_now import SlotState
from slotcar.reservation.model import ReservationFields
from slotcar.reservation.written import DURATION_PATTERN, QUANTITY_PATTERN, TIME_PATTERN
from slotcar.store.pages import MOST_COUNTED


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


class WindowOut(Answer):
    """Half-open, UTC: `[start, end)`."""

    start: datetime
    end: datetime


class SlotOut(WindowOut):
    """Payload rates while it is open, bits per second."""

    forward_bps: int
    reverse_bps: int


class ReservationOut(ReservationFields[SlotOut]):
    """What was asked for; integers with their units in their names."""

    model_config = Answer.model_config

    rate_bps: int | None = Field(description="payload rate, bits per second; null where `slots` have several")
    windows: list[WindowOut]


class HopOut(Answer):
    device: str
    ingress: str
    egress: str
    reserved: bool = Field(description="False in a domain that is over-provisioned and has no QoS")


class PathOut(Answer):
    source: str
    destination: str
    hops: list[HopOut]
    sls: list[str]


#: What every amount of a resource is in, whatever the name of its field ends in.
UNIT = (
    "of the amounts: `bps` of an interface and of an SLS, `millicores` of cores, `bytes_per_s` of storage devices, and of"
    " others as their resource manager says"
)


class DemandOut(Answer):
    """What is taken of a resource, in its `unit`: bits per second of a line only."""

    resource: str
    unit: str = Field(description=UNIT)
    rate_bps: int = Field(
        description="the highest of `amounts`, in `unit`; layer 2 at an interface, layer 3 at an SLS, and of another"
        " resource no rate in spite of the name"
    )
    amounts: list[int] = Field(description="one for each slot, or a single one for all of them; in `unit`")


class ProposedOut(Answer):
    """A change of a committed reservation that waits for approval; until then the reservation is what it was."""

    reservation: ReservationOut
    paths: list[PathOut]
    demands: list[DemandOut]
    proposed_by: str
    proposed_at: datetime


class ProgressOut(Answer):
    """The last report of a volume by a deadline."""

    remaining_bytes: int
    at: datetime
    needed_bps: int = Field(description="remaining volume / remaining time then: the payload rate that ends in time")
    missing_bytes: int = Field(description="what could not be promised by the deadline; all that was free is taken")


class DeviceSlotOut(Answer):
    """What is on one device of a slot."""

    device: str
    state: SlotState
    since: datetime | None = Field(description="since when; of `in-place` and `ending` when it was last read back")
    why: str = Field(description="by what and by whom, where it is not as it should be")


class SlotNowOut(WindowOut):
    """The slot that is open, else the next one, else the last: what was verified of it, never what the clock says.

    `planned`: nothing is there yet. `armed`: its devices will begin it by themselves. `in-place`: read back. `withheld`:
    kept back because a device of the path is not ready, or held. `failed`: a device took no push. `rolled-back`: by an
    operator. `ending`: read back before it was cancelled or its end came, and being taken away. `ended`: seen to be gone.
    `unknown`: nobody has read its devices since.
    """

    number: int = Field(description="counted from 1")
    of: int = Field(description="of so many slots")
    state: SlotState = Field(description="of the device that is furthest from what was promised")
    since: datetime | None = Field(description="since when; of `in-place` and `ending` when it was last read back")
    why: str = Field(description="by what and by whom, where it is not as it should be")
    devices: list[DeviceSlotOut]


class EntryOut(Answer):
    """A reservation as the ledger holds it. `version` is the ETag."""

    handle: str
    number: int
    state: State
    version: int
    reservation: ReservationOut
    paths: list[PathOut]
    demands: list[DemandOut]
    created_at: datetime
    changed_at: datetime
    hold_until: datetime | None
    proposed: ProposedOut | None = Field(description="a change that an operator must approve first")
    progress: ProgressOut | None = Field(description="of a volume by a deadline, the last report")
    group: str | None = Field(
        default=None, exclude_if=lambda group: group is None, description="handle of the group that it is a member of"
    )
    slot: SlotNowOut | None = Field(
        default=None,
        description="what is on its devices, beside `state`, which is the ledger's; null where it was never in force",
    )
    notes: list[str] = Field(
        default_factory=list,
        description="what whoever asks for it should know, such as that it can never get what it says",
    )


class EntriesOut(Answer):
    """One page; `next` is the cursor of the following one, None on the last."""

    items: list[EntryOut]
    count: int | None = Field(
        description=f"on all pages, where it was asked; {MOST_COUNTED + 1} stands for more than {MOST_COUNTED}"
    )
    next: str | None


class EventOut(Answer):
    sequence: int
    at: datetime
    kind: str
    handle: str | None
    device: str | None
    details: dict[str, Any]


class EventsOut(Answer):
    items: list[EventOut]
    next: int = Field(description="pass it as `after` (or as Last-Event-ID) to go on from here")


class FreeStepOut(WindowOut):
    rate_bps: int = Field(description="a payload rate that is free throughout, bits per second")


class FreeOut(Answer):
    """What is free over time, in order."""

    steps: list[FreeStepOut]
    rounded: bool = Field(
        description="somewhere more is free than the steps say, or they are of the first windows only: there are 100 at"
        " most"
    )


class HighestOut(FreeOut):
    """The highest payload rate that would be admitted one way."""

    direction: Literal["forward", "reverse"]
    highest_rate_bps: int
    limited_by: str | None = Field(description="the resource that runs out first, where the search tells it")
    routers: list[str] = Field(description="those of the path, in order")


class EnquiryOut(FreeOut):
    """Its own `steps` are the rates that all of `directions` may have at once, each of them."""

    windows: list[WindowOut]
    adds_to: str | None = Field(description="handle of the reservation that all of this may be added to")
    directions: list[HighestOut]


class ShortfallOut(Answer):
    """What is short of a resource, in its `unit`: bits per second of a line only."""

    resource: str
    place: str
    window: WindowOut
    unit: str = Field(description=UNIT)
    requested_bps: int = Field(description="in `unit`")
    free_bps: int = Field(description="in `unit`")
    capacity_bps: int = Field(description="in `unit`")


class TransferRefusalOut(Answer):
    """Why a volume cannot be moved by its deadline, and what would fit."""

    asked_bytes: int
    deadline: datetime
    most_bytes: int = Field(description="the most that fits by the same deadline")
    earliest_deadline: datetime | None = Field(description="for all of it; null where none is near enough")
    tightest: str | None = Field(description="the resource that alone leaves the least; null where `at_most` does")
    place: str | None
    tightest_bytes: int = Field(description="what that resource alone, or `at_most`, leaves")
    horizon: datetime = Field(description="until when a deadline was looked for")


class RefusalOut(Answer):
    reason: str
    shortfalls: list[ShortfallOut]
    nearest_window: WindowOut | None
    highest_rate_bps: int | None = Field(
        description="of a flow the payload rate, bits per second; of another resource the amount that fits, in the `unit`"
        " of its shortfall; null where several were asked for"
    )
    highest_share_permille: int | None = Field(description="then: how much of all of them fits, in thousandths")
    transfer: TransferRefusalOut | None = Field(description="of a volume by a deadline; the others are empty then")
    horizon: datetime | None = Field(description="until when a nearest window was looked for; null without end")
    paths_tried: int = Field(description="on so many paths; the numbers are those of the best of them")
    path: list[str] = Field(description="its routers in order, where several were tried")


class RatesIn(Answer):
    """A rate each way; what is left out stays."""

    forward: str | None = Field(
        default=None, max_length=lengths.QUANTITY, pattern=QUANTITY_PATTERN, examples=["20 Mbit/s"]
    )
    reverse: str | None = Field(
        default=None, max_length=lengths.QUANTITY, pattern=QUANTITY_PATTERN, examples=["1 Mbit/s"]
    )


class ModifyIn(Answer):
    """What is left out stays. Either an end or a duration."""

    rate: Annotated[str, Field(max_length=lengths.QUANTITY, pattern=QUANTITY_PATTERN)] | RatesIn | None = Field(
        default=None, examples=["40 Mbit/s"]
    )
    start: str | None = Field(
        default=None, max_length=lengths.TIME, pattern=TIME_PATTERN, examples=["2027-03-01T23:00:00+01:00"]
    )
    end: str | None = Field(
        default=None, max_length=lengths.TIME, pattern=TIME_PATTERN, examples=["2027-03-02T06:00:00+01:00"]
    )
    duration: str | None = Field(
        default=None, max_length=lengths.QUANTITY, pattern=DURATION_PATTERN, examples=["PT3H"]
    )


class ProgressIn(Answer):
    remaining: str = Field(
        max_length=lengths.QUANTITY, pattern=QUANTITY_PATTERN, examples=["1.2 TB"],
        description="what of the volume remains to be moved; `0 B` ends the reservation",
    )  # fmt: skip


class BindIn(Answer):
    source_port: int | None = Field(default=None, ge=1, le=65535)
    destination_port: int | None = Field(default=None, ge=1, le=65535)


class ExtendIn(Answer):
    by: str = Field(
        description="how long from now", max_length=lengths.QUANTITY, pattern=DURATION_PATTERN, examples=["PT15M"]
    )


class ReasonIn(Answer):
    reason: str = Field(
        default="", max_length=lengths.REASON, pattern=LINE_PATTERN, description="one line, for the audit log"
    )


class ErrorOut(Answer):
    """One wrong value, in the sentence that the CLI prints."""

    key: str
    message: str
    value: str
    hint: str


class QuotaOut(Answer):
    """What an owner may have at once, has, and asks for beside it; volumes are in bits."""

    owner: str
    what: Literal["reservations", "windows", "holds", "volume"]
    limit: int
    in_use: int
    asked: int


class ProblemOut(Answer):
    """RFC 9457 problem details. `errors` lists every wrong value; `refusal` the numbers of a refused request."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[ErrorOut] | None = None
    refusal: RefusalOut | None = None
    current_version: int | None = None
    quota: QuotaOut | None = None
