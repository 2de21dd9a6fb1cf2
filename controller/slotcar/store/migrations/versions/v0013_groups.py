"""Groups: entries that are reserved together name the handle that they have in common (ADR 42)."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "which reservations are one group"

STATEMENTS = (
    "ALTER TABLE entry ADD COLUMN group_handle text",
    # Few entries are members of a group: the others cost an admission nothing.
    "CREATE INDEX entry_group ON entry (group_handle) WHERE group_handle IS NOT NULL",
    "CREATE INDEX entry_group_name ON entry (owner, name) WHERE group_handle IS NOT NULL",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP INDEX entry_group_name")
    op.execute("DROP INDEX entry_group")
    op.execute("ALTER TABLE entry DROP COLUMN group_handle")
