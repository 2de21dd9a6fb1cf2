"""The migrations make what `schema.py` says."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from slotcar.ledger import Ledger
from slotcar.ledger.database import make_engine
from slotcar.ledger.schema import metadata


def test_the_migrated_database_has_the_tables_that_the_code_names(ledger: Ledger, database_url: str) -> None:
    engine = make_engine(database_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
    engine.dispose()
    # Indexes and uniqueness live in the migrations alone: they are the database's business.
    kinds = {entry[0] if isinstance(entry, tuple) else entry[0][0] for entry in differences}
    assert kinds <= {"remove_index", "remove_constraint", "add_constraint", "remove_fk"}, differences
