"""Rights on one reservation that its owner has handed to others, and what managers share out of communities (ADR 89)."""

from __future__ import annotations

from alembic import op

revision = "0025"
down_revision = "0023"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "delegations, and what managers shared out of communities"

SHARES = """
    CREATE TABLE community_share (
        community text NOT NULL,
        name text NOT NULL,
        members text[] NOT NULL,
        rate_bps bigint NOT NULL,
        until timestamptz,
        hours integer[] NOT NULL,
        services text[] NOT NULL,
        given_by text NOT NULL,
        given_at timestamptz NOT NULL,
        PRIMARY KEY (community, name)
    )
    """


def upgrade() -> None:
    op.execute("ALTER TABLE entry ADD COLUMN delegations jsonb")
    # Few reservations have any: who lists what was handed to it asks these alone.
    op.execute("CREATE INDEX entry_delegated ON entry (number) WHERE delegations IS NOT NULL")
    op.execute(SHARES)


def downgrade() -> None:
    op.execute("DROP TABLE community_share")
    op.execute("DROP INDEX entry_delegated")
    op.execute("ALTER TABLE entry DROP COLUMN delegations")
