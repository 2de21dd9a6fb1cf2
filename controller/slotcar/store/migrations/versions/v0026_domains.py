"""What domains say of their segments, and the tickets that were taken (ADR 78)."""

from __future__ import annotations

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "what domains said of their segments, and which tickets were taken"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE connection_segment (
            connection text,
            domain text,
            heard_from text NOT NULL,
            stated_at timestamptz NOT NULL,
            document jsonb NOT NULL,
            PRIMARY KEY (connection, domain)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE domain_ticket (
            issuer text,
            number text,
            connection text NOT NULL,
            version integer NOT NULL,
            ends timestamptz NOT NULL,
            PRIMARY KEY (issuer, number)
        )
        """
    )
    op.execute("CREATE INDEX domain_ticket_ends ON domain_ticket (ends)")


def downgrade() -> None:
    op.execute("DROP TABLE connection_segment")
    op.execute("DROP TABLE domain_ticket")
