"""SLSs that domains agree on while they run; when connections in force are to be looked after (ADR 93)."""

from __future__ import annotations

from alembic import op

revision = "0029"
down_revision = "0026"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "the SLSs that domains have agreed on"


def upgrade() -> None:
    op.execute("ALTER TABLE connection ADD due timestamptz")
    op.execute("UPDATE connection SET due = changed_at")
    # Tables keep what is over: each second what is in force is asked for alone.
    op.execute("CREATE INDEX connection_due ON connection (due) WHERE phase = 'reserve-start'")
    op.execute("CREATE INDEX connection_in_force ON connection (ends) WHERE phase = 'reserve-start'")
    op.execute("ALTER TABLE head ADD slss bigint NOT NULL DEFAULT 0")
    op.execute(
        """
        CREATE TABLE agreed_sls (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            id text NOT NULL UNIQUE,
            name text NOT NULL,
            rests_on text NOT NULL,
            attempt text NOT NULL,
            in_force jsonb,
            proposed jsonb,
            over boolean NOT NULL,
            closed text NOT NULL
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE agreed_sls")
    op.execute("DROP INDEX connection_in_force")
    op.execute("DROP INDEX connection_due")
    op.execute("ALTER TABLE connection DROP due")
    op.execute("ALTER TABLE head DROP slss")
