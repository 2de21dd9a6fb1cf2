"""Which revision of the tables a database has, and whether this version knows it. Changing it is `migrating`'s, which needs
alembic: most who ask for the schema's state need neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, Engine, text

from slotcar.store.database import reading

MIGRATIONS = Path(__file__).parent / "migrations"
#: The newest of them: most who ask for the schema's state need to read no other.
NEWEST_REVISION = "0030"


class SchemaState(StrEnum):
    CURRENT = "current"
    EMPTY = "empty"
    BEHIND = "behind"
    AHEAD = "ahead"


WORDS = {
    SchemaState.EMPTY: "the database has no ledger yet: run slotcar db upgrade",
    SchemaState.BEHIND: "the database's ledger is of an older version: run slotcar db upgrade",
    SchemaState.AHEAD: "the database's ledger is of a newer version than this Slotcar: upgrade Slotcar",
}


@cache
def known_revisions() -> Sequence[str]:
    """All that this version knows, the first one first."""
    return sorted(file.name[1:5] for file in (MIGRATIONS / "versions").glob("v[0-9][0-9][0-9][0-9]_*.py"))


def revision_of(connection: Connection) -> str:
    """The revision that a database has; empty where it has no tables of ours."""
    # Where it is searched for, and in an order that an error does not end a transaction.
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return ""
    return connection.scalar(text("SELECT version_num FROM alembic_version")) or ""


def schema_state(engine: Engine) -> SchemaState:
    """Whether the database has the revision that this version was made for."""
    with reading(engine) as connection:
        return state_of(revision_of(connection))


def state_of(revision: str) -> SchemaState:
    if not revision:
        return SchemaState.EMPTY
    if revision == NEWEST_REVISION:
        return SchemaState.CURRENT
    return SchemaState.BEHIND if revision in known_revisions() else SchemaState.AHEAD
