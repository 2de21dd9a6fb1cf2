"""Ways to lists of groups: of all, of an owner and of a state, in the order of their members' numbers."""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = ""

# As those of 0013, of members alone: to an entry that is in no group they cost nothing.
STATEMENTS = (
    "DROP INDEX entry_group",
    "CREATE INDEX entry_group ON entry (group_handle, number) WHERE group_handle IS NOT NULL",
    "CREATE INDEX entry_group_number ON entry (number) WHERE group_handle IS NOT NULL",
    "CREATE INDEX entry_group_owner ON entry (owner, number) WHERE group_handle IS NOT NULL",
    "CREATE INDEX entry_group_state ON entry (state, number) WHERE group_handle IS NOT NULL",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for index in ("entry_group_state", "entry_group_owner", "entry_group_number", "entry_group"):
        op.execute(f"DROP INDEX {index}")
    op.execute("CREATE INDEX entry_group ON entry (group_handle) WHERE group_handle IS NOT NULL")
