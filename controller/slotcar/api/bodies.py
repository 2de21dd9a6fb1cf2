"""What requests say, as models: they are the OpenAPI's schemas of bodies."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from slotcar.base import lengths
from slotcar.base.problems import LINE_PATTERN
from slotcar.reservation.written import DURATION_PATTERN, QUANTITY_PATTERN, TIME_PATTERN


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RatesIn(Body):
    """A rate each way; what is left out stays."""

    forward: str | None = Field(
        default=None, max_length=lengths.QUANTITY, pattern=QUANTITY_PATTERN, examples=["20 Mbit/s"]
    )
    reverse: str | None = Field(
        default=None, max_length=lengths.QUANTITY, pattern=QUANTITY_PATTERN, examples=["1 Mbit/s"]
    )


class ModifyIn(Body):
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


class ProgressIn(Body):
    remaining: str = Field(
        max_length=lengths.QUANTITY, pattern=QUANTITY_PATTERN, examples=["1.2 TB"],
        description="what of the volume remains to be moved; `0 B` ends the reservation",
    )  # fmt: skip


class BindIn(Body):
    source_port: int | None = Field(default=None, ge=1, le=65535)
    destination_port: int | None = Field(default=None, ge=1, le=65535)


class ExtendIn(Body):
    by: str = Field(
        description="how long from now", max_length=lengths.QUANTITY, pattern=DURATION_PATTERN, examples=["PT15M"]
    )


class ReasonIn(Body):
    reason: str = Field(
        default="", max_length=lengths.REASON, pattern=LINE_PATTERN, description="one line, for the audit log"
    )


class GroupSetIn(Body):
    """Several groups that are reserved in one decision, each as a reservation file says it."""

    together: list[dict[str, Any]] = Field(min_length=1)


class WebhookIn(Body):
    url: str = Field(max_length=lengths.URL, pattern=LINE_PATTERN, examples=["https://example.net/slotcar"])
    secret: str | None = Field(
        default=None, max_length=lengths.SECRET_PLACE, pattern=LINE_PATTERN, examples=["file:/etc/slotcar/webhook-secret"],
        description="where the controller reads the signing secret: `file:/FULL/PATH` or `env:NAME`; it makes one without",
    )  # fmt: skip
    kinds: list[Annotated[str, Field(max_length=lengths.EVENT_KIND)]] = Field(
        default=[], examples=[["push.failed", "reservation."]], description="beginnings of kinds; none for all"
    )


class RedeliverIn(Body):
    sequences: list[Annotated[int, Field(ge=1, le=2**62)]] | None = Field(
        default=None, description="numbers of events; all dead letters without it"
    )
