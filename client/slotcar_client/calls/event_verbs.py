"""The audit log, and the webhooks that it is sent to."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar_client.calls.requests import Time, pages, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def events(
    *, kinds: Iterable[str] = (), reservation: str | None = None, device: str | None = None, owner: str | None = None,
    name: str | None = None, label: str | None = None, since: Time | None = None, until: Time | None = None,
    newest: bool = False, after: int | None = None, limit: int = 100,
) -> Conversation[list[documents.Event]]:  # fmt: skip
    """At most `limit` of the audit log: the first after the number `after`, or with `newest` the last before it."""
    begin, end, first = time_text(since), time_text(until), after or 0
    verb = verbs.Events(list(kinds) or None, reservation, device, owner, name, label, begin, end, newest, first)
    return (yield from pages(verb, limit, goes_on=True))


def webhook_add(url: str, *, secret: str | None = None, kinds: Iterable[str] = ()) -> Conversation[documents.Webhook]:
    """A requester's gets the events of its own reservations, and its answer is the only one with the signing secret."""
    return (yield from send(verbs.WebhookAdd(url, secret, list(kinds))))


def webhook_list() -> Conversation[list[documents.Webhook]]:
    return (yield from send(verbs.WebhookList()))["items"]


def webhook_remove(webhook: str) -> Conversation[documents.Webhook]:
    return (yield from send(verbs.WebhookRemove(webhook)))


def webhook_test(webhook: str) -> Conversation[documents.Tested]:
    """Has one message sent at once, and says what became of it."""
    return (yield from send(verbs.WebhookTest(webhook)))


def webhook_dead_letters(webhook: str, limit: int | None = None) -> Conversation[list[documents.DeadLetter]]:
    """Events that were given up: all of them, page by page, or the first `limit`."""
    return (yield from pages(verbs.WebhookDeadLetters(webhook), limit))


def webhook_redeliver(webhook: str, sequences: Iterable[int] | None = None) -> Conversation[int]:
    """How many of the dead letters, these or all, wait again."""
    numbers = None if sequences is None else list(sequences)
    return (yield from send(verbs.WebhookRedeliver(webhook, numbers)))["waiting"]
