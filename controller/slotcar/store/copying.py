"""The ledger's rows out of a database and into an empty one, as PostgreSQL's COPY writes them.

Without `pg_dump`: it refuses a server that is newer than itself, what it writes belongs to that server's version and roles,
and a machine with `slotcar` need not have it. The tables come of our own revisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql
from sqlalchemy import Connection, Engine, text

from slotcar.store import database
from slotcar.store.revisions import revision_of

#: Each after what it refers to.
COPIED = (
    "head", "resource", "entry", "flow", "occupancy", "event", "idempotency", "community_share", "webhook",
    "webhook_delivery", "counted", "counter_reading", "transfer_sample", "probe_sample", "connection",
    "connection_segment", "domain_ticket", "agreed_sls",
    "nsi_provided", "nsi_requested", "audit_window", "audit_way",
)  # fmt: skip
#: A browser that signed out since must not be signed in again.
LEFT_OUT = ("web_session", "web_sign_in")
_COLUMNS = text(
    "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = :table"
    " ORDER BY ordinal_position"
)
#: Tables whose rows the database numbers, with the column: it goes on behind what was copied in.
_NUMBERED = {"resource": "id", "agreed_sls": "number", "transfer_sample": "number", "probe_sample": "number"}
_NEXT_NUMBER = sql.SQL(
    "SELECT setval(pg_get_serial_sequence({table}, {column}), coalesce(max({name}), 0) + 1, false) FROM {of}"
)


@dataclass(frozen=True, slots=True)
class CopiedTable:
    name: str
    columns: tuple[str, ...]


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """All tables as they are at one moment, however long they are read; nobody waits for it."""
    with database.snapshot(engine) as connection:
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        yield connection


def tables_of(connection: Connection) -> Sequence[CopiedTable]:
    """Those that are copied, as the database's revision has them; none where it has no ledger."""
    if not revision_of(connection):
        return ()
    named = ((name, connection.execute(_COLUMNS, {"table": name}).scalars().all()) for name in COPIED)
    return [CopiedTable(name, tuple(columns)) for name, columns in named if columns]


def copy_out(connection: Connection, table: CopiedTable, write: Callable[[bytes], object]) -> int:
    """Writes the table's rows; how many."""
    statement = sql.SQL("COPY {} ({}) TO STDOUT (FORMAT text, ENCODING 'UTF8')").format(*_named(table))
    with _cursor(connection) as cursor:
        with cursor.copy(statement) as rows:
            for part in rows:
                write(bytes(part))
        return cursor.rowcount


def copy_in(connection: Connection, table: CopiedTable, parts: Iterable[bytes]) -> int:
    """Fills the table, which is empty; how many rows."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT text, ENCODING 'UTF8')").format(*_named(table))
    with _cursor(connection) as cursor:
        if table.name == "head":
            cursor.execute("DELETE FROM head")  # the first revision makes one
        with cursor.copy(statement) as rows:
            for part in parts:
                rows.write(part)
        count = cursor.rowcount
        if column := _NUMBERED.get(table.name):
            texts = {"table": sql.Literal(table.name), "column": sql.Literal(column)}
            names = {"name": sql.Identifier(column), "of": sql.Identifier(table.name)}
            cursor.execute(_NEXT_NUMBER.format(**texts, **names))
        return count


def used_tables(connection: Connection) -> Sequence[str]:
    """Tables with something in them; of a ledger that was never used none but the head, which the first revision makes."""
    names = [table.name for table in tables_of(connection) if table.name != "head"]
    return [name for name in names if connection.execute(text(f"SELECT EXISTS (SELECT 1 FROM {name})")).scalar_one()]  # noqa: S608 - of COPIED


def _named(table: CopiedTable) -> tuple[sql.Identifier, sql.Composed]:
    return sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, table.columns))


def _cursor(connection: Connection) -> psycopg.Cursor[tuple[object, ...]]:
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    return raw.cursor()
