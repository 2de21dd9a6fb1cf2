"""Runs the revisions on the connection that the caller hands over in the configuration's attributes."""

from __future__ import annotations

from alembic import context

from slotcar.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=False)
with context.begin_transaction():
    context.run_migrations()
