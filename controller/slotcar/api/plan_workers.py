"""Plans are made in processes of their own, so that neither the reconcile loop nor another request waits for one.

So many at a time and so many that wait; each within a time and a memory (ADR 13).
"""

from __future__ import annotations

import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from multiprocessing import Pipe
from typing import Protocol

import anyio
import structlog
from anyio import to_thread
from fastapi import HTTPException

from slotcar.api.plan_process import PlanAnswer, PlanRequest, Workplace
from slotcar.book.rules.request_limits import PlanTooLarge
from slotcar.desk.desk import Desk

log = structlog.get_logger("slotcar.api")
#: Plans that wait for each process; more are asked to come again.
WAITING_FOR_EACH = 8
#: A process imports what it needs and compiles nothing.
START_S = 120.0


class _WorkerLost(Exception):
    """The process ended without an answer."""


class Process(Protocol):
    """What is asked of one that was started."""

    def kill(self) -> None: ...

    def wait(self) -> int: ...


def start_process(descriptor: int) -> Process:
    """The process that makes plans; it speaks over the socket of this number."""
    return subprocess.Popen(  # noqa: S603 - this program's own module
        [sys.executable, "-P", "-m", "slotcar.api.plan_process", str(descriptor)],
        pass_fds=[descriptor], stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


class _Worker:
    """One process, from its start until it is ended. Used by one thread at a time."""

    def __init__(self, workplace: Workplace) -> None:
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = start_process(theirs.fileno())
        try:
            self._pipe.send(workplace)
            if not self._pipe.poll(START_S):
                raise _WorkerLost
            self._pipe.recv()
        except (EOFError, OSError, _WorkerLost) as error:
            self.end()
            raise _WorkerLost from error

    def make(self, request: PlanRequest, timeout_s: float) -> PlanAnswer | None:
        """The answer; None where it takes longer.

        Raises:
            _WorkerLost.
        """
        try:
            self._pipe.send(request)
            if not self._pipe.poll(timeout_s):
                return None
            answered: PlanAnswer = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise _WorkerLost from error
        return answered

    def end(self) -> None:
        """Ends the process at once: it keeps nothing, and the database ends its queries."""
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._pipe.close()


class PlanWorkers:
    """The processes of one API; they are started when they are needed, and ended by `close` or with this object."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._limiter: anyio.CapacityLimiter | None = None
        self._plans_in_work = 0
        self.close: Callable[[], object] = weakref.finalize(self, _end_all, self._all)

    async def make(self, desk: Desk, request: PlanRequest) -> bytes:
        """The plan's document as JSON.

        Raises:
            HTTPException: 503, as many plans are being made or wait as may. PlanTooLarge: it needs more than it may have.
            SlotcarError: whatever refuses the plan.
        """
        most = desk.settings.plan_workers * (1 + WAITING_FOR_EACH)
        if self._plans_in_work >= most:
            raise HTTPException(503, f"{most} plans are being made or wait, and no more may: try again later")
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(desk.settings.plan_workers)
        self._plans_in_work += 1
        try:
            # Abandoned at shutdown only: `close` then ends the process that the thread waits for.
            make = partial(self._make, desk, request)
            return await to_thread.run_sync(make, limiter=self._limiter, abandon_on_cancel=True)
        finally:
            self._plans_in_work -= 1

    def _make(self, desk: Desk, request: PlanRequest) -> bytes:
        settings = desk.settings
        worker = self._idle.pop() if self._idle else self._start(desk)
        is_reusable = False
        try:
            answered = worker.make(request, settings.plan_timeout.total_seconds())
            is_reusable = answered is not None and not answered.out_of_memory
        except _WorkerLost as error:
            raise HTTPException(
                503, "the process that made the plan has ended, perhaps for want of memory; the log may say why"
            ) from error
        finally:
            if is_reusable:
                self._idle.append(worker)
            else:
                self._all.discard(worker)
                worker.end()
        if answered is None:
            raise too_slow(settings.plan_timeout)
        if answered.out_of_memory:
            raise PlanTooLarge(
                f"the plan takes more memory than the {settings.plan_memory_bytes} bytes that it may have"
                " (SLOTCAR_PLAN_MEMORY_BYTES): plan fewer reservations at a time"
            )
        if answered.error is not None:
            raise answered.error
        if answered.document is None:
            raise RuntimeError("a plan failed; the traceback of its process stands above")
        return answered.document

    def _start(self, desk: Desk) -> _Worker:
        try:
            worker = _Worker(Workplace(desk.ledger.url, desk.network, desk.settings))
        except _WorkerLost as error:
            log.error("the process that makes plans did not start")
            raise HTTPException(503, "the process that makes plans did not start; the log says why") from error
        self._all.add(worker)
        return worker


def too_slow(limit: timedelta) -> PlanTooLarge:
    return PlanTooLarge(
        f"the plan takes longer than the {limit.total_seconds():g} s that it may (SLOTCAR_PLAN_TIMEOUT):"
        " plan fewer reservations at a time"
    )


def _end_all(workers: set[_Worker]) -> None:
    while workers:
        workers.pop().end()
