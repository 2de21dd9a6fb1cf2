"""The statements by which a transaction reads what its operations look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.rows import namedtuple_row
from sqlalchemy import Connection

from slotcar.book.model import OCCUPYING

_LIVE_STATES = ", ".join(f"'{state.value}'" for state in sorted(OCCUPYING))
# Two branches and not an OR, states as literals and not parameters, one lookup for each name: so each part keeps its
# (partial) index whatever the planner believes of a table that has grown since its last ANALYZE.
READ_ENTRIES = f"""
    SELECT * FROM entry WHERE handle = ANY(CAST(%(handles)s AS text[]))
    UNION ALL
    SELECT found.* FROM unnest(CAST(%(owners)s AS text[]), CAST(%(names)s AS text[])) AS asked (owner, name), LATERAL (
        SELECT * FROM entry
        WHERE entry.owner = asked.owner AND entry.name = asked.name AND entry.state IN ({_LIVE_STATES})
        LIMIT 1
    ) AS found
    """  # noqa: S608 - the states are constants of this program
# Two ranges of the key (pair, owner, …) and not an inequality: one's own rows, however many, are not read. Entries by
# an array and not by a join: however many the planner expects, it looks each of them up.
READ_OTHERS = """
    SELECT * FROM entry WHERE number = ANY(ARRAY(
        SELECT found.entry
        FROM unnest(
            CAST(%(owners)s AS text[]), CAST(%(pairs)s AS text[]), CAST(%(source_ports)s AS integer[]),
            CAST(%(destination_ports)s AS integer[]), CAST(%(starts_us)s AS bigint[]), CAST(%(ends_us)s AS bigint[])
        ) AS asked (owner, pair, source_port, destination_port, start_us, end_us), LATERAL (
            SELECT flow.* FROM flow WHERE flow.pair = asked.pair AND flow.owner < asked.owner
            UNION ALL
            SELECT flow.* FROM flow WHERE flow.pair = asked.pair AND flow.owner > asked.owner
        ) AS found
        WHERE found.start_us < asked.end_us AND found.end_us > asked.start_us
            AND (found.source_port = asked.source_port OR 0 IN (found.source_port, asked.source_port))
            AND (found.destination_port = asked.destination_port OR 0 IN (found.destination_port, asked.destination_port))
    ))
    """
# The states as literals: one plan serves, and uses the indexes of the states that are few, and of what is live.
_RUN_OUT = """
    SELECT * FROM entry
    WHERE state IN ('held', 'awaiting-approval') AND (hold_until <= %(now)s OR end_us <= %(now_us)s)
    """
READ_RUN_OUT = f"{_RUN_OUT} ORDER BY number"
# What has ended has begun: of thousands that are live few have, and an index of the starts finds them.
READ_DUE = f"""
    {_RUN_OUT}
    UNION ALL
    SELECT * FROM entry WHERE state = 'committed' AND start_us < %(now_us)s AND end_us <= %(now_us)s
    ORDER BY number
    """  # noqa: S608 - constants of this program
READ_USAGE = f"""
    SELECT count(*) AS reservations, coalesce(sum(windows), 0) AS windows,
        count(*) FILTER (WHERE state = 'held') AS holds, coalesce(sum(volume_bits), 0) AS volume_bits
    FROM entry
    WHERE owner = %(owner)s AND state IN ({_LIVE_STATES}) AND end_us > %(now_us)s
        AND handle <> ALL(CAST(%(known)s AS text[]))
    """  # noqa: S608 - the states are constants of this program
READ_LABELLED = f"""
    SELECT owner, name FROM entry
    WHERE owner = ANY(CAST(%(owners)s AS text[])) AND state IN ({_LIVE_STATES}) AND labels ->> %(label)s = %(value)s
        AND end_us > %(now_us)s AND (hold_until IS NULL OR hold_until > %(now)s)
        AND handle <> ALL(CAST(%(known)s AS text[]))
    """  # noqa: S608 - the states are constants of this program
READ_MEMBERS = "SELECT * FROM entry WHERE group_handle = %(group)s ORDER BY number"
# A member's name begins with its group's: of one group that sorts out the most, and of many at once the document does.
READ_GROUPS = f"""
    SELECT entry.*
    FROM unnest(CAST(%(owners)s AS text[]), CAST(%(names)s AS text[])) AS asked (owner, name), entry
    WHERE entry.owner = asked.owner AND group_handle IS NOT NULL AND starts_with(entry.name, asked.name || '.')
        AND document #>> '{{together,group}}' = asked.name AND state IN ({_LIVE_STATES})
    """  # noqa: S608 - the states are constants of this program
READ_FLOWS_AT = """
    SELECT asked.question, found.entry, found.pair, found.source_port, found.destination_port, found.device,
        found.start_us, found.end_us
    FROM unnest(
        CAST(%(questions)s AS integer[]), CAST(%(devices)s AS text[]), CAST(%(starts_us)s AS bigint[]),
        CAST(%(ends_us)s AS bigint[])
    ) AS asked (question, device, start_us, end_us), LATERAL (
        SELECT flow.* FROM flow
        WHERE flow.device = asked.device AND flow.end_us > asked.start_us AND flow.start_us < asked.end_us
    ) AS found
    """
READ_OPEN = f"""
    SELECT * FROM entry
    WHERE state IN ({_LIVE_STATES}) AND cardinality(resources) > 0
        AND (proposed IS NOT NULL OR (end_us >= %(start_us)s AND start_us <= %(end_us)s))
    """  # noqa: S608 - the states are constants of this program
_COUNTED = f"FROM entry WHERE state IN ({_LIVE_STATES}) AND (proposed IS NOT NULL OR end_us > %(now_us)s)"
_HAS_FORMS = "(proposed IS NOT NULL OR jsonb_typeof(document -> 'share') = 'object')"
_US = "CAST(extract(epoch FROM CAST(slot ->> '{}' AS timestamptz)) * 1000000 AS bigint)"
_RATE = "greatest(CAST(slot ->> 'forward_bps' AS bigint), CAST(slot ->> 'reverse_bps' AS bigint))"
# Of most, their slots alone: whole entries take tens of times as long to read.
READ_COUNTED = f"""
    SELECT number, owner, labels ->> 'slotcar.asked-by' AS asked_by, end_us, volume_bits, ARRAY(
        SELECT ARRAY[{_US.format("start")}, {_US.format("end")}, {_RATE}]
        FROM jsonb_array_elements(document -> 'slots') AS slot WHERE {_RATE} > 0 AND cardinality(resources) > 0
    ) AS steps {_COUNTED} AND {_HAS_FORMS} IS NOT TRUE
    """  # noqa: S608 - constants of this program
READ_COUNTED_FORMS = f"SELECT * {_COUNTED} AND {_HAS_FORMS}"
READ_OCCUPIED_SINCE = """
    SELECT * FROM entry WHERE number = ANY(ARRAY(SELECT entry FROM occupancy WHERE sequence > %(sequence)s))
    """
READ_NUMBERED = "SELECT * FROM entry WHERE number = ANY(CAST(%(numbers)s AS bigint[]))"


def read(connection: Connection, statement: str, parameters: Mapping[str, Any]) -> list[Any]:
    """Rows with their columns as attributes. By the driver alone: most of these statements find nothing, and to describe
    the 25 columns of no row costs SQLAlchemy as much as all the rest.
    """
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    with raw.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(statement.encode(), parameters).fetchall()
