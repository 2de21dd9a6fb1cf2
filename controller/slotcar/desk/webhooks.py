"""Webhooks. Operators have all, owners those of their own reservations (ADR 26)."""

from __future__ import annotations

from datetime import datetime

from slotcar.desk.desk import Desk, answers
from slotcar.notify.webhooks import Webhooks, letter_document, webhook_document
from slotcar.policy.caller import Caller
from slotcar.store.webhooks import Backlog
from slotcar_client.wire import documents, verbs


def _of(desk: Desk) -> Webhooks:
    return Webhooks(desk.ledger, desk.settings)


@answers(verbs.WebhookAdd)
def webhook_add(verb: verbs.WebhookAdd, desk: Desk, caller: Caller, now: datetime) -> documents.Webhook:
    webhooks = _of(desk)
    return webhooks.new_document(webhooks.add(verb.url, verb.secret, verb.kinds, caller, now))


@answers(verbs.WebhookList)
def webhook_list(_verb: verbs.WebhookList, desk: Desk, caller: Caller, _now: datetime) -> documents.Webhooks:
    return {"items": [webhook_document(*listed) for listed in _of(desk).list(caller)]}


@answers(verbs.WebhookRemove)
def webhook_remove(verb: verbs.WebhookRemove, desk: Desk, caller: Caller, _now: datetime) -> documents.Webhook:
    return webhook_document(_of(desk).remove(verb.webhook, caller), Backlog())


@answers(verbs.WebhookTest)
def webhook_test(verb: verbs.WebhookTest, desk: Desk, caller: Caller, now: datetime) -> documents.Tested:
    outcome = _of(desk).test(verb.webhook, caller, now)
    return {"delivered": outcome.ok, "status": outcome.status, "message": outcome.words}


@answers(verbs.WebhookDeadLetters)
def webhook_dead_letters(
    verb: verbs.WebhookDeadLetters, desk: Desk, caller: Caller, _now: datetime
) -> documents.DeadLetters:
    limit = verb.limit
    letters = _of(desk).dead_letters(verb.webhook, caller, limit + 1, int(verb.after))
    following = str(letters[limit - 1].event.sequence) if len(letters) > limit else None
    return {"items": [letter_document(letter) for letter in letters[:limit]], "next": following}


@answers(verbs.WebhookRedeliver)
def webhook_redeliver(
    verb: verbs.WebhookRedeliver, desk: Desk, caller: Caller, now: datetime
) -> documents.Redelivered:
    return {"waiting": _of(desk).redeliver(verb.webhook, verb.sequences, caller, now)}
