"""Connections that were asked for by NSI, and those of which a neighbour was asked by NSI (ADR 85)."""

from __future__ import annotations

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "connections by NSI"

NAMES = ("nsi_provided", "nsi_requested")
TABLE = """
    CREATE TABLE {name} (
        id text PRIMARY KEY,
        phase text NOT NULL,
        settled boolean NOT NULL,
        revision integer NOT NULL,
        ends timestamptz NOT NULL,
        document jsonb NOT NULL,
        changed_at timestamptz NOT NULL
    )
    """


def upgrade() -> None:
    for name in NAMES:
        op.execute(TABLE.format(name=name))
        op.execute(f"CREATE INDEX {name}_unsettled ON {name} (id) WHERE NOT settled")


def downgrade() -> None:
    for name in NAMES:
        op.execute(f"DROP TABLE {name}")
