"""A year of reservations, as the hourly roll-up leaves it: rows and bytes in PostgreSQL.

One in ten is open all the year, in one direction; the others for four hours of one of its days. It is written as it stands
after a year, with the finest steps of the last two days, and rolled up once as the controller that leads does it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from benchmarks.common import Figure, Say, count, stopwatch
from slotcar.base.timebase import MICROSECOND, to_us
from slotcar.store import open_ledger

RESERVATIONS, QUICK_RESERVATIONS = 10_000, 500
#: One in so many is open all the time.
LASTING = 10
YEAR = timedelta(days=365)
#: The age up to which a step is that long.
FINE, HOURS = timedelta(days=2), timedelta(days=14)
_ROWS = """
    INSERT INTO counted
    SELECT entry, 'forward', 'ip-premium', 'router-' || entry %% 1000, 'eth' || entry %% 4, %(step_s)s, start_us,
        %(step_s)s::bigint * 1000000, %(step_s)s::bigint * 1000000, 1000, 1500000, 10, 15000, 1, 1500, '{}'
    FROM generate_series(1, %(most)s) AS entry, generate_series(%(from_us)s, %(until_us)s - 1, %(step_us)s) AS start_us
    WHERE entry %% %(lasting)s = 0
       OR start_us BETWEEN %(year_us)s + (entry * 7919 %% 365)::bigint * 86400000000 + 32400000000 - %(step_us)s + 1
                       AND %(year_us)s + (entry * 7919 %% 365)::bigint * 86400000000 + 32400000000 + 14400000000 - 1
    ON CONFLICT DO NOTHING
"""
_SIZE = "SELECT count(*), pg_total_relation_size('counted') FROM counted"


def _numbers(most: int, now: datetime) -> Iterator[dict[str, int]]:
    """What is written, by resolution: each step once."""
    day_us = timedelta(days=1) // MICROSECOND
    for newest, oldest, step in (
        (timedelta(0), FINE, timedelta(minutes=5)), (FINE, HOURS, timedelta(hours=1)), (HOURS, YEAR, timedelta(days=1)),
    ):  # fmt: skip
        step_us = step // MICROSECOND
        yield {
            "most": most, "lasting": LASTING, "step_s": step // timedelta(seconds=1), "step_us": step_us,
            "from_us": to_us(now - oldest) // step_us * step_us, "until_us": to_us(now - newest) // step_us * step_us,
            "year_us": to_us(now - YEAR) // day_us * day_us,
        }  # fmt: skip


def kept(url: str, quick: bool, say: Say) -> Iterator[Figure]:
    most = QUICK_RESERVATIONS if quick else RESERVATIONS
    now = datetime(2027, 3, 1, 12, tzinfo=UTC)
    name = f"a year of {count(most)} reservations"
    say(f"{name}: writing")
    nowhere, plain = Path("unused: the URL names a server"), url.replace("postgresql+psycopg", "postgresql")
    with open_ledger(url, nowhere, migrate=True) as ledger, psycopg.connect(plain, autocommit=True) as connection:
        for numbers in _numbers(most, now):
            connection.execute(_ROWS, numbers)
        connection.execute("ANALYZE counted")
        say(f"{name}: rolling up")
        with stopwatch() as taken:
            ledger.counts.roll_up(now + timedelta(hours=1))
        connection.execute("VACUUM FULL counted")
        rows, size_bytes = connection.execute(_SIZE).fetchone() or (0, 0)
    lasting = most // LASTING
    bound = lasting * (2 * 288 + 12 * 24 + 24 + 387) + (most - lasting) * 2 * 48
    if rows > bound:
        raise SystemExit(f"{rows} rows, and {bound} at most were computed")
    yield Figure(f"{name}, {count(lasting)} of them open all the time: rows", rows, "")
    yield Figure(f"{name}, {count(lasting)} of them open all the time: with indexes", size_bytes / 1e6, "MB")
    yield Figure(f"{name}: the bytes of a row with its index entries", size_bytes / max(1, rows), "B")
    yield Figure(f"{name}: rolling up an hour", taken[0], "s", lower_is_better=True)
