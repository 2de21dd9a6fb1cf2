"""The statements by which a transaction reads what its operations look at."""

from __future__ import annotations

from sqlalchemy import text

from slotcar.ledger.model import OCCUPYING

_LIVE_STATES = ", ".join(f"'{state.value}'" for state in sorted(OCCUPYING))
# Two branches and not an OR, states as literals and not parameters, one lookup for each name: so each part keeps its
# (partial) index whatever the planner believes of a table that has grown since its last ANALYZE.
READ_ENTRIES = text(
    f"""
    SELECT * FROM entry WHERE handle = ANY(CAST(:handles AS text[]))
    UNION ALL
    SELECT found.* FROM unnest(CAST(:owners AS text[]), CAST(:names AS text[])) AS asked (owner, name), LATERAL (
        SELECT * FROM entry
        WHERE entry.owner = asked.owner AND entry.name = asked.name AND entry.state IN ({_LIVE_STATES})
        LIMIT 1
    ) AS found
    """  # noqa: S608 - the states are constants of this program
)
# Two ranges of the key (pair, owner, entry) and not an inequality: one's own rows, however many, are not read.
READ_OTHERS = text(
    """
    SELECT entry.* FROM unnest(CAST(:pairs AS text[]), CAST(:owners AS text[])) AS asked (pair, owner), LATERAL (
        SELECT entry FROM flow WHERE flow.pair = asked.pair AND flow.owner < asked.owner
        UNION ALL
        SELECT entry FROM flow WHERE flow.pair = asked.pair AND flow.owner > asked.owner
    ) AS found JOIN entry ON entry.number = found.entry
    WHERE entry.end_us > :now_us OR entry.proposed IS NOT NULL
    """
)
READ_USAGE = text(
    f"""
    SELECT count(*) AS reservations, coalesce(sum(windows), 0) AS windows,
        count(*) FILTER (WHERE state = 'held') AS holds, coalesce(sum(volume_bits), 0) AS volume_bits
    FROM entry
    WHERE owner = :owner AND state IN ({_LIVE_STATES}) AND end_us > :now_us AND handle <> ALL(CAST(:known AS text[]))
    """  # noqa: S608 - the states are constants of this program
)
READ_LABELLED = text(
    f"""
    SELECT owner, name FROM entry
    WHERE owner = ANY(CAST(:owners AS text[])) AND state IN ({_LIVE_STATES}) AND labels ->> :label = :value
        AND end_us > :now_us AND (hold_until IS NULL OR hold_until > :now) AND handle <> ALL(CAST(:known AS text[]))
    """  # noqa: S608 - the states are constants of this program
)
READ_MEMBERS = text("SELECT * FROM entry WHERE group_handle = :group ORDER BY number")
#: A member's name begins with its group's.
READ_GROUP_OF = text(
    f"""
    SELECT * FROM entry
    WHERE owner = :owner AND group_handle IS NOT NULL AND starts_with(name, :prefix) AND state IN ({_LIVE_STATES})
    """  # noqa: S608 - the states are constants of this program
)
# Containment in JSON finds a superset (an interface may have a device's name), which is looked through again.
READ_BESIDE = text(
    f"""
    SELECT * FROM entry WHERE state IN ({_LIVE_STATES}) AND end_us > :start_us AND start_us < :end_us AND EXISTS (
        SELECT FROM unnest(CAST(:devices AS text[])) AS asked (name)
        WHERE paths @> jsonb_build_array(jsonb_build_object('hops', jsonb_build_array(jsonb_build_array(asked.name))))
    )
    """  # noqa: S608 - the states are constants of this program
)
