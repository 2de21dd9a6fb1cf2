"""The database for one process alone: what changes all of it at once waits for nobody, and has nobody look on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

from slotcar.book.errors import LedgerInUse
from slotcar.store.database import LEADER_KEY, answering

_OTHERS = text(
    "SELECT pid, coalesce(nullif(application_name, ''), 'a program') AS name, host(client_addr) AS address"
    " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL"
    " AND backend_type IS DISTINCT FROM 'parallel worker' ORDER BY pid"
)
#: A server lists a connection for a moment after it was closed, such as that of the command before.
LEAVING_S = 5.0
PAUSE_S = 0.05


@contextmanager
def alone(engine: Engine) -> Iterator[Connection]:
    """One transaction in which no controller leads, and nobody else is connected to the database when it begins.

    Raises:
        LedgerInUse: a controller leads, or another program is connected.
    """
    with answering(), engine.begin() as connection:
        if not connection.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": LEADER_KEY}).scalar_one():
            raise LedgerInUse("a controller leads with this database: stop every controller of it first")
        if others := _others_that_stay(connection):
            raise LedgerInUse(
                f"the database is used by {', '.join(others)}: stop every controller and command of it first"
            )
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        yield connection


def _others_that_stay(connection: Connection) -> list[str]:
    deadline = time.monotonic() + LEAVING_S
    while others := [_words(*row) for row in connection.execute(_OTHERS)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(PAUSE_S)
        connection.execute(text("SELECT pg_stat_clear_snapshot()"))  # it is the same within a transaction otherwise
    return others


def _words(pid: int, name: str, address: str | None) -> str:
    return f"{name} (the server's process {pid}{f', for {address}' if address else ''})"
