"""Ways to what was last said of a slot, and to the last check of all devices."""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = ""

STATEMENTS = (
    "CREATE INDEX event_slot ON event (handle, sequence) WHERE kind LIKE 'slot.%'",
    "CREATE INDEX event_checked ON event (sequence) WHERE kind = 'controller.checked'",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for index in ("event_slot", "event_checked"):
        op.execute(f"DROP INDEX {index}")
