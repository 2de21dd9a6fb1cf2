"""A background reservation counts against its owner's quota with what it can get, and no longer with its floor (ADR 55)."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = ""

# Of each entry with a share, or a change to one that waits, the greater volume of both forms, in bits, rounded up.
# {rate}: of both ways of one slot together.
_COUNT = """
    UPDATE entry SET volume_bits = counted.bits
    FROM (
        SELECT number, max(bits) AS bits
        FROM (
            SELECT entry.number, ceil(sum(
                {rate} * extract(epoch FROM (slot ->> 'end')::timestamptz - (slot ->> 'start')::timestamptz)
            )) AS bits
            FROM entry
            CROSS JOIN LATERAL (
                SELECT entry.document, 1 AS place
                UNION ALL
                SELECT entry.proposed -> 'reservation', 2 WHERE jsonb_typeof(entry.proposed) = 'object'
            ) AS form (document, place)
            CROSS JOIN LATERAL jsonb_array_elements(form.document -> 'slots') AS slot
            WHERE jsonb_typeof(entry.document -> 'share') = 'object'
                OR jsonb_typeof(entry.proposed #> '{{reservation,share}}') = 'object'
            GROUP BY entry.number, form.place
        ) AS forms
        GROUP BY number
    ) AS counted
    WHERE entry.number = counted.number
"""
_FLOOR = "((slot ->> 'forward_bps')::numeric + (slot ->> 'reverse_bps')::numeric)"
_MOST = f"""CASE WHEN jsonb_typeof(form.document -> 'share') = 'object'
                THEN (form.document #>> '{{share,at_most_bps}}')::numeric
                    * CASE WHEN form.document ->> 'direction' = 'both' THEN 2 ELSE 1 END
                ELSE {_FLOOR} END"""


def upgrade() -> None:
    op.execute(_COUNT.format(rate=_MOST))


def downgrade() -> None:
    op.execute(_COUNT.format(rate=_FLOOR))
