"""What the API takes and answers about webhooks, as models."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from slotcar.api.models import Answer, EventOut
from slotcar.base import lengths
from slotcar.base.problems import LINE_PATTERN


class WebhookIn(Answer):
    url: str = Field(max_length=lengths.URL, pattern=LINE_PATTERN, examples=["https://example.net/slotcar"])
    secret: str | None = Field(
        default=None, max_length=lengths.SECRET_PLACE, pattern=LINE_PATTERN, examples=["file:/etc/slotcar/webhook-secret"],
        description="where the controller reads the signing secret: `file:/FULL/PATH` or `env:NAME`; it makes one without",
    )  # fmt: skip
    kinds: list[Annotated[str, Field(max_length=lengths.EVENT_KIND)]] = Field(
        default=[], examples=[["push.failed", "reservation."]], description="beginnings of kinds; none for all"
    )


class WebhookOut(Answer):
    """A receiver of events. `secret` is where its secret is, `derived` for one that the controller made."""

    id: str
    url: str
    owner: str | None = Field(description="only events of this owner's reservations; null for all events")
    secret: str
    signing_secret: str | None = Field(description="said once, by the answer that added it, where it is `derived`")
    kinds: list[str]
    created_at: datetime
    created_by: str
    waiting: int = Field(description="events that are to be delivered still")
    dead: int = Field(description="events that were given up")
    delivered_at: datetime | None
    last_error: str = Field(description="empty once something was delivered")


class WebhooksOut(Answer):
    items: list[WebhookOut]


class TestedOut(Answer):
    delivered: bool
    status: int | None
    message: str


class DeadLetterOut(Answer):
    event: EventOut
    attempts: int
    queued_at: datetime
    dead_at: datetime
    last_error: str


class DeadLettersOut(Answer):
    items: list[DeadLetterOut]
    next: str | None = Field(description="`after` of the following page; null on the last")


class RedeliverIn(Answer):
    sequences: list[Annotated[int, Field(ge=1, le=2**62)]] | None = Field(
        default=None, description="numbers of events; all dead letters without it"
    )


class RedeliveredOut(Answer):
    waiting: int = Field(description="how many wait again")
