"""When an entry came into force, and what was in force before: those who give way to it are told first."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0007"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "what was in force before changes that nobody was told of yet"


def upgrade() -> None:
    # Null: so since it was made.
    op.execute("ALTER TABLE entry ADD COLUMN change jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE entry DROP COLUMN change")
