"""The controller itself: what it is about, whether it is well, and its metrics."""

from __future__ import annotations

from slotcar_client.calls.requests import send, send_json
from slotcar_client.transport import Conversation, Request
from slotcar_client.wire import documents, verbs
from slotcar_client.wire.errors import Problem


def controller() -> Conversation[documents.Controller]:
    """The controller's status; not for requesters."""
    return (yield from send(verbs.Controller()))


def alive() -> Conversation[documents.Health]:
    return (yield from send_json("GET", "/healthz"))


def ready() -> Conversation[documents.Health]:
    """Whether the controller can do its work; `failing` after the usual attempts where it cannot."""
    try:
        return (yield from send_json("GET", "/readyz"))
    except Problem as problem:
        if problem.status == 503 and "checks" in problem.document:
            return {"status": "failing", "checks": problem.document["checks"]}
        raise


def metrics() -> Conversation[str]:
    """In Prometheus' text form."""
    answer = yield Request("GET", "/metrics")
    return answer.body
