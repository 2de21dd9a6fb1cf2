"""What an operator does with webhooks: add, list, test, remove, look at what was given up, send it again."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controller.auth.access import require_operator
from controller.auth.tokens import Caller
from controller.ledger import Ledger
from controller.ledger.webhooks import Backlog, Delivery, Webhook
from controller.notify.message import trial_message
from controller.notify.sending import Outcome, Sender, checked_url
from controller.notify.signing import keys_at
from controller.problems import SlotcarError
from controller.timebase import iso
from controller.views.documents import event_document

#: Each is looked after at every event.
MOST_WEBHOOKS = 50
MOST_KINDS = 20
#: The first words of all kinds of events that there are.
FAMILIES = ("reservation", "push", "boundary", "device", "controller")
_KIND = re.compile(r"(?P<family>[a-z-]+)(\.[a-z-]*)?")


class UnknownWebhook(SlotcarError):
    """There is no webhook of that id."""


class WrongKind(SlotcarError):
    """No event's kind begins so."""


class WrongWebhook(SlotcarError):
    """What is asked of a webhook makes no sense; the message says what would."""


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Every method raises `NotAllowed` for who is no operator."""

    ledger: Ledger

    def add(self, url: str, secret: str, kinds: Sequence[str], caller: Caller, now: datetime) -> Webhook:
        """Registers a receiver of what is recorded from now on.

        Args:
            secret: where its secret is: `file:/FULL/PATH` or `env:NAME`.
            kinds: beginnings of kinds of events; none for all.

        Raises:
            WrongUrl, SecretUnusable, WrongKind. WrongWebhook: too many kinds or webhooks.
        """
        require_operator(caller, "add a webhook")
        checked_url(url)
        keys_at(secret)
        for kind in kinds:
            _check_kind(kind)
        if len(kinds) > MOST_KINDS:
            raise WrongWebhook(f"{len(kinds)} kinds are more than {MOST_KINDS}: say beginnings such as `push.`")
        if len(self.ledger.webhooks.all()) >= MOST_WEBHOOKS:
            raise WrongWebhook(f"there are {MOST_WEBHOOKS} webhooks, and no more may be: remove one first")
        made = f"wh-{secrets.token_hex(6)}"
        return self.ledger.webhooks.add(made, url, secret, tuple(dict.fromkeys(kinds)), now, caller.name)

    def list(self, caller: Caller) -> tuple[tuple[Webhook, Backlog], ...]:
        require_operator(caller, "list webhooks")
        backlogs = self.ledger.webhooks.backlogs()
        return tuple((one, backlogs.get(one.id, Backlog())) for one in self.ledger.webhooks.all())

    def remove(self, webhook_id: str, caller: Caller) -> Webhook:
        """With what waits for it."""
        webhook = self._need(webhook_id, caller, "remove a webhook")
        self.ledger.webhooks.remove(webhook_id)
        return webhook

    def test(self, webhook_id: str, caller: Caller, now: datetime) -> Outcome:
        """Sends a message of the kind `webhook.test` at once, from here, once.

        Raises:
            SecretUnusable.
        """
        webhook = self._need(webhook_id, caller, "test a webhook")
        keys = keys_at(webhook.secret)
        message = trial_message(webhook.id, secrets.token_hex(4), now)

        async def send() -> Outcome:
            async with Sender() as sender:
                return await sender.send(webhook.url, message.body, message.headers(keys, now))

        return asyncio.run(send())

    def dead_letters(self, webhook_id: str, caller: Caller, limit: int = 100) -> tuple[Delivery, ...]:
        """What was given up, by number."""
        self._need(webhook_id, caller, "see dead letters")
        return self.ledger.webhooks.dead(webhook_id, limit)

    def redeliver(self, webhook_id: str, sequences: Collection[int] | None, caller: Caller, now: datetime) -> int:
        """Dead letters wait again, these or all: each before what still waits of its reservation.

        Raises:
            WrongWebhook: one of `sequences` is no dead letter; none is touched then.
        """
        self._need(webhook_id, caller, "redeliver dead letters")
        if sequences is not None:
            dead = {one.event.sequence for one in self.ledger.webhooks.dead(webhook_id, 100_000)}
            unknown = sorted(set(sequences) - dead)
            if unknown:
                raise WrongWebhook(
                    f"{', '.join(map(str, unknown))} is no dead letter of {webhook_id}: see its dead letters"
                )
        return self.ledger.webhooks.revive(webhook_id, sequences, now)

    def _need(self, webhook_id: str, caller: Caller, what: str) -> Webhook:
        require_operator(caller, what)
        webhook = self.ledger.webhooks.get(webhook_id) if webhook_id.isprintable() else None
        if webhook is None:
            raise UnknownWebhook(f"there is no webhook {webhook_id[:60]}: see `slotcar webhook list`")
        return webhook


def _check_kind(kind: str) -> None:
    match = _KIND.fullmatch(kind)
    if match is None or match["family"] not in FAMILIES:
        raise WrongKind(
            f"no event's kind begins with {kind[:60]}: say one of {', '.join(f'{one}.' for one in FAMILIES)} or a kind"
            " such as push.failed"
        )


def webhook_document(webhook: Webhook, backlog: Backlog) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "url": webhook.url,
        "secret": webhook.secret,
        "kinds": list(webhook.kinds),
        "created_at": iso(webhook.created_at),
        "created_by": webhook.created_by,
        "waiting": backlog.waiting,
        "dead": backlog.dead,
        "delivered_at": iso(webhook.delivered_at) if webhook.delivered_at else None,
        "last_error": webhook.last_error,
    }


def letter_document(letter: Delivery) -> dict[str, Any]:
    return {
        "event": event_document(letter.event),
        "attempts": letter.attempts,
        "queued_at": iso(letter.queued_at),
        "dead_at": iso(letter.dead_at) if letter.dead_at else None,
        "last_error": letter.last_error,
    }
