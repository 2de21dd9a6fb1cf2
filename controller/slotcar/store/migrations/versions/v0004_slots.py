"""Amounts over time: a reservation's slots with a rate each way, and amounts that may differ from slot to slot.

What is kept stays: a constant rate over windows becomes a slot for each window; a row of occupancy keeps its numbers.
"""

from __future__ import annotations

from alembic import op

from slotcar.book.errors import CannotKeep

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = ""

#: `rate_bps` goes to the directions that are reserved.
_SLOTS = """
jsonb_build_object('slots', (
    SELECT jsonb_agg(
        one || jsonb_build_object(
            'forward_bps', CASE WHEN {old} ->> 'direction' = 'reverse' THEN 0 ELSE ({old} -> 'rate_bps')::bigint END,
            'reverse_bps', CASE WHEN {old} ->> 'direction' = 'forward' THEN 0 ELSE ({old} -> 'rate_bps')::bigint END
        ) ORDER BY place
    )
    FROM jsonb_array_elements({old} -> 'windows') WITH ORDINALITY AS listed (one, place)
))
"""
_WINDOWS = """
jsonb_build_object(
    'rate_bps', (
        SELECT max(greatest((one -> 'forward_bps')::bigint, (one -> 'reverse_bps')::bigint))
        FROM jsonb_array_elements({old} -> 'slots') AS listed (one)
    ),
    'windows', (
        SELECT jsonb_agg(one - 'forward_bps' - 'reverse_bps' ORDER BY place)
        FROM jsonb_array_elements({old} -> 'slots') WITH ORDINALITY AS listed (one, place)
    )
)
"""
_DEMANDS = """
SELECT jsonb_agg(jsonb_build_array(one -> 0, {amount}) ORDER BY place)
FROM jsonb_array_elements(proposed -> 'demands') WITH ORDINALITY AS listed (one, place)
"""
#: A change that waits holds a reservation of its own.
_PROPOSED = "(proposed -> 'reservation')"


def _rewrite(gone: str, made: str, amount: str) -> tuple[str, str]:
    """Statements that rewrite every reservation, and every change that waits."""
    less = " - ".join(f"'{key}'" for key in gone.split())
    proposal = f"({_PROPOSED} - {less}) || {made.format(old=_PROPOSED)}"
    return (
        f"UPDATE entry SET document = (document - {less}) || {made.format(old='document')}",  # noqa: S608 - constants of this file
        f"""
        UPDATE entry SET proposed = proposed || jsonb_build_object(
            'reservation', {proposal}, 'demands', coalesce(({_DEMANDS.format(amount=amount)}), '[]'::jsonb)
        )
        WHERE proposed IS NOT NULL
        """,  # noqa: S608 - constants of this file
    )


_VARYING = "SELECT count(*) FROM occupancy WHERE cardinality(amounts) <> cardinality(resources)"


def upgrade() -> None:
    for statement in _rewrite("windows rate_bps", _SLOTS, "jsonb_build_array(one -> 1)"):
        op.execute(statement)
    op.execute("ALTER TABLE entry DROP CONSTRAINT entry_check1")
    # One amount for each resource, or one for each of its slots.
    for table in ("entry", "occupancy"):
        op.execute(f"ALTER TABLE {table} RENAME COLUMN rates_bps TO amounts")
    op.execute(
        """
        ALTER TABLE entry ADD CONSTRAINT entry_amounts CHECK (
            CASE WHEN cardinality(resources) = 0 THEN cardinality(amounts) = 0
            ELSE cardinality(amounts) > 0 AND cardinality(amounts) % cardinality(resources) = 0 END
        )
        """
    )


def downgrade() -> None:
    varying = op.get_bind().exec_driver_sql(_VARYING).scalar()
    if varying:
        raise CannotKeep(
            f"{varying} rows of the ledger have amounts that change with time, which this version cannot keep"
        )
    op.execute("ALTER TABLE entry DROP CONSTRAINT entry_amounts")
    for table in ("entry", "occupancy"):
        op.execute(f"ALTER TABLE {table} RENAME COLUMN amounts TO rates_bps")
    op.execute("ALTER TABLE entry ADD CONSTRAINT entry_check1 CHECK (cardinality(resources) = cardinality(rates_bps))")
    for statement in _rewrite("slots", _WINDOWS, "one -> 1 -> 0"):
        op.execute(statement)
