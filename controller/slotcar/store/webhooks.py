"""Webhooks in the ledger: where each stands in the audit log, what waits for it, and what was given up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, Row, func, select, text

from slotcar.book.model import Event
from slotcar.store import database, rows, schema
from slotcar.store.listening import Lease, try_lead

#: The advisory lock of whoever delivers.
DELIVERER_KEY = 5_107_003
#: Events that are looked through in one transaction.
PAGE = 1000
#: While so many wait for one webhook, later events stay in the log.
MOST_WAITING = 10_000
#: Lanes of one webhook that are told to be due at once.
LANES = 16
_hook, _waiting, _event = schema.webhook.c, schema.webhook_delivery.c, schema.event.c


@dataclass(frozen=True, slots=True)
class Webhook:
    """Attributes:
    secret: where the signing secret is, `file:PATH` or `env:NAME`; never the secret.
    kinds: beginnings of kinds of events; none for all.
    position: every event up to it was queued, or is none of its kinds.
    owner: only events of this owner's reservations are sent; None for all events.
    """

    id: str
    url: str
    secret: str
    kinds: tuple[str, ...]
    position: int
    created_at: datetime
    created_by: str
    delivered_at: datetime | None = None
    last_error: str = ""
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one webhook. `dead_at` is when it was given up."""

    webhook: str
    event: Event
    lane: str
    attempts: int
    queued_at: datetime
    next_at: datetime
    dead_at: datetime | None
    last_error: str


@dataclass(frozen=True, slots=True)
class Backlog:
    waiting: int = 0
    dead: int = 0
    oldest_at: datetime | None = None


class WebhookStore:
    """Every method raises `LedgerUnavailable` where the database does not answer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def try_deliver(self) -> Lease | None:
        """The right to deliver, which one controller has at a time."""
        with database.answering():
            return try_lead(self._engine, DELIVERER_KEY)

    def add(
        self, webhook_id: str, url: str, secret: str, kinds: Collection[str], now: datetime, by: str,
        owner: str | None = None,
    ) -> Webhook:  # fmt: skip
        """Adds a webhook, which gets the events that are recorded from now on."""
        with database.answering(), self._engine.begin() as connection:
            last = connection.execute(text("SELECT event FROM head WHERE id = 1")).scalar_one()
            webhook = Webhook(webhook_id, url, secret, tuple(kinds), last, now, by, owner=owner)
            values = {"id": webhook.id, "url": url, "secret": secret, "kinds": list(kinds), "position": last}
            values |= {"created_at": now, "created_by": by, "last_error": "", "owner": owner}
            connection.execute(schema.webhook.insert().values(**values))
        return webhook

    def all(self) -> tuple[Webhook, ...]:
        with database.reading(self._engine) as connection:
            hooks = connection.execute(select(schema.webhook).order_by(_hook.created_at, _hook.id))
            return tuple(_webhook(row) for row in hooks)

    def get(self, webhook_id: str) -> Webhook | None:
        with database.reading(self._engine) as connection:
            row = connection.execute(select(schema.webhook).where(_hook.id == webhook_id)).one_or_none()
        return _webhook(row) if row else None

    def remove(self, webhook_id: str) -> None:
        """Removes a webhook with its waiting deliveries and its dead letters."""
        with database.answering(), self._engine.begin() as connection:
            connection.execute(schema.webhook.delete().where(_hook.id == webhook_id))

    def backlogs(self) -> dict[str, Backlog]:
        """What waits, by webhook; a webhook for which nothing waits is left out."""
        alive = _waiting.dead_at.is_(None)
        statement = select(
            _waiting.webhook,
            func.count().filter(alive).label("waiting"),
            func.count().filter(~alive).label("dead"),
            func.min(_waiting.queued_at).filter(alive).label("oldest_at"),
        ).group_by(_waiting.webhook)
        with database.reading(self._engine) as connection:
            return {
                row.webhook: Backlog(row.waiting, row.dead, row.oldest_at) for row in connection.execute(statement)
            }

    def queue(self, now: datetime) -> bool:
        """Puts new events before the webhooks that want them; whether there are more to be looked through."""
        more = False
        backlogs = self.backlogs()
        for webhook in self.all():
            if backlogs.get(webhook.id, Backlog()).waiting >= MOST_WAITING:
                continue
            with database.answering(), self._engine.begin() as connection:
                values = {"id": webhook.id, "page": PAGE, "now": now}
                row = connection.execute(text(_LOCK_POSITION), values).one_or_none()
                if row is None or row.upto <= row.position:
                    continue
                connection.execute(text(_QUEUE), {**values, "after": row.position, "upto": row.upto})
                connection.execute(
                    text("UPDATE webhook SET position = :upto WHERE id = :id"), {**values, "upto": row.upto}
                )
                more = more or row.upto < row.last
        return more

    def due(self, now: datetime) -> tuple[tuple[str, str], ...]:
        """Webhook and lane of what may be sent now: each lane's first, so that a reservation's events keep their order."""
        with database.reading(self._engine) as connection:
            lanes = connection.execute(text(_DUE), {"now": now, "lanes": LANES})
            return tuple((row.webhook, row.lane) for row in lanes)

    def first_of(self, webhook_id: str, lane: str) -> Delivery | None:
        """The lane's earliest event that waits."""
        where = (_waiting.webhook == webhook_id, _waiting.lane == lane, _waiting.dead_at.is_(None))
        first = self._deliveries(*where, limit=1)
        return first[0] if first else None

    def dead(self, webhook_id: str, limit: int, after: int = 0) -> tuple[Delivery, ...]:
        """The deliveries that were given up, by number, those after one."""
        later = _waiting.sequence > after
        return self._deliveries(_waiting.webhook == webhook_id, _waiting.dead_at.is_not(None), later, limit=limit)

    def delivered(self, webhook_id: str, sequence: int, now: datetime) -> None:
        with database.answering(), self._engine.begin() as connection:
            connection.execute(_one(schema.webhook_delivery.delete(), webhook_id, sequence))
            statement = schema.webhook.update().where(_hook.id == webhook_id)
            connection.execute(statement.values(delivered_at=now, last_error=""))

    def failed(
        self, webhook_id: str, sequence: int, attempts: int, next_at: datetime | None, now: datetime, why: str
    ) -> None:
        """Notes a failed delivery: it is tried again at `next_at`, and given up where that is None."""
        with database.answering(), self._engine.begin() as connection:
            again = {"next_at": next_at} if next_at is not None else {"dead_at": now}
            waits = _one(schema.webhook_delivery.update(), webhook_id, sequence)
            connection.execute(waits.values(attempts=attempts, last_error=why, **again))
            connection.execute(schema.webhook.update().where(_hook.id == webhook_id).values(last_error=why))

    def shorten_waits(self, longest_waits: Sequence[timedelta], now: datetime) -> int:
        """Brings forward deliveries that a clock which was ahead has postponed: none waits for longer than it may.

        Args:
            longest_waits: by the number of failed attempts, from none on; the last is that of all greater numbers too.

        Returns:
            How many deliveries were brought forward.
        """
        with database.answering(), self._engine.begin() as connection:
            values = {"now": now, "waits": list(longest_waits), "last": len(longest_waits)}
            return connection.execute(text(_SHORTEN_WAITS), values).rowcount

    def revive(self, webhook_id: str, sequences: Collection[int] | None, now: datetime) -> int:
        """Dead letters, these or all, wait again from the first attempt on; how many."""
        statement = schema.webhook_delivery.update().where(
            _waiting.webhook == webhook_id, _waiting.dead_at.is_not(None)
        )
        if sequences is not None:
            statement = statement.where(_waiting.sequence.in_(list(sequences)))
        with database.answering(), self._engine.begin() as connection:
            return connection.execute(statement.values(dead_at=None, attempts=0, next_at=now, queued_at=now)).rowcount

    def _deliveries(self, *where: Any, limit: int) -> tuple[Delivery, ...]:
        statement = (
            select(schema.webhook_delivery, schema.event)
            .join(schema.event, _event.sequence == _waiting.sequence)
            .where(*where)
            .order_by(_waiting.sequence)
            .limit(limit)
        )
        with database.reading(self._engine) as connection:
            return tuple(_delivery(row) for row in connection.execute(statement))


def _one(statement: Any, webhook_id: str, sequence: int) -> Any:
    """The statement for one waiting delivery: it touches nothing where that was delivered or removed meanwhile."""
    return statement.where(_waiting.webhook == webhook_id, _waiting.sequence == sequence, _waiting.dead_at.is_(None))


def _webhook(row: Row[Any]) -> Webhook:
    return Webhook(**{**row._mapping, "kinds": tuple(row.kinds)})


def _delivery(row: Row[Any]) -> Delivery:
    return Delivery(
        row.webhook, rows.event_from_row(row), row.lane, row.attempts, row.queued_at, row.next_at, row.dead_at,
        row.last_error,
    )  # fmt: skip


# Numbers that were left out, as a log does that goes on above the fences of its devices, are not paged through.
_LOCK_POSITION = """
    SELECT webhook.position, head.event AS last, LEAST(head.event, GREATEST(webhook.position, COALESCE(
        (SELECT min(event.sequence) - 1 FROM event WHERE event.sequence > webhook.position), head.event
    )) + :page) AS upto
    FROM webhook, head WHERE webhook.id = :id AND head.id = 1 FOR UPDATE OF webhook
"""
_QUEUE = """
    INSERT INTO webhook_delivery (webhook, sequence, lane, queued_at, next_at)
    SELECT webhook.id, event.sequence, COALESCE(event.handle, 'device ' || event.device, ''), :now, :now
    FROM event, webhook
    WHERE webhook.id = :id AND event.sequence > :after AND event.sequence <= :upto
      AND (webhook.owner IS NULL
           OR EXISTS (SELECT FROM entry WHERE entry.handle = event.handle AND entry.owner = webhook.owner))
      AND (webhook.kinds = '{}' OR EXISTS (SELECT FROM unnest(webhook.kinds) AS kind WHERE starts_with(event.kind, kind)))
    ON CONFLICT DO NOTHING
"""
_SHORTEN_WAITS = """
    UPDATE webhook_delivery SET next_at = latest.next_at
    FROM (
        SELECT webhook, sequence, :now + (CAST(:waits AS interval[]))[LEAST(attempts + 1, :last)] AS next_at
        FROM webhook_delivery WHERE dead_at IS NULL AND next_at > :now
    ) AS latest
    WHERE webhook_delivery.webhook = latest.webhook AND webhook_delivery.sequence = latest.sequence
      AND webhook_delivery.next_at > latest.next_at
"""
# The first of each lane, and of each webhook the lanes that have waited longest.
_DUE = """
    SELECT webhook, lane FROM (
        SELECT webhook, lane, next_at, row_number() OVER (PARTITION BY webhook ORDER BY next_at, lane) AS place
        FROM (
            SELECT DISTINCT ON (webhook, lane) webhook, lane, next_at FROM webhook_delivery
            WHERE dead_at IS NULL ORDER BY webhook, lane, sequence
        ) AS first
        WHERE next_at <= :now
    ) AS placed
    WHERE place <= :lanes ORDER BY next_at
"""
