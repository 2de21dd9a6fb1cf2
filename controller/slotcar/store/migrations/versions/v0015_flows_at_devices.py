"""Which packets a flow has, which device classifies it, and when: flows that meet are found without their entries."""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = ""

# Of each live entry, and of the change of it that waits, the flows over all of their time; of a volume by a deadline the
# time in which its profile may move.
_FLOWS = """
    INSERT INTO flow (pair, owner, entry, device, source_port, destination_port, start_us, end_us)
    SELECT pair, owner, entry, device,
        coalesce(CASE WHEN backward THEN receiver_port ELSE sender_port END, 0) AS source_port,
        coalesce(CASE WHEN backward THEN sender_port ELSE receiver_port END, 0) AS destination_port,
        min(start_us), max(end_us)
    FROM (
        SELECT entry.owner, entry.number AS entry,
            (path ->> 'source_address') || '>' || (path ->> 'destination_address') || '/'
                || (form.document ->> 'protocol') AS pair,
            coalesce((
                SELECT hop ->> 0 FROM jsonb_array_elements(path -> 'hops') WITH ORDINALITY AS listed (hop, number)
                WHERE NOT path -> 'unreserved' @> (hop -> 0) ORDER BY listed.number LIMIT 1
            ), '') AS device,
            place = 2 OR form.document ->> 'direction' = 'reverse' AS backward,
            (form.document #>> '{source,port}')::integer AS sender_port,
            (form.document #>> '{destination,port}')::integer AS receiver_port,
            CASE WHEN by_us IS NULL THEN slots.start_us ELSE coalesce(not_before_us, 0) END AS start_us,
            greatest(slots.end_us, by_us) AS end_us
        FROM entry
        CROSS JOIN LATERAL (
            SELECT entry.document, entry.paths
            UNION ALL
            SELECT entry.proposed -> 'reservation', entry.proposed -> 'paths'
            WHERE jsonb_typeof(entry.proposed) = 'object'
        ) AS form (document, paths)
        CROSS JOIN LATERAL (
            SELECT (extract(epoch FROM min((slot ->> 'start')::timestamptz)) * 1000000)::bigint AS start_us,
                (extract(epoch FROM max((slot ->> 'end')::timestamptz)) * 1000000)::bigint AS end_us
            FROM jsonb_array_elements(form.document -> 'slots') AS slot
        ) AS slots
        CROSS JOIN LATERAL (
            SELECT (extract(epoch FROM (form.document #>> '{need,start}')::timestamptz) * 1000000)::bigint AS not_before_us,
                (extract(epoch FROM (form.document #>> '{need,by}')::timestamptz) * 1000000)::bigint AS by_us
        ) AS need
        CROSS JOIN LATERAL jsonb_array_elements(form.paths) WITH ORDINALITY AS way (path, place)
        WHERE entry.state IN ('held', 'awaiting-approval', 'committed')
    ) AS live
    GROUP BY pair, owner, entry, device, source_port, destination_port
"""
STATEMENTS = (
    "DELETE FROM flow",
    """
    ALTER TABLE flow
        ADD COLUMN device text NOT NULL,
        ADD COLUMN source_port integer NOT NULL, ADD COLUMN destination_port integer NOT NULL,
        ADD COLUMN start_us bigint NOT NULL, ADD COLUMN end_us bigint NOT NULL,
        DROP CONSTRAINT flow_pkey, ADD PRIMARY KEY (pair, owner, entry, device, source_port, destination_port)
    """,
    _FLOWS,
    "CREATE INDEX flow_device ON flow (device, end_us, start_us)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("CREATE TEMPORARY TABLE kept ON COMMIT DROP AS SELECT DISTINCT pair, owner, entry FROM flow")
    op.execute("DELETE FROM flow")
    op.execute(
        "ALTER TABLE flow DROP CONSTRAINT flow_pkey, DROP COLUMN device, DROP COLUMN source_port,"
        " DROP COLUMN destination_port, DROP COLUMN start_us, DROP COLUMN end_us,"
        " ADD PRIMARY KEY (pair, owner, entry)"
    )
    op.execute("INSERT INTO flow SELECT pair, owner, entry FROM kept")
