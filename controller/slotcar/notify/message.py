"""What a receiver gets: the body and the headers of one message. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.base.timebase import iso
from slotcar.book.model import Event
from slotcar.notify.signing import sign
from slotcar.views.documents import event_document
from slotcar.views.events import shown_to_owner

#: Larger details are left out of a message; the event's number leads to them.
LARGEST_BODY_BYTES = 64 * 1024
TEST_KIND = "webhook.test"


@dataclass(frozen=True, slots=True)
class Message:
    """`id` stays the same however often it is sent: by it a receiver knows a repetition."""

    id: str
    body: bytes

    def headers(self, keys: Sequence[bytes], now: datetime) -> dict[str, str]:
        timestamp_s = int(now.timestamp())
        return {
            "content-type": "application/json",
            "user-agent": "slotcar",
            "webhook-id": self.id,
            "webhook-timestamp": str(timestamp_s),
            "webhook-signature": sign(self.id, timestamp_s, self.body, keys),
        }


def message_of(webhook: str, event: Event, owner: str | None = None) -> Message:
    """
    Args:
        owner: whose the webhook is; None of an operator's, which is told all of the event.
    """
    document = event_document(event if owner is None else shown_to_owner(event, owner))
    body = _body(event.kind, event.at, document)
    if len(body) > LARGEST_BODY_BYTES:
        body = _body(event.kind, event.at, {**document, "details": {"left_out_bytes": len(body)}})
    return Message(f"{webhook}-{event.sequence}", body)


def trial_message(webhook: str, unique: str, now: datetime) -> Message:
    return Message(f"{webhook}-test-{unique}", _body(TEST_KIND, now, {"webhook": webhook}))


def _body(kind: str, at: datetime, data: Mapping[str, object]) -> bytes:
    return json.dumps({"type": kind, "timestamp": iso(at), "data": data}, separators=(",", ":")).encode()
