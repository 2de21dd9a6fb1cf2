"""What probes of SLSs measured, by hours and by days, and how each way stands (ADR 87)."""

from __future__ import annotations

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "what probes measured of SLSs"

STATEMENTS = (
    """
    CREATE TABLE audit_window (
        sls                text NOT NULL,
        source             text NOT NULL,
        destination        text NOT NULL,
        step_s             integer NOT NULL CHECK (step_s > 0),
        start_us           bigint NOT NULL,
        measured_us        bigint NOT NULL CHECK (measured_us >= 0),
        arrived_packets    bigint NOT NULL,
        lost_packets       bigint NOT NULL,
        unanswered_packets bigint NOT NULL,
        remarked_packets   bigint NOT NULL,
        untold_packets     bigint NOT NULL,
        clock_error_us     bigint,
        variation_error_us bigint NOT NULL,
        least_delay_us     bigint,
        delays             jsonb NOT NULL,
        variations         jsonb NOT NULL,
        loss_periods       bigint NOT NULL,
        longest_loss       bigint NOT NULL,
        shortest_distance  bigint,
        PRIMARY KEY (sls, source, destination, step_s, start_us)
    )
    """,
    "CREATE INDEX audit_window_time ON audit_window (step_s, start_us)",
    """
    CREATE TABLE audit_way (
        sls         text NOT NULL,
        source      text NOT NULL,
        destination text NOT NULL,
        until_us    bigint NOT NULL,
        verdict     text NOT NULL CHECK (verdict IN ('kept', 'broken', 'unknown')),
        PRIMARY KEY (sls, source, destination)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for table in ("audit_way", "audit_window"):
        op.execute(f"DROP TABLE {table}")
