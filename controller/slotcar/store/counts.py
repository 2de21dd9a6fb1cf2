"""What devices counted, kept by steps of time: fine ones for days, hours for weeks, days for a year (ADR 75)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, text

from slotcar.base.timebase import Window, to_us
from slotcar.store import database

_NUMBERS = (
    "counted_us",
    "reserved_bits",
    "in_profile_packets",
    "in_profile_bytes",
    "out_of_profile_packets",
    "out_of_profile_bytes",
    "dropped_packets",
    "dropped_bytes",
)
_KEY = ("entry", "direction", "service", "device", "interface", "step_s", "start_us")
_ADDED = ", ".join(f"{name} = counted.{name} + excluded.{name}" for name in _NUMBERS)
_MERGED = "remarks = ARRAY(SELECT DISTINCT unnest(counted.remarks || excluded.remarks) ORDER BY 1)"
_ON_CONFLICT = f"ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET {_ADDED}, {_MERGED}"
_COLUMNS = ", ".join((*_KEY, *_NUMBERS))
_VALUES = ", ".join(f":{name}" for name in (*_KEY, *_NUMBERS))
_ADD = text(f"INSERT INTO counted ({_COLUMNS}, remarks) VALUES ({_VALUES}, :remarks) {_ON_CONFLICT}")  # noqa: S608 - constants of this file
_SET_READING = text(
    """
    INSERT INTO counter_reading (device, asked_at, at, configuration, counts)
    VALUES (:device, :asked_at, :at, :configuration, CAST(:counts AS jsonb))
    ON CONFLICT (device) DO UPDATE SET asked_at = excluded.asked_at, at = excluded.at,
        configuration = excluded.configuration, counts = excluded.counts
    """
)
_READINGS = text(
    "SELECT device, asked_at, at, configuration, counts FROM counter_reading WHERE device = ANY(:devices)"
)
# All finer steps that lie whole before an instant, into coarser ones.
_ROLL_UP = text(
    f"""
    WITH finer AS (
        DELETE FROM counted WHERE step_s < :step_s AND start_us + step_s::bigint * 1000000 <= :before_us RETURNING *
    )
    INSERT INTO counted ({_COLUMNS}, remarks)
    SELECT entry, direction, service, device, interface, :step_s, start_us / :step_us * :step_us,
        {", ".join(f"sum({name})" for name in _NUMBERS)},
        coalesce((SELECT array_agg(DISTINCT remark ORDER BY remark) FROM unnest(string_to_array(
            string_agg(array_to_string(remarks, ','), ','), ',')) AS listed (remark) WHERE remark <> ''), '{{}}')
    FROM finer GROUP BY entry, direction, service, device, interface, start_us / :step_us {_ON_CONFLICT}
    """  # noqa: S608 - constants of this file
)
_FORGET = text("DELETE FROM counted WHERE start_us + step_s::bigint * 1000000 <= :before_us")
_OVERLAPS = "start_us < :end_us AND start_us + step_s::bigint * 1000000 > :start_us"
_OF_ENTRY = text(
    f"SELECT * FROM counted WHERE entry = :entry AND {_OVERLAPS} ORDER BY direction, device, interface, start_us"  # noqa: S608
)
_OF_LINK = text(
    f"""
    SELECT * FROM counted WHERE entry = 0 AND device = :device AND interface = :interface AND {_OVERLAPS}
    ORDER BY service, start_us
    """  # noqa: S608 - constants of this file
)
_OF_LINKS = text(
    f"""
    SELECT counted.* FROM counted JOIN unnest(CAST(:devices AS text[]), CAST(:interfaces AS text[]))
        AS asked (device, interface) USING (device, interface)
    WHERE entry = 0 AND {_OVERLAPS} ORDER BY device, interface, service, start_us
    """  # noqa: S608 - constants of this file
)
_TOTALS = ", ".join(f"sum({name}) AS {name}" for name in _NUMBERS)
_SINCE = text(
    f"""
    SELECT entry, {_TOTALS}, min(start_us) AS start_us FROM counted
    JOIN unnest(CAST(:entries AS bigint[]), CAST(:since_us AS bigint[])) AS asked (number, since_us) ON number = entry
    WHERE start_us < :until_us AND start_us + step_s::bigint * 1000000 > since_us GROUP BY entry
    """  # noqa: S608 - constants of this file
)
# A step belongs to the period that it begins in: steps are days at the longest, and periods months.
_PERIODS = """
    period AS (
        SELECT row_number() OVER () AS place, start_us AS period_start_us, end_us AS period_end_us
        FROM unnest(CAST(:starts_us AS bigint[]), CAST(:ends_us AS bigint[])) AS listed (start_us, end_us)
    ), parts AS (
        SELECT counted.*, period.place, known.owner, known.handle, known.name AS entry_name, known.resources, known.paths
        FROM counted JOIN entry AS known ON known.number = counted.entry
        JOIN period ON counted.start_us >= period_start_us AND counted.start_us < period_end_us
        WHERE counted.entry > 0 AND (CAST(:owner AS text) IS NULL OR known.owner = :owner)
    )
"""
_GROUPED = f"{_TOTALS}, count(DISTINCT entry) AS reservations"
_BY = {
    "owner": text(f"WITH {_PERIODS} SELECT place, owner AS name, {_GROUPED} FROM parts GROUP BY 1, 2 ORDER BY 1, 2"),  # noqa: S608
    "reservation": text(
        f"WITH {_PERIODS} SELECT place, owner || '/' || entry_name AS name, {_GROUPED} FROM parts"  # noqa: S608
        " GROUP BY 1, owner, entry_name ORDER BY 1, 2"
    ),
    # What was counted where a flow came in, for each SLS or domain that it crosses in that direction.
    "sls": text(
        f"""
        WITH {_PERIODS}, crossed AS (
            SELECT parts.*, sls FROM parts, LATERAL (
                SELECT path -> 'sls' AS listed
                FROM jsonb_array_elements(paths) WITH ORDINALITY AS numbered (path, place_of_path)
                WHERE place_of_path = CASE WHEN parts.direction = 'reverse' AND jsonb_array_length(paths) > 1
                                           THEN 2 ELSE 1 END
            ) AS taken, jsonb_array_elements_text(taken.listed) AS sls
        )
        SELECT place, sls AS name, {_GROUPED} FROM crossed GROUP BY 1, 2 ORDER BY 1, 2
        """  # noqa: S608 - constants of this file
    ),
    "domain": text(
        f"""
        WITH {_PERIODS}, crossed AS (
            SELECT parts.*, domain FROM parts, LATERAL (
                SELECT DISTINCT asked.domain
                FROM jsonb_array_elements(paths) WITH ORDINALITY AS numbered (path, place_of_path),
                    jsonb_array_elements(path -> 'hops') AS hop,
                    unnest(CAST(:devices AS text[]), CAST(:domains AS text[])) AS asked (device, domain)
                WHERE asked.device = hop ->> 0
                    AND place_of_path = CASE WHEN parts.direction = 'reverse' AND jsonb_array_length(paths) > 1
                                             THEN 2 ELSE 1 END
            ) AS taken
        )
        SELECT place, domain AS name, {_GROUPED} FROM crossed GROUP BY 1, 2 ORDER BY 1, 2
        """  # noqa: S608 - constants of this file
    ),
}  # fmt: skip
OUT = "out"


@dataclass(frozen=True, slots=True)
class CountedStep:
    """What was counted at one place in `[start, start + step)`.

    Attributes:
        entry: number of the flow's entry; 0 of a queue. direction: of the flow; `out` of a queue.
        counted_us: for how much of the step it is known. reserved_bits: what was reserved in that time, as IP packets; of a
            queue as frames.
    """

    entry: int
    direction: str
    service: str
    device: str
    interface: str
    step_s: int
    start_us: int
    counted_us: int
    reserved_bits: int
    in_profile_packets: int
    in_profile_bytes: int
    out_of_profile_packets: int
    out_of_profile_bytes: int
    dropped_packets: int
    dropped_bytes: int
    remarks: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class KeptReading:
    """What a device had counted when it was last read. `counts` is JSON."""

    device: str
    asked_at: datetime
    at: datetime
    configuration: str
    counts: list[list[Any]]


class CountedSum(NamedTuple):
    """What was counted of the flows of one name in one period."""

    place: int
    name: str
    reservations: int
    counted_us: int
    reserved_bits: int
    in_profile_bytes: int
    out_of_profile_bytes: int
    dropped_bytes: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """What ended so long ago is kept by steps of this length; None: not at all."""

    after: timedelta
    step: timedelta | None


#: In order of age.
RESOLUTIONS = (
    Resolution(timedelta(days=2), timedelta(hours=1)),
    Resolution(timedelta(days=14), timedelta(days=1)),
    Resolution(timedelta(days=400), None),
)


@dataclass(frozen=True, slots=True)
class CountStore:
    """
    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine

    def readings(self, devices: Collection[str]) -> dict[str, KeptReading]:
        """The last reading of each device that has one, by name."""
        with database.reading(self.engine) as connection:
            return {row.device: KeptReading(*row) for row in connection.execute(_READINGS, {"devices": [*devices]})}

    def keep(self, steps: Iterable[CountedStep], readings: Iterable[KeptReading]) -> None:
        """Adds what was counted, and notes up to where: both or neither."""
        added = [{one.name: getattr(step, one.name) for one in fields(step)} | {"remarks": list(step.remarks)}
                 for step in steps]  # fmt: skip
        noted = [{one.name: getattr(reading, one.name) for one in fields(reading)} | {"counts": json.dumps(reading.counts)}
                 for reading in readings]  # fmt: skip
        with database.answering(), self.engine.begin() as connection:
            if added:
                connection.execute(_ADD, added)
            if noted:
                connection.execute(_SET_READING, noted)

    def roll_up(self, now: datetime, resolutions: Sequence[Resolution] = RESOLUTIONS) -> None:
        """Adds what is old into coarser steps, and forgets what is older than all of them."""
        with database.answering(), self.engine.begin() as connection:
            for one in resolutions:
                _roll_up(connection, one, now)

    def of_entry(self, number: int, window: Window) -> tuple[CountedStep, ...]:
        """By direction and place, then by time; steps that the window begins or ends in are whole."""
        return self._steps(_OF_ENTRY, window, entry=number)

    def of_link(self, device: str, interface: str, window: Window) -> tuple[CountedStep, ...]:
        """The services' queues of a way out, each by time."""
        return self._steps(_OF_LINK, window, device=device, interface=interface)

    def of_links(self, places: Collection[tuple[str, str]], window: Window) -> tuple[CountedStep, ...]:
        """The same of several ways out, each a device and its interface; by device and interface."""
        listed = sorted(places)
        devices, interfaces = [device for device, _ in listed], [interface for _, interface in listed]
        return self._steps(_OF_LINKS, window, devices=devices, interfaces=interfaces) if listed else ()

    def totals(self, since: Mapping[int, datetime], until: datetime) -> dict[int, CountedStep]:
        """What was counted of each entry in both directions, as one step; nothing of those of which nothing is known.

        Args:
            since: from when on, by the entry's number.
        """
        instants_us = [to_us(instant) for instant in since.values()]
        parameters = {"entries": [*since], "since_us": instants_us, "until_us": to_us(until)}
        with database.reading(self.engine) as connection:
            return {
                row.entry: CountedStep(
                    row.entry, "", "", "", "", 0, row.start_us, *(int(getattr(row, name)) for name in _NUMBERS)
                )
                for row in connection.execute(_SINCE, parameters)
            }

    def sums(
        self, by: str, periods: Sequence[Window], domains: Mapping[str, str], owner: str | None = None
    ) -> tuple[CountedSum, ...]:
        """What was counted of flows in each period, summed by `owner`, `sls`, `domain` or `reservation`.

        Args:
            periods: one after the other, without gaps. domains: of each device.
        """
        parameters: dict[str, Any] = {
            "owner": owner, "starts_us": [one.start_us for one in periods], "ends_us": [one.end_us for one in periods],
        }  # fmt: skip
        if by == "domain":
            parameters |= {"devices": list(domains), "domains": list(domains.values())}
        with database.reading(self.engine) as connection:
            rows = connection.execute(_BY[by], parameters).all()
        return tuple(
            CountedSum(
                row.place - 1, row.name, row.reservations, int(row.counted_us), int(row.reserved_bits),
                int(row.in_profile_bytes), int(row.out_of_profile_bytes), int(row.dropped_bytes),
            )
            for row in rows
        )  # fmt: skip

    def _steps(self, statement: Any, window: Window, **place: object) -> tuple[CountedStep, ...]:
        parameters = {**place, "start_us": window.start_us, "end_us": window.end_us}
        with database.reading(self.engine) as connection:
            return tuple(
                CountedStep(**{**row, "reserved_bits": int(row["reserved_bits"]), "remarks": tuple(row["remarks"])})
                for row in connection.execute(statement, parameters).mappings()
            )


def _roll_up(connection: Connection, resolution: Resolution, now: datetime) -> None:
    if resolution.step is None:
        connection.execute(_FORGET, {"before_us": to_us(now - resolution.after)})
        return
    step_s = int(resolution.step.total_seconds())
    step_us = step_s * 1_000_000
    before_us = to_us(now - resolution.after) // step_us * step_us
    connection.execute(_ROLL_UP, {"step_s": step_s, "step_us": step_us, "before_us": before_us})
