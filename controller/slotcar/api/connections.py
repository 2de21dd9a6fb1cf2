"""Connections of the API: how many there may be, and how long each may take for what it sends and for what it is sent.

uvicorn limits how long a connection may be idle between two requests, and nothing else: a request that never comes to
its end kept its connection for ever. One timer looks at all connections; nothing is kept for each but a few instants.
"""

from __future__ import annotations

import asyncio
import http
import json
import resource
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import h11
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol

from slotcar.api import local_socket, tls
from slotcar.api.problems import MEDIA_TYPE, title_of
from slotcar.base.logs import RepeatLimit
from slotcar.base.settings import Settings
from slotcar_client.wire.errors import PREFIX

log = structlog.get_logger("slotcar.api")
#: How often the timer looks.
LOOK_S = 0.5
#: Connections that the kernel has accepted and asyncio has not: it takes so many at a time, before any is counted.
BACKLOG = 64
#: Descriptors for everything else: the loop's pushes, the database, the log, files, the processes that make plans.
RESERVED_DESCRIPTORS = 256
#: A reader that takes less than this of an answer within `send_timeout` has gone.
LEAST_TAKEN_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Attributes:
    max_connections, max_per_client: open at a time, of all clients and of one address.
    header_s: from a connection's or request's first moment until its header is whole.
    body_s: from then until its body is whole.
    send_s: within it, a reader takes an answer, or `LEAST_TAKEN_BYTES` of it.
    """

    max_connections: int
    max_per_client: int
    header_s: float
    body_s: float
    send_s: float


def limits_of(settings: Settings, max_connections: int | None = None) -> ConnectionLimits:
    return ConnectionLimits(
        max_connections if max_connections is not None else settings.max_connections,
        settings.max_connections_per_client,
        settings.header_timeout.total_seconds(),
        settings.body_timeout.total_seconds(),
        settings.send_timeout.total_seconds(),
    )


def connection_options(settings: Settings, max_connections: int | None = None) -> dict[str, Any]:
    """What uvicorn is to be told so that its connections keep to the limits.

    WebSockets are off: the API has none, and they would be counted by nobody. What proxies say is read by the application
    (`slotcar.api.proxies`), which knows the operator's.
    """
    return {
        "http": Connections(limits_of(settings, max_connections)).protocol,
        "ws": "none",
        "proxy_headers": False,
        "backlog": BACKLOG,
        "timeout_keep_alive": max(1, round(settings.keep_alive.total_seconds())),
    }


def reserve_descriptors(wanted: int) -> int:
    """How many connections of those `wanted` there may be, so that descriptors remain for everything else.

    The limit of this process is raised as far as that takes; where the system forbids it, connections give way.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + BACKLOG + RESERVED_DESCRIPTORS
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < needed:
        soft = needed if hard == unlimited else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == unlimited or soft >= needed:
        return wanted
    # Of a limit that is too low for any division, most is the controller's own.
    allowed = max(8, soft - BACKLOG - RESERVED_DESCRIPTORS, soft // 4)
    log.warning(
        "fewer connections than SLOTCAR_MAX_CONNECTIONS: the limit of open files is too low",
        connections=allowed, wanted=wanted, open_files=soft,
    )  # fmt: skip
    return min(allowed, wanted)


@dataclass(slots=True)
class Connections:
    """All connections of one server; `protocol` is what uvicorn is told to use for each."""

    limits: ConnectionLimits
    open: set[TimedProtocol] = field(default_factory=set)
    by_client: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    timed_out: int = 0
    _watch: asyncio.TimerHandle | None = None
    _log_limit: RepeatLimit = field(default_factory=lambda: RepeatLimit(most=5, within=timedelta(minutes=1)))

    def protocol(self, **arguments: Any) -> TimedProtocol:
        return TimedProtocol(self, **arguments)

    def why_full(self, client: str) -> str:
        """Why a connection from `client` cannot be taken; empty where it can."""
        if len(self.open) >= self.limits.max_connections:
            return f"{self.limits.max_connections} connections are open, and no more may be: try again later"
        if self.by_client[client] >= self.limits.max_per_client:
            return (
                f"{self.limits.max_per_client} connections of {client} are open, and no more of one address may be:"
                " try again later"
            )
        return ""

    def opened(self, one: TimedProtocol) -> None:
        self.open.add(one)
        self.by_client[one.address] += 1
        if self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def closed(self, one: TimedProtocol) -> None:
        if one in self.open:
            self.open.discard(one)
            self.by_client[one.address] -= 1
            if not self.by_client[one.address]:
                del self.by_client[one.address]

    def tell(self, event: str, **details: Any) -> None:
        """Logs what a client did, a few times a minute."""
        skipped = self._log_limit.admit(event, time.monotonic())
        if skipped is not None:
            log.warning(event, **details, **({"not_logged_before": skipped} if skipped else {}))

    def _look(self) -> None:
        now = time.monotonic()
        for one in tuple(self.open):
            one.look(now)
        self._watch = asyncio.get_running_loop().call_later(LOOK_S, self._look) if self.open else None


class TimedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with limits of time and number. It is idle, or reads a header, or a body, or answers."""

    def __init__(self, all_of_them: Connections, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._all = all_of_them
        self.address = ""
        #: Since when a header is awaited, or a body; None where neither is.
        self._header_since: float | None = None
        self._body_since: float | None = None
        #: The write buffer when its reader last took enough of it, and when that was.
        self._unsent_bytes = 0
        self._taken_at = time.monotonic()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        uid = local_socket.uid_of(transport)
        self.address = f"account {uid}" if uid is not None else self.client[0] if self.client else ""
        self.app_state = {**self.app_state, tls.STATE: tls.names_of(transport), local_socket.STATE: uid}
        if why := self._all.why_full(self.address):
            self._all.refused += 1
            self._all.tell("connection refused", client=self.address, why=why)
            self._refuse(503, why)
            # A client that does not read keeps no place: what the kernel has not taken by now is not sent.
            if transport.get_write_buffer_size():
                transport.abort()
            return
        self._header_since = time.monotonic()
        self._all.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.closed(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._header_since is None and self.conn.their_state is h11.IDLE:
            self._header_since = time.monotonic()  # the next request of a connection that is kept
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        theirs = self.conn.their_state
        if theirs is h11.SEND_BODY:
            self._header_since = None
            self._body_since = self._body_since or time.monotonic()
        elif theirs is not h11.IDLE or self._body_since is not None:  # the request came whole
            self._header_since = self._body_since = None

    def resume_writing(self) -> None:
        """The reader took what had piled up: a stream writes no more before."""
        self._unsent_bytes, self._taken_at = 0, time.monotonic()
        super().resume_writing()

    def look(self, now: float) -> None:
        """Ends the connection where it takes too long."""
        limits = self._all.limits
        if self._header_since is not None and now - self._header_since > limits.header_s:
            self._late("header", f"the request's header took longer than {limits.header_s:g} s")
        elif self._body_since is not None and now - self._body_since > limits.body_s:
            self._late("body", f"the request's body took longer than {limits.body_s:g} s")
        self._look_at_reader(now)

    def _late(self, what: str, why: str) -> None:
        self._all.timed_out += 1
        self._all.tell("request timed out", client=self.address, what=what)
        self._header_since = self._body_since = None
        self._refuse(408, why)

    def _look_at_reader(self, now: float) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent <= self._unsent_bytes - LEAST_TAKEN_BYTES or self._unsent_bytes == 0:
            self._unsent_bytes, self._taken_at = unsent, now
        elif now - self._taken_at > self._all.limits.send_s:
            self._all.timed_out += 1
            self._all.tell("reader timed out", client=self.address, unsent_bytes=unsent)
            self.transport.abort()

    def _refuse(self, status: int, why: str) -> None:
        """Says why where no answer has begun, and closes."""
        begun = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if not begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_problem(status, why))
        self.transport.close()


def _problem(status: int, why: str) -> bytes:
    """A whole response: the connection is refused before it has a request, so nothing else can write it."""
    phrase = http.HTTPStatus(status).phrase
    kind, title = title_of(status)
    body = json.dumps(
        {
            "type": f"{PREFIX}{kind}", "title": title, "status": status, "detail": why, "instance": "",
            "errors": None, "refusal": None, "current_version": None,
        }
    ).encode()  # fmt: skip
    again = "Retry-After: 5\r\n" if status == 503 else ""
    head = (
        f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {len(body)}\r\n{again}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
