"""Ways to what lists are filtered by; and of two indexes over the same times the one that the other makes needless."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0010"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = ""

STATEMENTS = (
    # Words of the owner and the name, of which a search says beginnings. What was inserted last waits in a list, so that
    # an admission does not pay for each word; a search reads that list, too, so it is short (kB).
    """
    CREATE INDEX entry_words ON entry USING gin (
        to_tsvector('simple', translate(owner || ' ' || name, '-_./:@', '      '))
    ) WITH (gin_pending_list_limit = 256)
    """,
    """
    CREATE INDEX entry_labels ON entry USING gin (labels jsonb_path_ops) WITH (gin_pending_list_limit = 256)
        WHERE labels <> '{}'
    """,
    # The states of few; of committed ones there are many, so that they are found without it, and admission does not pay.
    "CREATE INDEX entry_state ON entry (state, number) WHERE state <> 'committed'",
    # entry_time has the same columns, of the live ones and of those that are over: what ends after now is live.
    "DROP INDEX entry_live_time",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for index in ("entry_words", "entry_labels", "entry_state"):
        op.execute(f"DROP INDEX {index}")
    op.execute(
        """
        CREATE INDEX entry_live_time ON entry (end_us, start_us)
            WHERE state IN ('held', 'awaiting-approval', 'committed')
        """
    )
