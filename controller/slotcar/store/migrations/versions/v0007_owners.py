"""Webhooks of owners beside those of operators, and a way to an owner's reservations, those that are over too."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0005"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "webhooks of owners"


def upgrade() -> None:
    # Null: an operator's, which gets every owner's events, and those of devices.
    op.execute("ALTER TABLE webhook ADD COLUMN owner text")
    op.execute("CREATE INDEX entry_owner ON entry (owner, name)")


def downgrade() -> None:
    # Without its owner a webhook would get everybody's events.
    op.execute("DELETE FROM webhook WHERE owner IS NOT NULL")
    op.execute("ALTER TABLE webhook DROP COLUMN owner")
    op.execute("DROP INDEX entry_owner")
