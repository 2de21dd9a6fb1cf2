"""The first schema: entries, the log of occupancy, events that nobody can change, idempotency keys."""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "all reservations and the audit log"

STATEMENTS = (
    # One row. Whoever decides or writes holds it FOR UPDATE, so that sequence numbers follow the order of commits.
    """
    CREATE TABLE head (
        id           integer PRIMARY KEY CHECK (id = 1),
        sequence     bigint NOT NULL,
        event        bigint NOT NULL,
        entry_number bigint NOT NULL
    )
    """,
    "INSERT INTO head (id, sequence, event, entry_number) VALUES (1, 0, 0, 0)",
    # Names of resources, numbered once, so that the occupancy log stays small.
    "CREATE TABLE resource (id serial PRIMARY KEY, name text NOT NULL UNIQUE)",
    """
    CREATE TABLE entry (
        number     bigint PRIMARY KEY,
        handle     text NOT NULL UNIQUE,
        owner      text NOT NULL,
        name       text NOT NULL,
        state      text NOT NULL,
        version    integer NOT NULL CHECK (version > 0),
        document   jsonb NOT NULL,
        paths      jsonb NOT NULL,
        resources  text[] NOT NULL,
        rates_bps  bigint[] NOT NULL,
        labels     jsonb NOT NULL,
        start_us   bigint NOT NULL,
        end_us     bigint NOT NULL,
        hold_until timestamptz,
        created_at timestamptz NOT NULL,
        changed_at timestamptz NOT NULL,
        CHECK (start_us < end_us),
        CHECK (cardinality(resources) = cardinality(rates_bps))
    )
    """,
    # A name is unique per owner among live entries; history may repeat it.
    """
    CREATE UNIQUE INDEX entry_live_name ON entry (owner, name)
        WHERE state IN ('held', 'awaiting-approval', 'committed')
    """,
    # What the timeline asks: live entries by time; and which holds run out, which committed ones are over.
    """
    CREATE INDEX entry_live_time ON entry (end_us, start_us)
        WHERE state IN ('held', 'awaiting-approval', 'committed')
    """,
    "CREATE INDEX entry_hold ON entry (hold_until) WHERE state IN ('held', 'awaiting-approval')",
    # Append-only: +1 takes, -1 gives back. The slot tables in memory are the sum of it (ADR 3).
    """
    CREATE TABLE occupancy (
        sequence    bigint PRIMARY KEY,
        entry       bigint NOT NULL REFERENCES entry (number),
        sign        smallint NOT NULL CHECK (sign IN (-1, 1)),
        resources   integer[] NOT NULL,
        rates_bps   bigint[] NOT NULL,
        starts_us   bigint[] NOT NULL,
        ends_us     bigint[] NOT NULL,
        last_end_us bigint NOT NULL
    )
    """,
    "CREATE INDEX occupancy_end ON occupancy (last_end_us)",
    "CREATE INDEX occupancy_given_back ON occupancy (entry) WHERE sign = -1",
    """
    CREATE TABLE event (
        sequence bigint PRIMARY KEY,
        at       timestamptz NOT NULL,
        kind     text NOT NULL,
        handle   text,
        device   text,
        details  jsonb NOT NULL
    )
    """,
    "CREATE INDEX event_handle ON event (handle, sequence) WHERE handle IS NOT NULL",
    # The audit log is never changed: not by a mistake of ours either.
    """
    CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
    END
    $$
    """,
    *(
        f"""
        CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
        """
        for table in ("event", "occupancy")
    ),
    """
    CREATE TABLE idempotency (
        actor   text NOT NULL,
        key     text NOT NULL,
        request text NOT NULL,
        handle  text NOT NULL,
        at      timestamptz NOT NULL,
        PRIMARY KEY (actor, key)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for table in ("idempotency", "event", "occupancy", "entry", "resource", "head"):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP FUNCTION refuse_change()")
