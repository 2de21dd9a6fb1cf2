"""Sums and last states out of the ledger, each by one statement that reads no more than it answers about."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Engine, any_, text

from slotcar.admission.resource_id import ResourceId, sls_pattern
from slotcar.base.timebase import Window, from_us, to_us
from slotcar.book.model import Entry, Event, State
from slotcar.book.slot_states import Recorded, SlotRecord, record_of
from slotcar.store import database, rows, schema

_LATEST = text(
    """
    SELECT found.* FROM (
        SELECT unnest(CAST(:devices AS text[])) AS name
        UNION SELECT DISTINCT device FROM event WHERE device IS NOT NULL AND CAST(:devices AS text[]) IS NULL
    ) AS asked, LATERAL (
        SELECT * FROM (
            SELECT * FROM event WHERE event.device = asked.name ORDER BY sequence DESC LIMIT CAST(:most AS bigint)
        ) AS newest
        WHERE newest.kind = ANY(CAST(:kinds AS text[])) ORDER BY sequence DESC LIMIT 1
    ) AS found ORDER BY found.device
    """
)
# Both by the partial indexes of migration 0017, whose conditions stand here word for word.
_SLOT_RECORDS = text(
    """
    SELECT found.* FROM unnest(CAST(:handles AS text[])) AS asked (handle), LATERAL (
        SELECT * FROM event WHERE event.handle = asked.handle AND kind LIKE 'slot.%' ORDER BY sequence DESC LIMIT 1
    ) AS found
    """
)
_LAST_CHECK = text("SELECT * FROM event WHERE kind = 'controller.checked' ORDER BY sequence DESC LIMIT 1")
# All that is asked for every page of reservations, as one question.
_SLOT_EVENTS = text(
    f"""
    SELECT 'device' AS what, latest.* FROM ({_LATEST.text}) AS latest
    UNION ALL SELECT 'slot', records.* FROM ({_SLOT_RECORDS.text}) AS records
    UNION ALL SELECT 'check', checked.* FROM ({_LAST_CHECK.text}) AS checked
    """  # noqa: S608 - constants of this file
)
_OVER_SINCE = text("SELECT handle FROM entry WHERE state IN ('ended', 'cancelled') AND end_us > :since_us")
_SLOT_US = "(extract(epoch FROM (slot ->> '{edge}')::timestamptz) * 1000000)::bigint"
# Entries of one slot are found by their first start and last end, which have indexes; the slots of the others are looked
# through. An instant at which a slot ends and the next one of the same reservation starts is a change.
_BOUNDARIES = text(
    f"""
    WITH own AS NOT MATERIALIZED (
        SELECT number, windows, start_us, end_us, document FROM entry
        WHERE state = 'committed' AND end_us > :after_us AND (CAST(:owner AS text) IS NULL OR owner = :owner)
    ), many AS (
        SELECT number, {_SLOT_US.format(edge="start")} AS start_us, {_SLOT_US.format(edge="end")} AS end_us
        FROM own, jsonb_array_elements(document -> 'slots') AS slot WHERE windows > 1 AND start_us <= :until_us
    ), instants AS (
        (SELECT DISTINCT start_us AS at_us FROM own
         WHERE windows = 1 AND start_us > :after_us AND start_us <= :until_us ORDER BY 1 LIMIT :most)
        UNION (SELECT DISTINCT end_us FROM own WHERE windows = 1 AND end_us <= :until_us ORDER BY 1 LIMIT :most)
        UNION (SELECT DISTINCT start_us FROM many WHERE start_us > :after_us AND start_us <= :until_us
               ORDER BY 1 LIMIT :most)
        UNION (SELECT DISTINCT end_us FROM many WHERE end_us > :after_us AND end_us <= :until_us ORDER BY 1 LIMIT :most)
        ORDER BY 1 LIMIT :most
    ), edges AS (
        SELECT number, start_us AS at_us, 1 AS starts, 0 AS ends FROM own
            WHERE windows = 1 AND start_us IN (SELECT at_us FROM instants)
        UNION ALL SELECT number, end_us, 0, 1 FROM own WHERE windows = 1 AND end_us IN (SELECT at_us FROM instants)
        UNION ALL SELECT number, start_us, 1, 0 FROM many WHERE start_us IN (SELECT at_us FROM instants)
        UNION ALL SELECT number, end_us, 0, 1 FROM many WHERE end_us IN (SELECT at_us FROM instants)
    ), changes AS (
        SELECT number, at_us, max(starts) AS starts, max(ends) AS ends FROM edges GROUP BY number, at_us
    )
    SELECT at_us, count(*) FILTER (WHERE starts > ends) AS starting, count(*) FILTER (WHERE starts < ends) AS ending,
        count(*) FILTER (WHERE starts = ends) AS changing
    FROM changes GROUP BY at_us ORDER BY at_us
    """  # noqa: S608 - constants of this file
)
# What was reserved and not given back: a cancelled reservation until it was cancelled, where it had been committed.
_STOOD = """
    SELECT number, owner, document, paths, resources, amounts,
        CASE WHEN state = 'cancelled' THEN least(end_us, (extract(epoch FROM changed_at) * 1000000)::bigint)
        ELSE end_us END AS over_us
    FROM entry
    WHERE start_us < :end_us AND end_us > :start_us AND (CAST(:owner AS text) IS NULL OR owner = :owner)
        AND (state IN ('committed', 'ended') OR (state = 'cancelled' AND EXISTS (
            SELECT FROM event WHERE event.handle = entry.handle AND event.kind = 'reservation.committed'
        )))
"""
_PARTS = f"""
    WITH stood AS ({_STOOD}), period AS (
        SELECT row_number() OVER () AS place, start_us, end_us
        FROM unnest(CAST(:starts_us AS bigint[]), CAST(:ends_us AS bigint[])) AS listed (start_us, end_us)
    ), slots AS (
        SELECT stood.*, place_of_slot, jsonb_array_length(document -> 'slots') AS slots,
            {_SLOT_US.format(edge="start")} AS slot_start_us, {_SLOT_US.format(edge="end")} AS slot_end_us,
            (slot ->> 'forward_bps')::bigint AS forward_bps, (slot ->> 'reverse_bps')::bigint AS reverse_bps
        FROM stood, jsonb_array_elements(document -> 'slots') WITH ORDINALITY AS listed (slot, place_of_slot)
    ), parts AS (
        SELECT slots.*, period.place,
            least(slot_end_us, over_us, period.end_us) - greatest(slot_start_us, period.start_us) AS length_us
        FROM slots JOIN period ON slot_start_us < period.end_us AND least(slot_end_us, over_us) > period.start_us
    )
"""  # noqa: S608 - constants of this file
_SUM = "trunc(sum({rate}::numeric * length_us) / 1000000)::numeric"
_USAGE = {
    "owner": text(
        f"""{_PARTS}
        SELECT place, owner AS name, {_SUM.format(rate="(forward_bps + reverse_bps)")} AS bits,
            count(DISTINCT number) AS reservations
        FROM parts GROUP BY place, owner ORDER BY place, owner
        """  # noqa: S608 - constants of this file
    ),
    # An amount for each resource, or for each of its slots (`rows.amounts_of`).
    "sls": text(
        f"""{_PARTS}
        SELECT place, resource AS name, {_SUM.format(rate="amount")} AS bits,
            count(DISTINCT number) AS reservations
        FROM parts, unnest(resources) WITH ORDINALITY AS listed (resource, place_of_resource), LATERAL (
            SELECT amounts[CASE WHEN cardinality(amounts) = cardinality(resources) THEN place_of_resource
                           ELSE (place_of_resource - 1) * slots + place_of_slot END] AS amount
        ) AS taken
        WHERE resource LIKE :sls_pattern GROUP BY place, resource ORDER BY place, resource
        """  # noqa: S608 - constants of this file
    ),
    # One path for each reserved direction, forward first; a domain that is crossed twice counts once each way.
    "domain": text(
        f"""{_PARTS}
        SELECT place, domain AS name, {_SUM.format(rate="rate_bps")} AS bits, count(DISTINCT number) AS reservations
        FROM parts, LATERAL (
            SELECT DISTINCT asked.domain, place_of_path,
                CASE WHEN place_of_path = 1 AND document ->> 'direction' <> 'reverse' THEN forward_bps
                     ELSE reverse_bps END AS rate_bps
            FROM jsonb_array_elements(paths) WITH ORDINALITY AS listed (path, place_of_path),
                jsonb_array_elements(path -> 'hops') AS hop,
                unnest(CAST(:devices AS text[]), CAST(:domains AS text[])) AS asked (device, domain)
            WHERE asked.device = hop ->> 0
        ) AS crossed
        GROUP BY place, domain ORDER BY place, domain
        """  # noqa: S608 - constants of this file
    ),
}


class BoundaryCounts(NamedTuple):
    """An instant at which slots of reservations start, end or change their rate, and how many."""

    at: datetime
    starting: int
    ending: int
    changing: int


class UsageSum(NamedTuple):
    """Rate times time that one name had reserved in one period."""

    place: int
    name: str
    bits: int
    reservations: int


@dataclass(frozen=True, slots=True)
class Summaries:
    """Questions to one ledger's database.

    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine

    def soonest(self, owner: str, now: datetime, most: int) -> tuple[Entry, ...]:
        """The owner's committed entries that are not over, what runs first and then what starts next."""
        entry = schema.entry.c
        statement = rows.SELECT_ENTRY.where(
            entry.owner == owner, entry.state == State.COMMITTED.value, entry.end_us > to_us(now)
        )
        with database.reading(self.engine) as connection:
            entry_rows = connection.execute(statement.order_by(entry.start_us, entry.number).limit(most))
            return tuple(rows.entry_from_row(row) for row in entry_rows)

    def crossing(self, resource: str, window: Window, most: int) -> tuple[Entry, ...]:
        """The first `most` live entries that take a part of the resource and may be open in the window, by start."""
        entry = schema.entry.c
        live = entry.state.in_([State.COMMITTED.value, State.HELD.value, State.AWAITING_APPROVAL.value])
        statement = rows.SELECT_ENTRY.where(
            live, entry.start_us < window.end_us, entry.end_us > window.start_us, any_(entry.resources) == resource
        )
        with database.reading(self.engine) as connection:
            entry_rows = connection.execute(statement.order_by(entry.start_us, entry.number).limit(most))
            return tuple(rows.entry_from_row(row) for row in entry_rows)

    def latest_of_devices(
        self, kinds: Collection[str], devices: Collection[str] | None = None, among: int | None = None
    ) -> tuple[Event, ...]:
        """The last event of one of the kinds of each device, by device.

        Args:
            devices: only of these; without it of all that an event was ever of.
            among: look through so many of a device's last events, and no further; without it through all.
        """
        parameters = {"devices": None if devices is None else list(devices), "kinds": list(kinds), "most": among}
        with database.reading(self.engine) as connection:
            return tuple(rows.event_from_row(row) for row in connection.execute(_LATEST, parameters))

    def slot_records(self, handles: Collection[str]) -> dict[str, SlotRecord]:
        """What was last said of each reservation's slot, by handle; nothing of those of which nothing was."""
        with database.reading(self.engine) as connection:
            records = (rows.event_from_row(row) for row in connection.execute(_SLOT_RECORDS, {"handles": [*handles]}))
            return {one.handle: one for one in map(record_of, records)}

    def recorded(
        self, handles: Collection[str], devices: Collection[str], kinds: Collection[str], among: int
    ) -> Recorded:
        """What is recorded of the slots of these reservations, for whoever may not know who holds a device.

        Args:
            devices, kinds, among: see `latest_of_devices`.
        """
        parameters = {"handles": [*handles], "devices": [*devices], "kinds": [*kinds], "most": among}
        with database.reading(self.engine) as connection:
            events = [(row.what, rows.event_from_row(row)) for row in connection.execute(_SLOT_EVENTS, parameters)]
        return Recorded(
            {one.handle: one for one in (record_of(event) for what, event in events if what == "slot")},
            {event.device: event for what, event in events if what == "device" and event.device},
            next((event for what, event in events if what == "check"), None),
        )

    def over_since(self, since: datetime) -> tuple[str, ...]:
        """Handles of what has ended since then, or was cancelled before its end."""
        with database.reading(self.engine) as connection:
            return tuple(connection.execute(_OVER_SINCE, {"since_us": to_us(since)}).scalars())

    def boundaries(
        self, after: datetime, until: datetime, most: int, owner: str | None = None
    ) -> tuple[BoundaryCounts, ...]:
        """The first `most` instants in `(after, until]` at which committed reservations' slots begin or end."""
        parameters = {"after_us": to_us(after), "until_us": to_us(until), "most": most, "owner": owner}
        with database.reading(self.engine) as connection:
            counts = connection.execute(_BOUNDARIES, parameters).all()
        return tuple(BoundaryCounts(from_us(row.at_us), row.starting, row.ending, row.changing) for row in counts)

    def usage(
        self, by: str, periods: Sequence[Window], domains: Mapping[str, str], owner: str | None = None
    ) -> tuple[UsageSum, ...]:
        """What was reserved in each period, summed by `owner`, `sls` or `domain`.

        Bits of payload; of an SLS bits of layer 3, as it counts them.

        Args:
            periods: one after the other, without gaps. domains: of each device.
        """
        parameters: dict[str, Any] = {
            "start_us": periods[0].start_us, "end_us": periods[-1].end_us, "owner": owner,
            "starts_us": [one.start_us for one in periods], "ends_us": [one.end_us for one in periods],
        }  # fmt: skip
        if by == "domain":
            parameters |= {"devices": list(domains), "domains": list(domains.values())}
        elif by == "sls":
            parameters["sls_pattern"] = sls_pattern()
        with database.reading(self.engine) as connection:
            sums = connection.execute(_USAGE[by], parameters).all()
        names = [ResourceId.parse(row.name).place if by == "sls" else row.name for row in sums]
        return tuple(
            UsageSum(row.place - 1, name, int(row.bits), row.reservations)
            for row, name in zip(sums, names, strict=True)
        )
