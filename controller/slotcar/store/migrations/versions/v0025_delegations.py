"""Rights on one reservation that its owner has handed to others (ADR 89)."""

from __future__ import annotations

from alembic import op

revision = "0025"
down_revision = "0023"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "delegations"


def upgrade() -> None:
    op.execute("ALTER TABLE entry ADD COLUMN delegations jsonb")
    # Few reservations have any: who lists what was handed to it asks these alone.
    op.execute("CREATE INDEX entry_delegated ON entry (number) WHERE delegations IS NOT NULL")


def downgrade() -> None:
    op.execute("DROP INDEX entry_delegated")
    op.execute("ALTER TABLE entry DROP COLUMN delegations")
