"""Connections over several domains as rows: what one says is the business of `slotcar.domains`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, Executable, Table, Update, delete, select, update
from sqlalchemy.dialects import postgresql

from slotcar.store import database, schema
from slotcar.store.flushing import write_events
from slotcar_client.wire.events import Kind


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """`revision` counts its changes: who writes says which one it has read. due: when it is to be looked after next, once
    it is in force."""

    id: str
    phase: str
    settled: bool
    revision: int
    ends: datetime
    document: Mapping[str, Any]
    changed_at: datetime
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """What `domain` says of its segment at `stated_at`, by its clock. `heard_from`: the neighbour that brought it."""

    connection: str
    domain: str
    heard_from: str
    stated_at: datetime
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TicketRow:
    """A ticket that was taken: by its issuer's number for it, and for which attempt."""

    issuer: str
    number: str
    connection: str
    version: int
    ends: datetime


class _NotAll(Exception):
    """Somebody was quicker with one of several rows: the transaction is given up."""


@dataclass(frozen=True, slots=True)
class ConnectionStore:
    """`table`: of those of `schema` that have a connection's columns.

    `says`: an event that a step is told by, which is kept in the step's own transaction, so that it is told once.

    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine
    table: Table = schema.connection

    def add(self, row: ConnectionRow, says: Kind | None = None) -> bool:
        """Whether it was not there."""
        insert = postgresql.insert(self.table).values(self._values(row)).on_conflict_do_nothing()
        return self._keep(insert.returning(self.table.c.id), row.changed_at, says)

    def change(self, row: ConnectionRow, says: Kind | None = None) -> bool:
        """Whether it had the revision before this one; else somebody was quicker, and nothing is written."""
        return self._keep(self._changed(row).returning(self.table.c.id), row.changed_at, says)

    def _keep(self, statement: Executable, now: datetime, says: Kind | None) -> bool:
        """Whether the statement has written a row; only then the event is kept, too."""
        if says is None:
            with database.answering(), self.engine.begin() as connection:
                return connection.execute(statement).one_or_none() is not None
        with database.writing(self.engine) as (connection, head):
            is_kept = connection.execute(statement).one_or_none() is not None
            if is_kept:
                write_events(connection, head, [(now, says.kind, None, None, says.details)])
        return is_kept

    def add_all(self, rows: Sequence[tuple[ConnectionRow, Kind | None]]) -> bool:
        """As `add`, all of them or none; whether none was there."""
        inserts = [
            (postgresql.insert(self.table).values(self._values(row)).on_conflict_do_nothing(), row, says)
            for row, says in rows
        ]
        return self._keep_all([(insert.returning(self.table.c.id), row, says) for insert, row, says in inserts])

    def change_all(self, rows: Sequence[tuple[ConnectionRow, Kind | None]]) -> bool:
        """As `change`, all of them or none; whether all had the revisions before these."""
        return self._keep_all([(self._changed(row).returning(self.table.c.id), row, says) for row, says in rows])

    def _changed(self, row: ConnectionRow) -> Update:
        columns = self.table.c
        return (
            update(self.table)
            .where(columns.id == row.id, columns.revision == row.revision - 1)
            .values(self._values(row))
        )

    def _keep_all(self, statements: Sequence[tuple[Executable, ConnectionRow, Kind | None]]) -> bool:
        try:
            with database.writing(self.engine) as (connection, head):
                for statement, row, says in statements:
                    if connection.execute(statement).one_or_none() is None:
                        raise _NotAll
                    if says is not None:
                        write_events(connection, head, [(row.changed_at, says.kind, None, None, says.details)])
        except _NotAll:
            return False
        return True

    def find(self, connection_id: str) -> ConnectionRow | None:
        with database.reading(self.engine) as connection:
            row = connection.execute(select(self.table).where(self.table.c.id == connection_id)).one_or_none()
        return ConnectionRow(*row) if row else None

    def unsettled(self) -> tuple[ConnectionRow, ...]:
        return self._all(~self.table.c.settled)

    def due(self, now: datetime, phase: str) -> tuple[ConnectionRow, ...]:
        """Those of a phase that are to be looked after by now, before their time is over."""
        return self._all(self.table.c.due <= now, self.table.c.ends > now, self.table.c.phase == phase)

    def look_at(self, connection_id: str, revision: int, due: datetime) -> None:
        """When one is to be looked after next, unless it has changed meanwhile."""
        columns = self.table.c
        where = (columns.id == connection_id, columns.revision == revision)
        with database.answering(), self.engine.begin() as connection:
            connection.execute(update(self.table).where(*where).values(due=due))

    def not_over(self, now: datetime, phase: str) -> tuple[ConnectionRow, ...]:
        return self._all(self.table.c.ends > now, self.table.c.phase == phase)

    def latest(self, limit: int, without: str = "") -> tuple[ConnectionRow, ...]:
        """Those that changed last, the latest first; but those whose ids begin with `without`."""
        statement = select(self.table).order_by(self.table.c.changed_at.desc(), self.table.c.id).limit(limit)
        if without:
            statement = statement.where(~self.table.c.id.startswith(without, autoescape=True))
        with database.reading(self.engine) as connection:
            return tuple(ConnectionRow(*row) for row in connection.execute(statement))

    def over(self, now: datetime, phase: str) -> tuple[ConnectionRow, ...]:
        return self._all(self.table.c.ends <= now, self.table.c.phase == phase)

    # -- what is said of segments ----------------------------------------------------------------------------------

    def tell(self, row: SegmentRow, says: Kind | None = None) -> bool:
        """Keeps what a domain says; whether that is something else than it said before, and no earlier."""
        table = schema.connection_segment
        values = {name: getattr(row, name) for name in SegmentRow.__slots__}
        insert = postgresql.insert(table).values(values)
        later = (table.c.stated_at <= insert.excluded.stated_at) & (table.c.document != insert.excluded.document)
        statement = insert.on_conflict_do_update(
            index_elements=["connection", "domain"], set_=values, where=later
        ).returning(table.c.domain)
        return self._keep(statement, row.stated_at, says)

    def unready_elsewhere(self, connections: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """The domains that cannot make their devices ready, of those of these connections that have such."""
        table = schema.connection_segment
        not_ready = table.c.document.contains({"not_ready": True})
        statement = select(table.c.connection, table.c.domain).where(table.c.connection.in_(connections), not_ready)
        domains: dict[str, tuple[str, ...]] = {}
        with database.reading(self.engine) as connection:
            for row in connection.execute(statement.order_by(table.c.domain)):
                domains[row.connection] = (*domains.get(row.connection, ()), row.domain)
        return domains

    def segment_rows(self, connection_id: str) -> tuple[SegmentRow, ...]:
        table = schema.connection_segment
        statement = select(table).where(table.c.connection == connection_id).order_by(table.c.domain)
        with database.reading(self.engine) as connection:
            return tuple(SegmentRow(*row) for row in connection.execute(statement))

    # -- tickets ---------------------------------------------------------------------------------------------------

    def take_ticket(self, row: TicketRow) -> TicketRow:
        """Keeps a ticket; the one that was taken first under its number."""
        table = schema.domain_ticket
        values = {name: getattr(row, name) for name in TicketRow.__slots__}
        with database.answering(), self.engine.begin() as connection:
            connection.execute(postgresql.insert(table).values(values).on_conflict_do_nothing())
            where = (table.c.issuer == row.issuer, table.c.number == row.number)
            return TicketRow(*connection.execute(select(table).where(*where)).one())

    def forget_tickets(self, before: datetime) -> int:
        """Forgets those that have ended, which nobody takes any more; how many."""
        table = schema.domain_ticket
        with database.answering(), self.engine.begin() as connection:
            return connection.execute(delete(table).where(table.c.ends < before)).rowcount

    def _values(self, row: ConnectionRow) -> dict[str, Any]:
        return {name: getattr(row, name) for name in self.table.c.keys()}  # noqa: SIM118 (columns, and no mapping)

    def _all(self, *where: Any) -> tuple[ConnectionRow, ...]:
        statement = select(self.table).where(*where).order_by(self.table.c.id)
        with database.reading(self.engine) as connection:
            return tuple(ConnectionRow(*row) for row in connection.execute(statement))
