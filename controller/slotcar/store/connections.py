"""Connections over several domains as rows: what one says is the business of `slotcar.domains`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, Table, select, update
from sqlalchemy.dialects import postgresql

from slotcar.store import database, schema


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
    """`table`: of those of `schema` that have a connection's columns.

    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine
    table: Table = schema.connection

    def add(self, row: ConnectionRow) -> bool:
        """Whether it was not there."""
        statement = (
            postgresql.insert(self.table).values(_values(row)).on_conflict_do_nothing().returning(self.table.c.id)
        )
        with database.answering(), self.engine.begin() as connection:
            return connection.execute(statement).one_or_none() is not None

    def change(self, row: ConnectionRow) -> bool:
        """Whether it had the revision before this one; else somebody was quicker, and nothing is written."""
        columns = self.table.c
        where = (columns.id == row.id, columns.revision == row.revision - 1)
        with database.answering(), self.engine.begin() as connection:
            return connection.execute(update(self.table).where(*where).values(_values(row))).rowcount == 1

    def find(self, connection_id: str) -> ConnectionRow | None:
        with database.reading(self.engine) as connection:
            row = connection.execute(select(self.table).where(self.table.c.id == connection_id)).one_or_none()
        return ConnectionRow(*row) if row else None

    def unsettled(self) -> tuple[ConnectionRow, ...]:
        return self._all(~self.table.c.settled)

    def not_over(self, now: datetime, phase: str) -> tuple[ConnectionRow, ...]:
        return self._all(self.table.c.ends > now, self.table.c.phase == phase)

    def latest(self, limit: int) -> tuple[ConnectionRow, ...]:
        """Those that changed last, the latest first."""
        statement = select(self.table).order_by(self.table.c.changed_at.desc(), self.table.c.id).limit(limit)
        with database.reading(self.engine) as connection:
            return tuple(ConnectionRow(*row) for row in connection.execute(statement))

    def _all(self, *where: Any) -> tuple[ConnectionRow, ...]:
        statement = select(self.table).where(*where).order_by(self.table.c.id)
        with database.reading(self.engine) as connection:
            return tuple(ConnectionRow(*row) for row in connection.execute(statement))


def _values(row: ConnectionRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ConnectionRow.__slots__}
