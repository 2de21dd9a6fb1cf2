"""Has devices tell of changes while this controller leads, and asks the leader to check those that did (ADR 30)."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from slotcar.base.problems import SlotcarError
from slotcar.base.registry import Watch, facts_of
from slotcar.book.errors import LedgerUnavailable
from slotcar.network.model import Network
from slotcar.notify.backoff import Backoff
from slotcar.rollout.check_requests import ask_check
from slotcar.rollout.status import LoopStatus, Work
from slotcar.store import Ledger
from slotcar.watching.model import ChangeListener, ChangeSource, DeviceWatch, Unwatched, WatchState, WatchStatus
from slotcar.watching.pending import ECHO_S, Pending
from slotcar.watching.receiver import addresses_of, receive
from slotcar.watching.sources import source_of
from slotcar.watching.syslog import change_in

log = structlog.get_logger("slotcar.watch")
#: How often it is looked whether a check is due.
LOOK_S = 0.25
#: How often whether this controller leads by now.
FOLLOW_S = 0.5
#: So many logins are made at once.
TOGETHER = 8
#: A connection that lasted for so long begins again with the first wait.
STEADY_S = 60.0
RETRIES = Backoff(first=timedelta(seconds=2), longest=timedelta(minutes=1), attempts=2**31)
#: Connections that do not end within it are left behind: their threads keep no process from ending.
END_S = 5.0
#: So many devices' words are in one request's.
MOST_SHOWN = 10
ACTOR = "watch"
UNSET = "not watched: SLOTCAR_WATCH is off"

#: How the devices are reached, by name: what `read_connections` gives.
Connections = Mapping[str, Mapping[str, Any]]


@dataclass(slots=True)
class Watcher:
    """The watcher of one controller.

    Attributes:
        loop: of the controller's own loop: whether it leads, and what it is doing on which device.
        connections: reads how devices are reached; asked at the beginning of each lead.
        most: so many connections are kept open; 0 for none.
        syslog: the UDP socket at which routers' syslog comes in; None for none.
        clock: the present instant. monotonic: the loop's seconds that nobody sets.
    """

    ledger: Ledger
    network: Network
    loop: LoopStatus
    connections: Callable[[], Connections]
    most: int
    clock: Callable[[], datetime]
    syslog: socket.socket | None = None
    monotonic: Callable[[], float] = time.monotonic
    status: WatchStatus = field(default_factory=WatchStatus)
    _pending: Pending = field(default_factory=Pending, init=False)
    _broke_off: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _logins: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(TOGETHER), init=False)

    def run(self, stopping: threading.Event) -> None:
        """Until it is told to stop.

        Raises:
            InvalidInput: the inventory cannot be read any more.
        """
        while not stopping.is_set():
            if self.loop.leading:
                self._watch_while_leading(stopping)
                self._broke_off = self.loop.leading
            else:
                self._broke_off = False
            stopping.wait(FOLLOW_S)

    def _watch_while_leading(self, stopping: threading.Event) -> None:
        missed, self._broke_off = self._broke_off, True
        connections = self.connections()
        ended = threading.Event()
        self._pending = Pending()
        threads = self._begin(connections, ended, missed)
        try:
            while self.loop.leading and not stopping.is_set():
                self._ask()
                stopping.wait(LOOK_S)
        except LedgerUnavailable as error:
            log.warning("ledger unavailable", error=str(error))  # the next leading controller reads all devices
        finally:
            ended.set()
            end_s = self.monotonic() + END_S
            for thread in threads:
                thread.join(max(0.0, end_s - self.monotonic()))
            self.status.devices.clear()

    def _begin(self, connections: Connections, ended: threading.Event, missed: bool) -> list[threading.Thread]:
        runs: list[tuple[str, Callable[[], None]]] = []
        for name in sorted(self._configured()):
            source = self._source(name, connections.get(name, {}), len(runs))
            if source is not None:
                runs.append((name, partial(self._keep, name, source, ended, missed)))
        if self.syslog is not None:
            runs.append(("syslog", partial(self._receive, self.syslog, connections, ended)))
        threads = [threading.Thread(target=run, name=f"slotcar-watch-{name}", daemon=True) for name, run in runs]
        for thread in threads:
            thread.start()
        return threads

    def _receive(self, syslog: socket.socket, connections: Connections, ended: threading.Event) -> None:
        addresses = addresses_of(self.network, connections)

        def take(datagram: bytes, source: str) -> None:
            if change := change_in(datagram, source, addresses):
                self.changed(*change)

        receive(syslog, take, ended)

    def _configured(self) -> list[str]:
        devices = self.network.devices
        return [name for name, one in devices.items() if self.network.is_configured(one)]

    def _source(self, name: str, variables: Mapping[str, Any], open_by_now: int) -> ChangeSource | None:
        """How the device tells over a connection of its own; None, and said in the status, where it does not."""
        device = self.network.devices[name]
        try:
            if facts_of(device.platform).watch not in (Watch.SYSLOG, None):
                if not self.most:
                    raise Unwatched(UNSET)
                if open_by_now >= self.most:
                    raise Unwatched(f"SLOTCAR_WATCH_MOST allows {self.most} connections")
            source = source_of(device, variables)
        except SlotcarError as error:
            self._set_apart(name, str(error))
            return None
        self._set(name, WatchState.CONNECTING, source.how)
        return source

    def _set_apart(self, name: str, why: str) -> None:
        if self.syslog is not None and facts_of(self.network.devices[name].platform).watch is not None:
            self._set(name, WatchState.LISTENING, "syslog")
        else:
            self._set(name, WatchState.UNWATCHED, "", why)

    def _set(self, name: str, state: WatchState, how: str, message: str = "") -> None:
        self.status.devices[name] = DeviceWatch(state, how, self.clock(), message)

    # -- connections -------------------------------------------------------------------------------------------------

    def _keep(self, name: str, source: ChangeSource, ended: threading.Event, missed: bool) -> None:
        """Keeps one device's connection, and makes it again when it breaks: later each time. `missed`: nobody listened for
        a part of this lead."""
        failures = 0
        while not ended.is_set():
            began_s = self.monotonic()
            try:
                self._watch_once(name, source, ended, missed=missed or failures > 0)
            except Unwatched as error:
                self._set_apart(name, str(error))
                return
            except Exception as error:
                if ended.is_set():
                    return
                words = (
                    str(error) if isinstance(error, SlotcarError) else f"unforeseen: {type(error).__name__}: {error}"
                )
                failures = 1 if self.monotonic() - began_s > STEADY_S else failures + 1
                self._broke(name, source, words.removeprefix(f"{name}: "), failures == 1)
                wait = RETRIES.wait(failures, random.random())  # noqa: S311 - no secret
                ended.wait(wait.total_seconds() if wait else 0)

    def _watch_once(self, name: str, source: ChangeSource, ended: threading.Event, *, missed: bool) -> None:
        """
        Raises:
            WatchBroken, Unwatched, DeviceError: see `Source`.
        """
        login = threading.Event()

        def let_others_in() -> None:
            if not login.is_set():
                login.set()
                self._logins.release()

        def up() -> None:
            let_others_in()
            self._set(name, WatchState.WATCHING, source.how)
            log.info("watching", device=name, how=source.how)
            if missed:
                self.changed(name, "it was not watched for a while")

        while not self._logins.acquire(timeout=LOOK_S):
            if ended.is_set():
                return
        try:
            source.watch(ChangeListener(up, partial(self.changed, name, echo_s=source.echo_s), ended))
        finally:
            let_others_in()

    def _broke(self, name: str, source: ChangeSource, why: str, first: bool) -> None:
        self._set(name, WatchState.BROKEN, source.how, why)
        if first:
            log.warning("watching broke", device=name, how=source.how, error=why)

    # -- changes -----------------------------------------------------------------------------------------------------

    def changed(self, name: str, what: str, echo_s: float = ECHO_S) -> None:
        """A device told of a change; `echo_s`: so much later than it was made, at the most."""
        with self._lock:
            self.status.changes[name] += 1
            self._pending.note(name, what, self.loop.work.get(name, Work()), self.monotonic(), echo_s)

    def _ask(self) -> None:
        """
        Raises:
            LedgerUnavailable: nobody could be asked.
        """
        with self._lock:
            due = self._pending.due(self.loop.work, self.monotonic())
        if not due:
            return
        self.status.checks.update(list(due))
        sentences = [f"{name}: {what}" for name, what in sorted(due.items())]
        words = "; ".join(sentences[:MOST_SHOWN]) + (
            f"; and {len(sentences) - MOST_SHOWN} more" if sentences[MOST_SHOWN:] else ""
        )
        log.info("devices reported changes", devices=due)
        ask_check(self.ledger, sorted(due), ACTOR, self.clock(), message=f"told of a change: {words}")
