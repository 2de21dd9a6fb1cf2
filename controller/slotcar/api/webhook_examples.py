"""The examples of what is asked and answered about webhooks."""

from __future__ import annotations

from typing import Any

_JSON = "application/json"
_WEBHOOK: dict[str, Any] = {
    "id": "wh-5f1c09aa3be2",
    "url": "https://example.net/slotcar",
    "owner": None,
    "secret": "file:/etc/slotcar/webhook-secret",
    "signing_secret": None,
    "kinds": ["push.failed", "reservation."],
    "created_at": "2027-03-01T12:00:00Z",
    "created_by": "ops",
    "waiting": 0,
    "dead": 1,
    "delivered_at": "2027-03-01T12:10:00.040000Z",
    "last_error": "",
}
_NEW = _WEBHOOK | {"dead": 0, "delivered_at": None}
_LETTER = {
    "event": {
        "sequence": 9,
        "at": "2027-02-26T21:00:02Z",
        "kind": "push.failed",
        "handle": None,
        "device": "esnet-7507",
        "details": {"revision": "20270226T210000.000000Z-5d0c1f2e", "message": "no answer within 30 s"},
    },
    "attempts": 18,
    "queued_at": "2027-02-26T21:00:02.030000Z",
    "dead_at": "2027-02-27T16:31:44Z",
    "last_error": "answered 502",
}
_SUBMITTED = {key: _WEBHOOK[key] for key in ("url", "secret", "kinds")}

WEBHOOK_EXAMPLES: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "webhook_add": (_SUBMITTED, {_JSON: _NEW}),
    "webhook_list": (None, {_JSON: {"items": [_WEBHOOK]}}),
    "webhook_remove": (None, {_JSON: _NEW}),
    "webhook_test": (None, {_JSON: {"delivered": True, "status": 204, "message": ""}}),
    "webhook_dead_letters": (None, {_JSON: {"items": [_LETTER], "next": None}}),
    "webhook_redeliver": ({"sequences": [9]}, {_JSON: {"waiting": 1}}),
}
