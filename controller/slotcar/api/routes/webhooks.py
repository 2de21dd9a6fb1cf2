"""Webhooks: receivers of the audit log's events. Operators have all, owners those of their own reservations (ADR 26)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from slotcar.api.answers import model_of
from slotcar.api.bodies import RedeliverIn, WebhookIn
from slotcar.api.context import Context, TheCaller, TheContext
from slotcar.api.limits import json_only
from slotcar.base import lengths
from slotcar.notify.webhooks import Webhooks, letter_document, webhook_document
from slotcar.store.webhooks import Backlog
from slotcar_client.wire import documents

router = APIRouter(prefix="/v1", tags=["webhooks"])
Id = Annotated[
    str, Path(max_length=lengths.HANDLE, description="what `webhook_add` answered with", examples=["wh-5f1c09aa3be2"])
]
JSON = [Depends(json_only)]


def _of(context: Context) -> Webhooks:
    return Webhooks(context.broker.ledger, context.broker.settings)


@router.post(
    "/webhooks",
    status_code=201,
    response_model=model_of(documents.Webhook),
    summary="Add a webhook",
    dependencies=JSON,
    name="webhook_add",
)
def add(body: WebhookIn, context: TheContext, caller: TheCaller) -> documents.Webhook:
    """From now on each event of the `kinds` is sent to `url`, signed, at least once, in order per reservation.

    A requester is sent those of its own reservations, to a host that the operator has named (`SLOTCAR_WEBHOOK_HOSTS`).
    `secret` is the place of the signing secret, where the controller can read it. A requester leaves it out, an operator
    may: then `signing_secret` of this answer is the secret, and no other answer says it.
    """
    webhooks = _of(context)
    return webhooks.new_document(webhooks.add(body.url, body.secret, body.kinds, caller, context.now()))


@router.get("/webhooks", response_model=model_of(documents.Webhooks), summary="List webhooks", name="webhook_list")
def listed(context: TheContext, caller: TheCaller) -> documents.Webhooks:
    """Each with how many events wait for it and how many were given up."""
    return {"items": [webhook_document(*one) for one in _of(context).list(caller)]}


@router.delete(
    "/webhooks/{webhook}",
    response_model=model_of(documents.Webhook),
    summary="Remove a webhook",
    name="webhook_remove",
)
def remove(webhook: Id, context: TheContext, caller: TheCaller) -> documents.Webhook:
    """Removes a webhook and the events that wait for it. The answer is the webhook as it was."""
    return webhook_document(_of(context).remove(webhook, caller), Backlog())


@router.post(
    "/webhooks/{webhook}/test",
    response_model=model_of(documents.Tested),
    summary="Test a webhook",
    name="webhook_test",
)
def test(webhook: Id, context: TheContext, caller: TheCaller) -> documents.Tested:
    """Sends a message of the kind `webhook.test` at once, and tells what became of it."""
    outcome = _of(context).test(webhook, caller, context.now())
    return {"delivered": outcome.ok, "status": outcome.status, "message": outcome.words}


@router.get(
    "/webhooks/{webhook}/dead-letters",
    response_model=model_of(documents.DeadLetters),
    summary="Dead letters",
    name="webhook_dead_letters",
)
def dead_letters(
    webhook: Id,
    context: TheContext,
    caller: TheCaller,
    after: Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> documents.DeadLetters:
    """Events that were given up after the last attempt, by number; `next` is the cursor of the following page, null on the
    last."""
    letters = _of(context).dead_letters(webhook, caller, limit + 1, after)
    following = str(letters[limit - 1].event.sequence) if len(letters) > limit else None
    return {"items": [letter_document(letter) for letter in letters[:limit]], "next": following}


@router.post(
    "/webhooks/{webhook}/redeliver", response_model=model_of(documents.Redelivered), summary="Send dead letters again",
    dependencies=JSON, name="webhook_redeliver",
)  # fmt: skip
def redeliver(webhook: Id, body: RedeliverIn, context: TheContext, caller: TheCaller) -> documents.Redelivered:
    """These, or all: each goes before what still waits of its reservation."""
    return {"waiting": _of(context).redeliver(webhook, body.sequences, caller, context.now())}
