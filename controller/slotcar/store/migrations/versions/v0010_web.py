"""Sessions of the page, and ways to what starts next and to what was in force."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "sessions of browsers"

STATEMENTS = (
    # Of a session's id only the hash is kept: whoever reads the database signs in as nobody by it. `token_sha256` is
    # null where the controller is open and nobody signs in; a session ends with its token.
    """
    CREATE TABLE web_session (
        id_sha256    text PRIMARY KEY CHECK (length(id_sha256) = 64),
        token_name   text NOT NULL,
        token_sha256 text,
        zone         text NOT NULL,
        created_at   timestamptz NOT NULL,
        seen_at      timestamptz NOT NULL
    )
    """,
    "CREATE INDEX web_session_seen ON web_session (seen_at)",
    "CREATE INDEX web_session_token ON web_session (token_name)",
    "CREATE INDEX entry_live_start ON entry (start_us) WHERE state IN ('held', 'awaiting-approval', 'committed')",
    # The few with several slots, of which each is looked at.
    """
    CREATE INDEX entry_live_slots ON entry (end_us)
        WHERE windows > 1 AND state IN ('held', 'awaiting-approval', 'committed')
    """,
    "CREATE INDEX entry_waits ON entry (number) WHERE state = 'awaiting-approval' OR proposed IS NOT NULL",
    # Those that are over too: what was in force at an instant, and what was reserved in a month.
    "CREATE INDEX entry_time ON entry (end_us, start_us)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for index in ("entry_live_start", "entry_live_slots", "entry_waits", "entry_time"):
        op.execute(f"DROP INDEX {index}")
    op.execute("DROP TABLE web_session")
