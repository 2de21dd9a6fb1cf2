"""What devices counted, at falling resolution, and what each of them last said."""

from __future__ import annotations

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "what devices counted of reservations and links"

STATEMENTS = (
    # A flow's row has the number of its entry; a queue's has 0 and the direction `out`.
    """
    CREATE TABLE counted (
        entry                  bigint NOT NULL,
        direction              text NOT NULL CHECK (direction IN ('forward', 'reverse', 'out')),
        service                text NOT NULL,
        device                 text NOT NULL,
        interface              text NOT NULL,
        step_s                 integer NOT NULL CHECK (step_s > 0),
        start_us               bigint NOT NULL,
        counted_us             bigint NOT NULL CHECK (counted_us >= 0),
        reserved_bits          numeric NOT NULL,
        in_profile_packets     bigint NOT NULL,
        in_profile_bytes       bigint NOT NULL,
        out_of_profile_packets bigint NOT NULL,
        out_of_profile_bytes   bigint NOT NULL,
        dropped_packets        bigint NOT NULL,
        dropped_bytes          bigint NOT NULL,
        remarks                text[] NOT NULL,
        PRIMARY KEY (entry, direction, service, device, interface, step_s, start_us)
    )
    """,
    "CREATE INDEX counted_time ON counted (step_s, start_us)",
    "CREATE INDEX counted_queue ON counted (device, interface, start_us) WHERE entry = 0",
    """
    CREATE TABLE counter_reading (
        device        text PRIMARY KEY,
        asked_at      timestamptz NOT NULL,
        at            timestamptz NOT NULL,
        configuration text NOT NULL,
        counts        jsonb NOT NULL
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE counter_reading")
    op.execute("DROP TABLE counted")
