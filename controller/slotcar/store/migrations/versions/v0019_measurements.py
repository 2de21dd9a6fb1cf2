"""What transfers took, with what they had been said to take, and what probes measured."""

from __future__ import annotations

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "what transfers took, and what probes measured"

STATEMENTS = (
    """
    CREATE TABLE transfer_sample (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        source text NOT NULL,
        destination text NOT NULL,
        source_domain text NOT NULL,
        destination_domain text NOT NULL,
        volume_bytes numeric NOT NULL,
        started_at timestamptz NOT NULL,
        ended_at timestamptz NOT NULL,
        tool text NOT NULL,
        reserved_bps bigint,
        estimated_us bigint,
        low_us bigint,
        high_us bigint,
        least_us bigint,
        most_us bigint
    )
    """,
    "CREATE INDEX transfer_sample_way ON transfer_sample (source, destination, ended_at)",
    "CREATE INDEX transfer_sample_domains ON transfer_sample (source_domain, destination_domain, ended_at)",
    "CREATE INDEX transfer_sample_ended ON transfer_sample (ended_at)",
    """
    CREATE TABLE probe_sample (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        source text NOT NULL,
        destination text NOT NULL,
        source_domain text NOT NULL,
        destination_domain text NOT NULL,
        at timestamptz NOT NULL,
        tool text NOT NULL,
        rtt_us bigint,
        throughput_bps bigint,
        loss_ppm integer
    )
    """,
    "CREATE INDEX probe_sample_way ON probe_sample (source, destination, at)",
    "CREATE INDEX probe_sample_domains ON probe_sample (source_domain, destination_domain, at)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for table in ("probe_sample", "transfer_sample"):
        op.execute(f"DROP TABLE {table}")
