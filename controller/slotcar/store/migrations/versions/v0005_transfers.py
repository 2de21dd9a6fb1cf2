"""Volumes by a deadline: when, how far they are, and what headers take, so that their rates can change by themselves.

What is kept stays: no reservation of the version before has a need.
"""

from __future__ import annotations

from alembic import op

from slotcar.book.errors import CannotKeep

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "what volumes by a deadline reported, of those that are over"

STATEMENTS = (
    "ALTER TABLE entry ADD COLUMN deadline_us bigint, ADD COLUMN progress jsonb, ADD COLUMN wire_bytes integer[],"
    " ADD COLUMN payload_bytes integer",
    # The few that may move, among all that there ever were.
    "CREATE INDEX entry_transfers ON entry (deadline_us) WHERE deadline_us IS NOT NULL AND state = 'committed'",
)
_KEPT = (
    "SELECT count(*) FROM entry WHERE deadline_us IS NOT NULL AND state IN ('held', 'awaiting-approval', 'committed')"
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    live = op.get_bind().exec_driver_sql(_KEPT).scalar()
    if live:
        raise CannotKeep(f"{live} live reservations are volumes by a deadline, which this version cannot keep")
    op.execute("DROP INDEX entry_transfers")
    op.execute("UPDATE entry SET document = document - 'need'")
    op.execute(
        "UPDATE entry SET proposed = jsonb_set(proposed, '{reservation}', (proposed -> 'reservation') - 'need')"
        " WHERE proposed IS NOT NULL"
    )
    for column in ("deadline_us", "progress", "wire_bytes", "payload_bytes"):
        op.execute(f"ALTER TABLE entry DROP COLUMN {column}")
