"""A ledger full of reservations, written by SQL: of hundreds of owners, over the months before now and the coming one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import psycopg

from benchmarks.admission.peers import copy_rows
from benchmarks.web.world import PAIRS, SEED, World
from slotcar.store import open_ledger
from slotcar.store.rows import paths_json

OWNERS = 300
#: Slots begin at whole minutes, and last from ten minutes to two days.
MINUTE_US = 60_000_000
MONTH_MINUTES = 30 * 24 * 60
SHORTEST, LONGEST = 10, 48 * 60
#: One in so many has four slots, in four weeks; one in so many that are over was cancelled.
VARYING, CANCELLED = 50, 10
#: Words of names, as people make them.
_WORDS = "ARRAY['cms', 'atlas', 'alice', 'lhcb', 'genome', 'backup', 'climate', 'stream', 'vlbi', 'visit']"
_WEEK_US = 7 * 1440 * MINUTE_US
_SLOT = """jsonb_build_object(
    'start', to_char(to_timestamp((start_us + week * {week}) / 1000000) AT TIME ZONE 'UTC', '{form}'),
    'end', to_char(to_timestamp((end_us + week * {week}) / 1000000) AT TIME ZONE 'UTC', '{form}'),
    'forward_bps', rate_bps, 'reverse_bps', 0)""".format(week=_WEEK_US, form='YYYY-MM-DD"T"HH24:MI:SS"Z"')
_ENTRIES = f"""
INSERT INTO entry (number, handle, owner, name, state, version, document, paths, resources, amounts, labels,
    start_us, end_us, windows, volume_bits, hold_until, created_at, changed_at)
SELECT number, 'r-' || substr(md5(number::text), 1, 16), owner, name, CASE WHEN NOT over THEN 'committed'
        WHEN number %% {CANCELLED} = 0 THEN 'cancelled' ELSE 'ended' END, 1 + over::integer,
    document || jsonb_build_object('name', name, 'owner', owner, 'labels', labels, 'slots',
        (SELECT jsonb_agg({_SLOT} ORDER BY week) FROM generate_series(0, windows - 1) AS listed (week))),
    paths, resources, ARRAY(SELECT amount * (rate_bps / 1000000) FROM unnest(amounts) AS one (amount)), labels,
    start_us, end_us + (windows - 1) * {_WEEK_US}, windows, rate_bps * windows * ((end_us - start_us) / 1000000), NULL,
    to_timestamp(start_us / 1000000) - interval '7 days', to_timestamp(end_us / 1000000)
FROM (
    SELECT live.*, 'lab' || number * 7919 %% {OWNERS} AS owner,
        ({_WORDS})[1 + number * 31 %% 10] || '-' || ({_WORDS})[1 + number / 10 %% 10] || '-' || number AS name,
        jsonb_build_object('project', 'p' || number %% 40, 'ticket', number::text) AS labels, end_us <= %(now_us)s AS over,
        CASE WHEN number %% {VARYING} = 0 THEN 4 ELSE 1 END AS windows
    FROM live
) AS made JOIN pair ON pair.id = made.pair ORDER BY number
"""  # noqa: S608 - constants of this file
_OCCUPANCY = f"""
INSERT INTO occupancy (sequence, entry, sign, resources, amounts, starts_us, ends_us, last_end_us)
SELECT number, number, 1, pair.numbers, entry.amounts,
    ARRAY(SELECT live.start_us + week * {_WEEK_US} FROM generate_series(0, windows - 1) AS listed (week)),
    ARRAY(SELECT live.end_us + week * {_WEEK_US} FROM generate_series(0, windows - 1) AS listed (week)), entry.end_us
FROM entry JOIN live USING (number) JOIN pair ON pair.id = live.pair ORDER BY number
"""  # noqa: S608 - constants of this file
# One when it was committed, one for each that is over.
_EVENTS = """
INSERT INTO event (sequence, at, kind, handle, device, details)
SELECT row_number() OVER (ORDER BY at), at, kind, handle, NULL, '{"actor": "bench"}' FROM (
    SELECT created_at AS at, 'reservation.committed' AS kind, handle FROM entry
    UNION ALL SELECT changed_at, 'reservation.' || state, handle FROM entry WHERE state <> 'committed'
) AS told
"""


def fill(url: str, world: World, live: int, over: int, now_us: int) -> None:
    """Makes an empty database a ledger: `live` of them begin in the month after `now_us`, `over` ended before it."""
    with open_ledger(url, Path("unused: the URL names a server"), migrate=True):
        pass
    with psycopg.connect(url) as connection:
        _copy(connection, _columns(live, over, now_us))
        _pairs(connection, world)
        connection.execute("SET maintenance_work_mem = '512MB'")
        connection.execute(_ENTRIES, {"now_us": now_us})
        connection.execute(_OCCUPANCY)
        connection.execute(_EVENTS)
        connection.execute(
            "UPDATE head SET sequence = %s, entry_number = %s, event = (SELECT max(sequence) FROM event)",
            (live + over, live + over),
        )
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")


def _columns(live: int, over: int, now_us: int) -> dict[str, object]:
    random = np.random.default_rng(SEED)
    number = live + over
    months = max(1, round(over / max(live, 1)))
    lengths = random.integers(SHORTEST, LONGEST, number, endpoint=True)
    starts = random.integers(1, MONTH_MINUTES, number)
    # What is over stands in the order of its months, as it was asked for; four slots are over after three weeks more.
    back = np.sort(random.integers(0, months * MONTH_MINUTES, over))[::-1] + LONGEST + 21 * 1440
    starts[:over] = -back
    first_us = now_us // MINUTE_US * MINUTE_US
    starts_us = first_us + starts * MINUTE_US
    return {
        "number": np.arange(1, number + 1), "pair": random.integers(0, PAIRS, number), "start_us": starts_us,
        "end_us": starts_us + lengths * MINUTE_US, "rate_bps": random.integers(1, 101, number) * 1_000_000,
    }  # fmt: skip


def _copy(connection: psycopg.Connection[tuple[object, ...]], columns: dict[str, object]) -> None:
    connection.execute(f"CREATE TEMPORARY TABLE live ({', '.join(f'{name} bigint' for name in columns)})")
    copy_rows(connection, "live", columns)
    connection.execute("ANALYZE live")


def _pairs(connection: psycopg.Connection[tuple[object, ...]], world: World) -> None:
    connection.execute(
        "CREATE TEMPORARY TABLE pair"
        " (id bigint, document jsonb, paths jsonb, resources text[], amounts bigint[], numbers integer[])"
    )
    names = {str(demand.resource): None for pair in world.pairs for demand in pair.demands}
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO resource (name) VALUES (%s)", [(name,) for name in names])
    rows = [
        (
            number, json.dumps(pair.reservation.to_document()), paths_json(pair.paths),
            [str(demand.resource) for demand in pair.demands], [demand.amounts[0] for demand in pair.demands],
        )
        for number, pair in enumerate(world.pairs)
    ]  # fmt: skip
    cursor.executemany("INSERT INTO pair VALUES (%s, %s, %s, %s, %s)", rows)
    connection.execute(
        "UPDATE pair SET numbers = ARRAY(SELECT resource.id FROM unnest(resources) WITH ORDINALITY AS one (name, place)"
        " JOIN resource USING (name) ORDER BY place)"
    )
