"""Counts what a ledger is asked: a page must not ask more of it the more there is in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from slotcar.store import Ledger

#: What SQLAlchemy asks a connection of its pool before it uses it.
KEEPS_ALIVE = ";"


@contextmanager
def statements_of(ledger: Ledger) -> Iterator[list[str]]:
    """The statements that are sent in the meantime, without those that keep a connection alive: by the driver, for some of
    the ledger's go past SQLAlchemy.
    """
    sent: list[str] = []
    database, execute = ledger.summaries.engine.url.database, psycopg.Cursor.execute

    def noted(cursor: psycopg.Cursor[Any], statement: Any, *more: Any, **options: Any) -> psycopg.Cursor[Any]:
        text = statement.decode() if isinstance(statement, bytes) else str(statement)
        if cursor.connection.info.dbname == database and text.strip() != KEEPS_ALIVE:
            sent.append(" ".join(text.split()))
        return execute(cursor, statement, *more, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", noted)
        yield sent
