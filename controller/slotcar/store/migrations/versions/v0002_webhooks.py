"""Webhooks, their deliveries that wait, and ways into the audit log by time and by device."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "webhooks, with what waits to be delivered"

STATEMENTS = (
    # `secret` says where the signing secret is (a file or a variable of the controller); the secret itself is not here.
    # Every event up to `position` was queued for it, or is none of its kinds.
    """
    CREATE TABLE webhook (
        id           text PRIMARY KEY,
        url          text NOT NULL,
        secret       text NOT NULL,
        kinds        text[] NOT NULL,
        position     bigint NOT NULL,
        created_at   timestamptz NOT NULL,
        created_by   text NOT NULL,
        delivered_at timestamptz,
        last_error   text NOT NULL DEFAULT ''
    )
    """,
    # A row waits until it is delivered, then it is deleted; one that was given up stays, with `dead_at`.
    # Of a lane (a reservation, a device, or the rest) only the lowest number is sent.
    """
    CREATE TABLE webhook_delivery (
        webhook    text NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
        sequence   bigint NOT NULL,
        lane       text NOT NULL,
        attempts   integer NOT NULL DEFAULT 0,
        queued_at  timestamptz NOT NULL,
        next_at    timestamptz NOT NULL,
        dead_at    timestamptz,
        last_error text NOT NULL DEFAULT '',
        PRIMARY KEY (webhook, sequence)
    )
    """,
    "CREATE INDEX webhook_delivery_lane ON webhook_delivery (webhook, lane, sequence) WHERE dead_at IS NULL",
    # The log is written in the order of time, so a summary of each range of pages finds a day in it.
    "CREATE INDEX event_at ON event USING brin (at) WITH (autosummarize = on)",
    "CREATE INDEX event_device ON event (device, sequence) WHERE device IS NOT NULL",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for table in ("webhook_delivery", "webhook"):
        op.execute(f"DROP TABLE {table}")
    for index in ("event_at", "event_device"):
        op.execute(f"DROP INDEX {index}")
