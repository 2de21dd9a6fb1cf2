"""Delivers what waits: at least once, in order per reservation, by one controller at a time.

Where each webhook stands is in the database alone. What was sent and not yet recorded when a controller died is sent
again, under the same `webhook-id`.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import structlog

from slotcar.base.timebase import ClockWatch
from slotcar.book.errors import LedgerUnavailable
from slotcar.notify.backoff import Backoff
from slotcar.notify.errors import SecretUnusable
from slotcar.notify.message import message_of
from slotcar.notify.sending import ANSWER_S, DeliveryOutcome, Sender
from slotcar.notify.signing import DerivedSecrets
from slotcar.store import Ledger
from slotcar.store.listening import Lease
from slotcar.store.webhooks import Delivery, Webhook

log = structlog.get_logger("slotcar.webhooks")
T = TypeVar("T")
Lane = tuple[str, str]
#: Messages to one receiver at a time: one that hangs holds up no other.
MOST_AT_ONCE = 4
#: How soon a retry that is due, or leadership, is noticed.
LOOK_S = 0.5
#: What a message that is on its way gets at a stop.
STOP_S = 3.0


@dataclass(slots=True)
class DeliveryCounts:
    """Since the start of this controller, by webhook."""

    delivered: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Dispatcher:
    """The dispatcher of one controller.

    Attributes:
        leads: whether this controller leads; asked at every turn.
        clock: the present instant, aware UTC. monotonic: seconds that nobody sets.
        derived: secrets of webhooks that owners added.
    """

    ledger: Ledger
    leads: Callable[[], bool]
    clock: Callable[[], datetime]
    derived: DerivedSecrets
    backoff: Backoff = field(default_factory=Backoff)
    answer_s: float = ANSWER_S
    chance: Callable[[], float] = random.random
    counts: DeliveryCounts = field(default_factory=DeliveryCounts)
    monotonic: Callable[[], float] = time.monotonic

    def run(self, stopping: threading.Event) -> None:
        """Delivers while it leads, until it is told to stop. Survives a database that comes and goes."""
        asyncio.run(self._run(stopping))

    async def _run(self, stopping: threading.Event) -> None:
        async with Sender(self.answer_s) as sender:
            while not stopping.is_set():
                try:
                    lease = await _aside(self.ledger.webhooks.try_deliver) if self.leads() else None
                    if lease is not None:
                        with lease:
                            await self._deliver(sender, lease, stopping)
                except LedgerUnavailable as error:
                    log.warning("ledger unavailable", error=str(error))
                if not stopping.is_set():
                    await asyncio.sleep(LOOK_S)

    async def _deliver(self, sender: Sender, lease: Lease, stopping: threading.Event) -> None:
        busy: dict[Lane, asyncio.Task[None]] = {}
        watch = ClockWatch(self.clock, self.monotonic)
        news: asyncio.Task[Any] | None = None
        try:
            await self._shorten_waits()  # the clock of whoever delivered before may have been wrong
            while not stopping.is_set() and self.leads() and await _aside(lease.is_held):
                last_event = await _aside(self.ledger.last_event)
                if by := watch.set_by():
                    watch.accept()
                    log.warning("the clock was set", by_s=by.total_seconds())
                    await self._shorten_waits()
                more = await _aside(self.ledger.webhooks.queue, self.clock())
                for lane in await _aside(self.ledger.webhooks.due, self.clock()):
                    at_once = sum(webhook == lane[0] for webhook, _ in busy)
                    if lane not in busy and at_once < MOST_AT_ONCE:
                        busy[lane] = asyncio.create_task(self._drain(sender, lane, stopping))
                if news is None or news.done():
                    news = asyncio.create_task(_aside(self.ledger.wait_for_event, last_event, LOOK_S))
                if not more:
                    await asyncio.wait({news, *busy.values()}, return_when=asyncio.FIRST_COMPLETED)
                busy = _still(busy)
        finally:
            await _wind_up([*busy.values(), *([news] if news else [])])

    async def _shorten_waits(self) -> None:
        longest_waits = self.backoff.longest_waits()
        if count := await _aside(self.ledger.webhooks.shorten_waits, longest_waits, self.clock()):
            log.warning("webhook deliveries had been postponed by a clock that was ahead", count=count)

    async def _drain(self, sender: Sender, lane: Lane, stopping: threading.Event) -> None:
        """Sends what waits in a lane, one after the other, until one has to wait or none is left."""
        store = self.ledger.webhooks
        while not stopping.is_set() and self.leads():
            webhook = await _aside(store.get, lane[0])
            delivery = await _aside(store.first_of, *lane)
            if webhook is None or delivery is None or delivery.next_at > self.clock():
                return
            outcome = await self._send(sender, webhook, delivery)
            if outcome.ok:
                self.counts.delivered[webhook.id] += 1
                await _aside(store.delivered, webhook.id, delivery.event.sequence, self.clock())
            elif await self._failed(delivery, outcome):
                return

    async def _send(self, sender: Sender, webhook: Webhook, delivery: Delivery) -> DeliveryOutcome:
        try:
            keys = self.derived.keys(webhook.id, webhook.secret)
        except SecretUnusable as error:
            return DeliveryOutcome(False, None, str(error))
        message = message_of(webhook.id, delivery.event, webhook.owner)
        return await sender.send(webhook.url, message.body, message.headers(keys, self.clock()))

    async def _failed(self, delivery: Delivery, outcome: DeliveryOutcome) -> bool:
        """Whether it waits for another attempt; else it is given up, and what comes after it goes on."""
        attempts = delivery.attempts + 1
        wait = self.backoff.wait(attempts, self.chance())
        now = self.clock()
        self.counts.failed[delivery.webhook] += 1
        await _aside(
            self.ledger.webhooks.failed, delivery.webhook, delivery.event.sequence, attempts,
            now + wait if wait is not None else None, now, outcome.words,
        )  # fmt: skip
        log.warning(
            "webhook not delivered", webhook=delivery.webhook, event_number=delivery.event.sequence, attempts=attempts,
            error=outcome.words, again_in_s=round(wait.total_seconds(), 1) if wait is not None else None,
        )  # fmt: skip
        return wait is not None


def _still(busy: dict[Lane, asyncio.Task[None]]) -> dict[Lane, asyncio.Task[None]]:
    """The deliveries that still go on; the error of a finished one is raised."""
    for task in busy.values():
        if task.done():
            task.result()
    return {lane: task for lane, task in busy.items() if not task.done()}


async def _wind_up(tasks: list[asyncio.Task[Any]]) -> None:
    """Lets what is on its way arrive and be recorded, for a moment; then it is left to the next controller."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=STOP_S)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _aside(question: Callable[..., T], *arguments: Any) -> T:
    """A blocking question to the ledger, asked in another thread."""
    return await asyncio.to_thread(question, *arguments)
