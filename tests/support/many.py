"""Ledgers with many live entries, and how many rows PostgreSQL looks at to find a few of them."""

from __future__ import annotations

from typing import Any

import psycopg

#: The copies' numbers follow this one.
FIRST_NUMBER = 1_000
_COPIES = """
    INSERT INTO entry (number, handle, owner, name, state, version, document, paths, resources, amounts, labels, start_us,
        end_us, windows, volume_bits, created_at, changed_at)
    SELECT %s + series, handle || series, owner, name || series, state, version, document, paths, resources, amounts,
        labels, start_us + series * 3600000000, end_us + series * 3600000000, windows, volume_bits, created_at, changed_at
    FROM entry, generate_series(1, %s) AS series WHERE name = %s
"""


def add_copies(connection: psycopg.Connection[Any], name: str, count: int) -> None:
    """Adds copies of the entry of that name, each an hour after the one before."""
    connection.execute(_COPIES, (FIRST_NUMBER, count, name))


def rows_looked_at(plan: dict[str, Any]) -> int:
    """Of a plan as `EXPLAIN (ANALYZE, FORMAT JSON)` gives it."""
    own = sum(int(plan.get(key, 0)) for key in ("Actual Rows", "Rows Removed by Filter"))
    return own + sum(rows_looked_at(one) for one in plan.get("Plans", ()))
