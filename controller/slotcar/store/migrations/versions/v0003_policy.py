"""Changes that wait for approval, what counts against quotas, and who has reserved which flows."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "changes that wait for approval"

STATEMENTS = (
    # A change of a committed reservation that waits for approval; `document` stays what is in force.
    "ALTER TABLE entry ADD COLUMN proposed jsonb",
    # How many slots it has, and rate times time of all of them: quotas add these up.
    "ALTER TABLE entry ADD COLUMN windows integer NOT NULL DEFAULT 1",
    "ALTER TABLE entry ADD COLUMN volume_bits numeric NOT NULL DEFAULT 0",
    """
    UPDATE entry SET windows = jsonb_array_length(document -> 'windows'), volume_bits = (
        SELECT ceil((document ->> 'rate_bps')::numeric * CASE document ->> 'direction' WHEN 'both' THEN 2 ELSE 1 END
            * sum(extract(epoch FROM (slot ->> 'end')::timestamptz - (slot ->> 'start')::timestamptz)))
        FROM jsonb_array_elements(document -> 'windows') AS slot
    )
    """,
    "ALTER TABLE entry ALTER COLUMN windows DROP DEFAULT, ALTER COLUMN volume_bits DROP DEFAULT",
    # One row for each pair of addresses and protocol that a live entry has reserved, so that another owner's claim to
    # the same packets is found at once. The order of the key finds other owners' rows among many of one's own.
    """
    CREATE TABLE flow (
        pair  text NOT NULL,
        owner text NOT NULL,
        entry bigint NOT NULL REFERENCES entry (number),
        PRIMARY KEY (pair, owner, entry)
    )
    """,
    """
    INSERT INTO flow (pair, owner, entry)
        SELECT DISTINCT (path ->> 'source_address') || '>' || (path ->> 'destination_address') || '/'
            || (document ->> 'protocol'), owner, number
        FROM entry, jsonb_array_elements(paths) AS path
        WHERE state IN ('held', 'awaiting-approval', 'committed')
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE flow")
    for column in ("proposed", "windows", "volume_bits"):
        op.execute(f"ALTER TABLE entry DROP COLUMN {column}")
