"""Group commit: requests of many threads that wait together share a lock, a transaction and a commit (ADR 0003)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine

from slotcar.base.timebase import to_us
from slotcar.book.model import Terms
from slotcar.book.operation import Operation, run_together
from slotcar.book.transaction import Transaction
from slotcar.store.database import writing
from slotcar.store.database_shelf import DatabaseShelf
from slotcar.store.flushing import flush

if TYPE_CHECKING:
    from slotcar.store.cache import TableCache

T = TypeVar("T")
#: A batch longer than this makes its first requests wait for its last.
LONGEST_BATCH = 256


class Waiting:
    """An operation whose caller sleeps until it is answered, or until it is that caller's turn to write for all.

    Attributes:
        answered: `answer` is there: the operation's, or what it raises.
    """

    __slots__ = ("_asleep", "answer", "answered", "operation")

    def __init__(self, operation: Operation[Any]) -> None:
        self.operation = operation
        self.answered = False
        self.answer: Any = None
        self._asleep = threading.Lock()
        self._asleep.acquire()

    def sleep(self) -> None:
        self._asleep.acquire()

    def wake(self) -> None:
        self._asleep.release()


class Writer:
    """Whoever finds nobody writing writes for all that wait; the others sleep until their answer is durable."""

    def __init__(self, engine: Engine, known: Callable[[], Terms], terms: Callable[[Connection, int], Terms]) -> None:
        """`known`: the terms that this process last had. terms: those in force, by the connection under the lock, and by
        how often SLSs were changed."""
        self._engine = engine
        self._known = known
        self._terms = terms
        self._queue: deque[Waiting] = deque()
        #: Guards the queue and whether somebody writes.
        self._door = threading.Lock()
        self._somebody_writes = False
        #: Guards the tables, too: a reader of them takes it.
        self.lock = threading.Lock()

    @cached_property
    def cache(self) -> TableCache:
        """Asked under the lock. The tables are not there before somebody decides: whoever only reads imports none."""
        from slotcar.store.cache import TableCache

        return TableCache()

    def submit(self, operation: Operation[T]) -> T:
        """Runs the operation and gives its answer once it is committed.

        Raises:
            SlotcarError: the operation's own, with nothing of it written; LedgerUnavailable.
        """
        waiting = Waiting(operation.prepared(self._known()))
        with self._door:
            self._queue.append(waiting)
            writes, self._somebody_writes = not self._somebody_writes, True
        if not writes:
            waiting.sleep()
        if not waiting.answered:
            self._write_for_all(waiting)
        if isinstance(waiting.answer, BaseException):
            raise waiting.answer
        answer: T = waiting.answer
        return answer

    def _write_for_all(self, own: Waiting) -> None:
        """Writes for all waiting threads until this thread's answer is there; then the next one takes over."""
        try:
            while not own.answered:
                with self.lock:
                    self._write_batch(own)
        finally:
            with self._door:
                heir = self._queue[0] if self._queue else None
                self._somebody_writes = heir is not None
            if heir:
                heir.wake()

    def _write_batch(self, own: Waiting) -> None:
        with self._door:
            batch = self._next_batch()
        answers: list[Any]
        try:
            answers = self._write([waiting.operation for waiting in batch])
        except BaseException as error:
            # What the tables were told may not be what the database holds now.
            self.cache.drop()
            answers = [error] * len(batch)
            if not isinstance(error, Exception):
                raise
        finally:
            for waiting, answer in zip(batch, answers, strict=True):
                waiting.answer, waiting.answered = answer, True
                if waiting is not own:
                    waiting.wake()

    def _next_batch(self) -> list[Waiting]:
        """What waits, up to what must be alone."""
        batch = [self._queue.popleft()] if self._queue else []
        while self._queue and len(batch) < LONGEST_BATCH:
            if batch[0].operation.alone or self._queue[0].operation.alone:
                break
            batch.append(self._queue.popleft())
        return batch

    def _write(self, operations: list[Operation[Any]]) -> list[Any]:
        now = max(operation.now for operation in operations)
        with writing(self._engine) as (connection, head):
            terms = self._terms(connection, head.slss)
            transaction = Transaction(DatabaseShelf(connection, self.cache, terms, to_us(now)), head, terms)
            answers = run_together(operations, transaction)
            flush(transaction, connection, self.cache)
        return answers
