"""Who asked for a volume by a deadline: policies are asked again as them when it is moved (ADR 91)."""

from __future__ import annotations

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "who asked for each transfer, as far as policies are asked again by it"

#: Of transfers that live, the first event says who asked.
KNOWN = """
    UPDATE entry SET requester = jsonb_build_object(
        'name', said.details ->> 'actor', 'kept', said.details -> 'requester', 'at', said.at, 'attestation', ''
    )
    FROM (
        SELECT DISTINCT ON (handle) handle, at, details FROM event
        WHERE kind IN ('reservation.held', 'reservation.committed', 'reservation.awaiting-approval')
        ORDER BY handle, sequence
    ) AS said
    WHERE said.handle = entry.handle AND entry.deadline_us IS NOT NULL
        AND entry.state IN ('held', 'awaiting-approval', 'committed')
    """


def upgrade() -> None:
    op.execute("ALTER TABLE entry ADD COLUMN requester jsonb")
    op.execute(KNOWN)


def downgrade() -> None:
    op.execute("ALTER TABLE entry DROP COLUMN requester")
