"""A ledger with many live reservations, written by SQL: a million admissions one by one would take minutes."""

from __future__ import annotations

import json

import psycopg

from benchmarks.admission.peers import copy_rows
from benchmarks.admission.workload import NOW, PATH_LENGTH, RESOURCES, Bookings
from slotcar.book.model import AdmissionRequest
from slotcar.book.rules.flows import FlowClaim
from slotcar.store.rows import paths_json

_PATH = [f"p{hop}" for hop in range(PATH_LENGTH)]
_RATES = f"array_fill(rate_bps, ARRAY[{PATH_LENGTH}])"
_TIME = """to_char(to_timestamp({} / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""
_ENTRIES = f"""
INSERT INTO entry (number, handle, owner, name, state, version, document, paths, resources, amounts, labels,
    start_us, end_us, windows, volume_bits, hold_until, created_at, changed_at)
SELECT number, 'r-live-' || number, 'bench', 'live-' || number, 'committed', 1,
    %(document)s::jsonb || jsonb_build_object('name', 'live-' || number, 'slots', jsonb_build_array(
        jsonb_build_object('start', {_TIME.format("start_us")}, 'end', {_TIME.format("end_us")},
            'forward_bps', rate_bps, 'reverse_bps', 0))), %(paths)s::jsonb,
    ARRAY[{", ".join(f"(%(names)s::text[])[{hop} + 1]" for hop in _PATH)}], {_RATES}, '{{}}',
    start_us, end_us, 1, rate_bps * ((end_us - start_us) / 1000000), NULL, %(now)s, %(now)s
FROM live
"""
_FLOWS = """
INSERT INTO flow (pair, source_port, destination_port, device, owner, entry, start_us, end_us)
SELECT %s, %s, %s, %s, 'bench', number, start_us, end_us FROM live
"""
# Resources are numbered from 1, in the order of `RESOURCES`.
_OCCUPANCY = f"""
INSERT INTO occupancy (sequence, entry, sign, resources, amounts, starts_us, ends_us, last_end_us)
SELECT number, number, 1, ARRAY[{", ".join(f"{hop}::integer + 1" for hop in _PATH)}], {_RATES},
    ARRAY[start_us], ARRAY[end_us], end_us
FROM live ORDER BY number
"""


def fill_ledger(url: str, live: Bookings, like: AdmissionRequest) -> None:
    """Makes an empty ledger hold `live`, committed, with documents and paths like those of a real request."""
    columns = {"number": range(1, len(live) + 1), "start_us": live.starts, "end_us": live.ends, "rate_bps": live.rates}
    columns |= {hop: live.paths[:, i] for i, hop in enumerate(_PATH)}
    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE TEMPORARY TABLE live ({', '.join(f'{name} bigint' for name in columns)})")
        copy_rows(connection, "live", columns)
        connection.cursor().executemany(
            "INSERT INTO resource (name) VALUES (%s)", [(str(name),) for name in RESOURCES]
        )
        parameters = {
            "document": json.dumps(like.reservation.to_document()),
            "paths": paths_json(like.paths),
            "names": [str(name) for name in RESOURCES],
            "now": NOW,
        }
        connection.execute(_ENTRIES, parameters)
        connection.execute(_OCCUPANCY)
        for flow in FlowClaim(like.reservation, like.paths).flows:
            connection.execute(_FLOWS, (*flow.packets, flow.device))
        connection.execute("UPDATE head SET sequence = %(n)s, entry_number = %(n)s", {"n": len(live)})
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")
