"""Connections over several domains as rows: what one says is the business of `slotcar.domains`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, select, update
from sqlalchemy.dialects import postgresql

from slotcar.store import database, schema

_row = schema.connection.c


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """`revision` counts its changes: who writes says which one it has read."""

    id: str
    phase: str
    settled: bool
    revision: int
    ends: datetime
    document: Mapping[str, Any]
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class ConnectionStore:
    """
    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine

    def add(self, row: ConnectionRow) -> bool:
        """Whether it was not there."""
        statement = (
            postgresql.insert(schema.connection).values(_values(row)).on_conflict_do_nothing().returning(_row.id)
        )
        with database.answering(), self.engine.begin() as connection:
            return connection.execute(statement).one_or_none() is not None

    def change(self, row: ConnectionRow) -> bool:
        """Whether it had the revision before this one; else somebody was quicker, and nothing is written."""
        where = (_row.id == row.id, _row.revision == row.revision - 1)
        with database.answering(), self.engine.begin() as connection:
            return connection.execute(update(schema.connection).where(*where).values(_values(row))).rowcount == 1

    def find(self, connection_id: str) -> ConnectionRow | None:
        with database.reading(self.engine) as connection:
            row = connection.execute(select(schema.connection).where(_row.id == connection_id)).one_or_none()
        return ConnectionRow(*row) if row else None

    def unsettled(self) -> tuple[ConnectionRow, ...]:
        return self._all(~_row.settled)

    def not_over(self, now: datetime, phase: str) -> tuple[ConnectionRow, ...]:
        return self._all(_row.ends > now, _row.phase == phase)

    def latest(self, limit: int) -> tuple[ConnectionRow, ...]:
        """Those that changed last, the latest first."""
        statement = select(schema.connection).order_by(_row.changed_at.desc(), _row.id).limit(limit)
        with database.reading(self.engine) as connection:
            return tuple(ConnectionRow(*row) for row in connection.execute(statement))

    def _all(self, *where: Any) -> tuple[ConnectionRow, ...]:
        statement = select(schema.connection).where(*where).order_by(_row.id)
        with database.reading(self.engine) as connection:
            return tuple(ConnectionRow(*row) for row in connection.execute(statement))


def _values(row: ConnectionRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ConnectionRow.__slots__}
