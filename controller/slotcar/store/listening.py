"""Waiting for new events, and the lock by which one of several controllers leads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from types import TracebackType

import psycopg
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

#: How long a lost connection stays away before the listener tries again; `wait` looks for itself meanwhile.
RETRY_S = 1.0


class Listener:
    """A thread that waits for the database's notifications and wakes whoever waits here.

    It never knows more than "look again": what is new is read from the table, so a lost notification costs a poll.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._condition = threading.Condition()
        self._latest = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def wait(self, after: int, timeout_s: float) -> None:
        """Returns when an event after `after` is known of, or after the time, or after `RETRY_S` at most."""
        self._start()
        with self._condition:
            if self._latest <= after:
                self._condition.wait(min(timeout_s, RETRY_S))

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=2 * RETRY_S)

    def _start(self) -> None:
        with self._condition:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="slotcar-listener", daemon=True)
                self._thread.start()

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                self._listen_once()
            except (psycopg.Error, SQLAlchemyError, OSError):
                self._stopping.wait(RETRY_S)

    def _listen_once(self) -> None:
        connection = self._engine.raw_connection()
        try:
            raw = connection.driver_connection
            assert isinstance(raw, psycopg.Connection)
            raw.rollback()
            raw.autocommit = True
            raw.execute("LISTEN slotcar_event")
            while not self._stopping.is_set():
                for notice in raw.notifies(timeout=RETRY_S / 2, stop_after=1):
                    with self._condition:
                        self._latest = max(self._latest, int(notice.payload))
                        self._condition.notify_all()
        finally:
            # It listens: it must not go back to the pool.
            connection.invalidate()


class Lease:
    """Leadership: a lock of the database's that goes when its connection does, however the controller dies."""

    def __init__(self, connection: Connection, key: int) -> None:
        self._connection = connection
        self._key = key

    @property
    def connection(self) -> Connection:
        """The session that has the lock: what it commits was committed by the leader."""
        return self._connection

    def is_held(self) -> bool:
        """Whether the connection that carries the lock still lives."""
        try:
            self._connection.execute(text("SELECT 1"))
            self._connection.rollback()
        except SQLAlchemyError:
            return False
        return True

    def ahead_of_database(self, clock: Callable[[], datetime]) -> timedelta:
        """How far a clock (aware UTC) is ahead of the database's, or (below zero) behind it.

        Zero where the two agree within the time that the question takes, and where the connection is gone, as
        `is_held` says.
        """
        before = clock()
        try:
            database_time: datetime = self._connection.execute(text("SELECT clock_timestamp()")).scalar_one()
            self._connection.rollback()
        except SQLAlchemyError:
            return timedelta()
        return max(before - database_time, min(clock() - database_time, timedelta()))

    def release(self) -> None:
        try:
            self._connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": self._key})
            self._connection.rollback()
        except SQLAlchemyError:
            self._connection.invalidate()
        self._connection.close()

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def try_lead(engine: Engine, key: int) -> Lease | None:
    """The lease, or None where another controller has it."""
    connection = engine.connect()
    try:
        got = connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}).scalar_one()
        connection.rollback()
    except SQLAlchemyError:
        connection.close()
        raise
    if not got:
        connection.close()
        return None
    return Lease(connection, key)
