"""What operators do with webhooks, and owners with those of their own reservations: add, list, test, remove, redeliver."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from slotcar.base.problems import shortened
from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller, only_owner, require_operator
from slotcar.book.rules.webhooks import WrongWebhook, check_kinds, check_requesters, check_room
from slotcar.notify.errors import UnknownWebhook, WrongKind
from slotcar.notify.message import trial_message
from slotcar.notify.sending import ANSWER_S, ANSWERED, NO_ANSWER, DeliveryOutcome, Sender, checked_url
from slotcar.notify.signing import DERIVED, DerivedSecrets, keys_at
from slotcar.store import Ledger
from slotcar.store.webhooks import Backlog, Delivery, Webhook
from slotcar.views.documents import event_document
from slotcar.views.events import shown_to
from slotcar_client.wire import documents
from slotcar_client.wire.events import KINDS

#: The first words of all kinds of events that there are.
FAMILIES = tuple(dict.fromkeys(kind.partition(".")[0] for kind in KINDS))
T = TypeVar("T", Webhook, Delivery)
_KIND = re.compile(r"(?P<family>[a-z-]+)(\.[a-z-]*)?")


@dataclass(frozen=True, slots=True)
class Webhooks:
    """An operator has to do with all, a requester with its owner's; every method raises `NotAllowed` for an auditor."""

    ledger: Ledger
    settings: Settings

    @property
    def derived(self) -> DerivedSecrets:
        return DerivedSecrets(self.settings.webhook_key_path)

    def add(self, url: str, secret: str | None, kinds: Sequence[str], caller: Caller, now: datetime) -> Webhook:
        """Registers a receiver of what is recorded from now on: of all events, or of those of a requester's own
        reservations.

        Args:
            secret: where its secret is: `file:/FULL/PATH` or `env:NAME`; None for a requester, for whom it is derived.
            kinds: beginnings of kinds of events; none for all.

        Raises:
            WrongUrl, SecretUnusable, WrongKind. WrongWebhook: too many kinds or webhooks; a requester's goes to a host
            that the operator has not named, or names a secret.
        """
        owner = _owner(caller, "add a webhook")
        checked_url(url)
        webhook_id = f"wh-{secrets.token_hex(6)}"
        place = self._place(webhook_id, secret) if owner is None else self._place_of_owner(webhook_id, url, secret)
        for kind in kinds:
            _check_kind(kind)
        check_kinds(len(kinds))
        check_room(owner, [one.owner for one in self.ledger.webhooks.all()])
        return self.ledger.webhooks.add(webhook_id, url, place, tuple(dict.fromkeys(kinds)), now, caller.name, owner)

    def _place(self, webhook_id: str, secret: str | None) -> str:
        if secret is None:
            return self.derived.place(webhook_id)
        keys_at(secret)
        return secret

    def _place_of_owner(self, webhook_id: str, url: str, secret: str | None) -> str:
        check_requesters(url, secret, self.settings.webhook_hosts)
        return self.derived.place(webhook_id)

    def new_document(self, webhook: Webhook) -> documents.Webhook:
        """The webhook as it was just added, with its signing secret where that is derived: the only time it is said."""
        derived = webhook.secret.startswith(f"{DERIVED}:")
        return webhook_document(webhook, Backlog(), self.derived.secret(webhook.id) if derived else None)

    def list(self, caller: Caller) -> tuple[tuple[Webhook, Backlog], ...]:
        owner = _owner(caller, "list webhooks")
        backlogs = self.ledger.webhooks.backlogs()
        listed = (one for one in self.ledger.webhooks.all() if owner in (None, one.owner))
        return tuple((_without_reason(one, owner), backlogs.get(one.id, Backlog())) for one in listed)

    def remove(self, webhook_id: str, caller: Caller) -> Webhook:
        """Removes a webhook and the events that wait for it."""
        webhook = self._need(webhook_id, caller, "remove a webhook")
        self.ledger.webhooks.remove(webhook_id)
        return _without_reason(webhook, _owner(caller, "remove a webhook"))

    def test(self, webhook_id: str, caller: Caller, now: datetime) -> DeliveryOutcome:
        """Sends a message of the kind `webhook.test` at once, from here, once.

        A requester is told no more of a receiver without an answer than that there was none, and after the time that the
        slowest has: which ports of a host are open is not its business.

        Raises:
            SecretUnusable.
        """
        webhook = self._need(webhook_id, caller, "test a webhook")
        owner = _owner(caller, "test a webhook")
        keys = self.derived.keys(webhook.id, webhook.secret)
        message = trial_message(webhook.id, secrets.token_hex(4), now)

        async def send() -> DeliveryOutcome:
            began_s = time.monotonic()
            async with Sender(ANSWER_S) as sender:
                outcome = await sender.send(webhook.url, message.body, message.headers(keys, now))
            if owner is not None and outcome.status is None:
                await asyncio.sleep(max(0.0, ANSWER_S - (time.monotonic() - began_s)))
                return DeliveryOutcome(False, None, NO_ANSWER)
            return outcome

        return asyncio.run(send())

    def dead_letters(self, webhook_id: str, caller: Caller, limit: int = 100, after: int = 0) -> tuple[Delivery, ...]:
        """The first events after a number that were given up, by number, as the caller may see them."""
        self._need(webhook_id, caller, "see dead letters")
        owner, letters = _owner(caller, "see dead letters"), self.ledger.webhooks.dead(webhook_id, limit, after)
        return tuple(replace(_without_reason(one, owner), event=shown_to(one.event, caller)) for one in letters)

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
                    f"{', '.join(map(str, unknown))} is not a dead letter of {webhook_id}: see its dead letters"
                )
        return self.ledger.webhooks.revive(webhook_id, sequences, now)

    def _need(self, webhook_id: str, caller: Caller, what: str) -> Webhook:
        owner = _owner(caller, what)
        webhook = self.ledger.webhooks.get(webhook_id) if webhook_id.isprintable() else None
        if webhook is None or owner not in (None, webhook.owner):
            raise UnknownWebhook(f"there is no webhook {shortened(webhook_id)}: see `slotcar webhook list`")
        return webhook


def _owner(caller: Caller, what: str) -> str | None:
    """The owner whose webhooks the caller may use: a requester's own; None for an operator, who may use all.

    Raises:
        NotAllowed: an auditor.
    """
    owner = only_owner(caller)
    if owner is None:
        require_operator(caller, what)
    return owner


def _without_reason(one: T, owner: str | None) -> T:
    """What an owner is told of its webhook, or of a letter of it: the status of an answer, and nothing of why there was
    none."""
    if owner is None or not one.last_error or one.last_error.startswith(ANSWERED):
        return one
    return replace(one, last_error=NO_ANSWER)


def _check_kind(kind: str) -> None:
    match = _KIND.fullmatch(kind)
    if match is None or match["family"] not in FAMILIES:
        raise WrongKind(
            f"no event's kind begins with {shortened(kind)}: say one of {', '.join(f'{one}.' for one in FAMILIES)}"
            " or a kind such as push.failed"
        )


def webhook_document(webhook: Webhook, backlog: Backlog, signing_secret: str | None = None) -> documents.Webhook:
    return {
        "id": webhook.id,
        "url": webhook.url,
        "owner": webhook.owner,
        "secret": webhook.secret.partition(":")[0] if webhook.secret.startswith(DERIVED) else webhook.secret,
        "signing_secret": signing_secret,
        "kinds": list(webhook.kinds),
        "created_at": iso(webhook.created_at),
        "created_by": webhook.created_by,
        "waiting": backlog.waiting,
        "dead": backlog.dead,
        "delivered_at": iso(webhook.delivered_at) if webhook.delivered_at else None,
        "last_error": webhook.last_error,
    }


def letter_document(letter: Delivery) -> documents.DeadLetter:
    assert letter.dead_at is not None
    return {
        "event": event_document(letter.event),
        "attempts": letter.attempts,
        "queued_at": iso(letter.queued_at),
        "dead_at": iso(letter.dead_at),
        "last_error": letter.last_error,
    }
