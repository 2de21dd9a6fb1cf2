"""The audit log as server-sent events: resumed by number without loss or repeat, bounded in number, ended at shutdown."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from fastapi import HTTPException, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import Event
from slotcar.store import Ledger
from slotcar.store.queries import EventFilter
from slotcar.views.documents import event_document

#: A line that keeps proxies from hanging up.
HEARTBEAT_S = 15.0
#: How often a quiet stream looks whether its reader or the server has gone.
LOOK_S = 1.0
PAGE = 200
MOST_STREAMS = 200
#: Of one reader: it cannot take the places of all others.
MOST_STREAMS_EACH = 20
#: Threads that ask the database for all streams; one of them waits for what is new.
ASKERS = 4
#: A reader that takes nothing for so long has gone.
STUCK_S = 60.0
#: What an `EventSource` waits before it comes again.
COME_AGAIN_MS = 2000
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
AWAY = ": the ledger's database does not answer; this goes on when it does\n\n"


def frame(event: Event) -> str:
    """One event on the wire: its number is the id that a reader comes back with."""
    return f"id: {event.sequence}\nevent: {event.kind}\ndata: {json.dumps(event_document(event))}\n\n"


@dataclass(frozen=True, slots=True)
class Framing:
    """How a stream says an event, that there is none, and that the database does not answer."""

    event: Callable[[Event], str] = frame
    heartbeat: str = ":\n\n"
    away: str = AWAY


class Streams:
    """The streams of one API. One task waits for news for all of them, so that a thousand readers ask once."""

    def __init__(
        self, most: int = MOST_STREAMS, heartbeat_s: float = HEARTBEAT_S, each: int = MOST_STREAMS_EACH
    ) -> None:
        self.most = most
        self.each = each
        self.heartbeat_s = heartbeat_s
        #: Set at shutdown: every stream ends by itself then.
        self.closing = threading.Event()
        self._readers: Counter[str] = Counter()
        self._latest = 0
        self._away = False
        self._pulse: asyncio.Event | None = None
        self._watch: asyncio.Task[None] | None = None
        self._askers: anyio.CapacityLimiter | None = None

    @property
    def count(self) -> int:
        return self._readers.total()

    def respond(
        self, request: Request, ledger: Ledger, after: int, wanted: EventFilter, reader: str, still: Callable[[], bool],
        framing: Framing | None = None,
    ) -> StreamingResponse:  # fmt: skip
        """The events after the number `after` that are `wanted`, and those to come while the reader may `still` have them.

        Raises:
            HTTPException: 429, `reader` has so many streams open already; 503, all readers have.
        """
        if self._readers[reader] >= self.each:
            raise HTTPException(429, f"you have {self.each} event streams open, and may have no more: end one first")
        if self.count >= self.most:
            raise HTTPException(503, f"{self.most} event streams are open, and no more may be: try again later")
        self._readers[reader] += 1
        return _Counted(self, self._lines(request, ledger, after, wanted, still, framing or Framing()), reader)

    def left(self, reader: str) -> None:
        self._readers[reader] -= 1
        if not self._readers[reader]:
            del self._readers[reader]

    async def ask(self, question: Any, *given: Any) -> Any:
        """The answer of a blocking question to the ledger.

        Raises:
            LedgerUnavailable.
        """
        if self._askers is None:
            self._askers = anyio.CapacityLimiter(ASKERS)
        return await anyio.to_thread.run_sync(partial(question, *given), limiter=self._askers, abandon_on_cancel=True)

    async def _lines(
        self,
        request: Request,
        ledger: Ledger,
        after: int,
        wanted: EventFilter,
        still: Callable[[], bool],
        framing: Framing,
    ) -> AsyncIterator[str]:
        yield f"retry: {COME_AGAIN_MS}\n: events after {after}\n\n"
        fresh, reported_away, spoke_at = True, False, time.monotonic()
        while not self.closing.is_set() and still() and not await request.is_disconnected():
            # Read before the page: every event up to it can be seen by then, so none is passed over.
            latest = self._latest
            listed: tuple[Event, ...] = ()
            try:
                if fresh or latest > after:
                    listed = await self.ask(ledger.events_of, wanted, after, PAGE)
                    self._away = False
            except LedgerUnavailable:
                self._away, latest = True, after
            if self._away and not reported_away:
                spoke_at = time.monotonic()
                yield framing.away
            reported_away = self._away
            for event in listed:
                after, spoke_at = event.sequence, time.monotonic()
                yield framing.event(event)
            fresh = len(listed) == PAGE
            if fresh:
                continue
            after = max(after, latest)
            if time.monotonic() - spoke_at >= self.heartbeat_s:
                spoke_at = time.monotonic()
                yield framing.heartbeat
            await self._news(ledger, after)

    async def _news(self, ledger: Ledger, after: int) -> None:
        """Returns when there may be an event after `after`, or after `LOOK_S`."""
        if self._watch is None or self._watch.done():
            self._pulse = asyncio.Event()
            self._watch = asyncio.create_task(self._look_out(ledger))
        if self._latest <= after and self._pulse is not None:
            await self._pulse.wait()

    async def _look_out(self, ledger: Ledger) -> None:
        """Wakes all streams at every event, and every `LOOK_S` though there is none; ends after the last stream."""
        try:
            while self.count and not self.closing.is_set():
                try:
                    await self.ask(ledger.wait_for_event, self._latest, LOOK_S)
                    self._latest = await self.ask(ledger.last_event)
                    self._away = False
                except LedgerUnavailable:
                    self._away = True
                    self._wake()
                    await asyncio.sleep(LOOK_S)
                self._wake()
        finally:
            self._wake()

    def _wake(self) -> None:
        assert self._pulse is not None
        self._pulse.set()
        self._pulse = asyncio.Event()


class _Counted(StreamingResponse):
    """A stream that counts until it is over, however it ends."""

    def __init__(self, streams: Streams, lines: AsyncIterator[str], reader: str) -> None:
        super().__init__(lines, media_type="text/event-stream", headers=HEADERS)
        self._streams = streams
        self._reader = reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_soon(message: Any) -> None:
            with anyio.fail_after(STUCK_S):
                await send(message)

        try:
            await super().__call__(scope, receive, send_soon)
        except TimeoutError:
            return
        finally:
            self._streams.left(self._reader)
