"""Connections over several domains, each as this domain keeps it (ADR 78)."""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "connections over several domains"

STATEMENTS = (
    """
    CREATE TABLE connection (
        id text PRIMARY KEY,
        phase text NOT NULL,
        settled boolean NOT NULL,
        revision integer NOT NULL,
        ends timestamptz NOT NULL,
        document jsonb NOT NULL,
        changed_at timestamptz NOT NULL
    )
    """,
    "CREATE INDEX connection_unsettled ON connection (id) WHERE NOT settled",
    "CREATE INDEX connection_ends ON connection (ends)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE connection")
