"""Webhooks: receivers of the audit log's events (ADR 26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs.texts import LINE, MOST, After, UpTo1000
from slotcar_client.wire.verbs.verb import BODY, Form, Verb

WebhookId = Annotated[
    str, Keyword("maxLength", 200), Keyword("examples", ("wh-5f1c09aa3be2",)), "what `webhook_add` answered with"
]


@dataclass(frozen=True)
class WebhookAdd(
    Verb[documents.Webhook],
    to="POST /v1/webhooks",
    summary="Add a webhook",
    created=True,
    repeatable=False,
    body=Form("WebhookIn"),
    errors=(401, 403, 409, 503, *BODY),
):
    """From now on each event of the `kinds` is sent to `url`, signed, at least once, in order per reservation.

    A requester is sent those of its own reservations, to a host that the operator has named (`SLOTCAR_WEBHOOK_HOSTS`).
    `secret` is the place of the signing secret, where the controller can read it. A requester leaves it out, an operator
    may: then `signing_secret` of this answer is the secret, and no other answer says it.
    """

    url: Annotated[str, Keyword("maxLength", 2000), LINE, Keyword("examples", ("https://example.net/slotcar",))]
    secret: Annotated[
        str | None,
        Keyword("maxLength", 1000),
        LINE,
        Keyword("examples", ("file:/etc/slotcar/webhook-secret",)),
        "where the controller reads the signing secret: `file:/FULL/PATH` or `env:NAME`; it makes one without",
    ] = None
    kinds: Annotated[
        Sequence[Annotated[str, Keyword("maxLength", 64)]],
        Keyword("examples", (("push.failed", "reservation."),)),
        "beginnings of kinds; none for all",
    ] = ()


@dataclass(frozen=True)
class WebhookList(Verb[documents.Webhooks], to="GET /v1/webhooks", summary="List webhooks", errors=(401, 403, 503)):
    """Each with how many events wait for it and how many were given up."""


@dataclass(frozen=True)
class WebhookRemove(
    Verb[documents.Webhook],
    to="DELETE /v1/webhooks/{webhook}",
    summary="Remove a webhook",
    errors=(401, 403, 404, 503),
):
    """Removes a webhook and the events that wait for it. The answer is the webhook as it was."""

    webhook: WebhookId


@dataclass(frozen=True)
class WebhookTest(
    Verb[documents.Tested],
    to="POST /v1/webhooks/{webhook}/test",
    summary="Test a webhook",
    errors=(401, 403, 404, 422, 503),
):
    """Sends a message of the kind `webhook.test` at once, and tells what became of it."""

    webhook: WebhookId


@dataclass(frozen=True)
class WebhookDeadLetters(
    Verb[documents.DeadLetters],
    to="GET /v1/webhooks/{webhook}/dead-letters",
    summary="Dead letters",
    errors=(401, 403, 404, 422, 503),
):
    """Events that were given up after the last attempt, by number; `next` is the cursor of the following page, null on the
    last."""

    webhook: WebhookId
    after: After = 0
    limit: UpTo1000 = 100


@dataclass(frozen=True)
class WebhookRedeliver(
    Verb[documents.Redelivered],
    to="POST /v1/webhooks/{webhook}/redeliver",
    summary="Send dead letters again",
    body=Form("RedeliverIn"),
    errors=(401, 403, 404, 409, 503, *BODY),
):
    """These, or all: each goes before what still waits of its reservation."""

    webhook: WebhookId
    sequences: Annotated[
        Sequence[Annotated[int, Keyword("minimum", 1), MOST]] | None,
        "numbers of events; all dead letters without it",
    ] = None
