"""Revisions of the tables: which one a database has, to a later one, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from slotcar.book.errors import LedgerUnavailable
from slotcar.store.database import MIGRATION_LOCK, answering, reading

MIGRATIONS = Path(__file__).parent / "migrations"
#: The newest of them: most who ask for the schema's state need to read no other.
NEWEST_REVISION = "0022"


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
    return [one.revision for one in ScriptDirectory.from_config(_alembic()).walk_revisions()][::-1]


def revision_of(connection: Connection) -> str:
    """The revision that a database has; empty where it has no tables of ours."""
    return MigrationContext.configure(connection).get_current_revision() or ""


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


def upgrade(engine: Engine) -> tuple[str, str]:
    """Brings the schema to the head; gives the revision before and after (empty: none)."""
    with answering(), engine.begin() as connection:
        return change_to(connection, NEWEST_REVISION)


def change_to(connection: Connection, revision: str) -> tuple[str, str]:
    """Brings the tables to a revision, later or earlier, in the connection's transaction; the revision before and after.

    Args:
        revision: empty takes them away.

    Raises:
        CannotKeep: an earlier one has no place for something that the ledger has.
        LedgerUnavailable: the tables are of a newer version than this one.
    """
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
    before = revision_of(connection)
    if state_of(before) is SchemaState.AHEAD:
        raise LedgerUnavailable(WORDS[SchemaState.AHEAD])
    config = _alembic()
    config.attributes["connection"] = connection
    (command.downgrade if before > revision else command.upgrade)(config, revision or "base")
    return before, revision_of(connection)


def lost_by_going_back(revision: str, until: str) -> Sequence[str]:
    """What the way back from a revision to an earlier one takes away, as the steps between them say."""
    steps = ScriptDirectory.from_config(_alembic()).walk_revisions()
    return [step.module.LOST for step in steps if until < step.revision <= revision and step.module.LOST]


def _alembic() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    return config
