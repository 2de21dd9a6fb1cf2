"""Counts what a ledger is asked: a page must not ask more of it the more there is in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from slotcar.ledger import Ledger


@contextmanager
def statements_of(ledger: Ledger) -> Iterator[list[str]]:
    """The statements that are sent in the meantime, without those that keep a connection alive."""
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        sent.append(" ".join(statement.split()))

    engine = ledger.summaries.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)
