"""The tables of a ledger to a later revision, and the way back, by alembic."""

from __future__ import annotations

from collections.abc import Sequence

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from slotcar.book.errors import LedgerUnavailable
from slotcar.store.database import MIGRATION_LOCK, answering
from slotcar.store.revisions import MIGRATIONS, NEWEST_REVISION, WORDS, SchemaState, revision_of, state_of


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
