"""The statements by which a transaction writes what it noted, and entries as their rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import psycopg

from slotcar.admission.model import Demand
from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import to_us
from slotcar.book.model import Entry
from slotcar.store import rows

UPDATE = """
UPDATE entry SET state = %s, version = %s, document = %s::jsonb, paths = %s::jsonb, resources = %s::text[],
    amounts = %s::bigint[], labels = %s::jsonb, start_us = %s, end_us = %s, proposed = %s::jsonb, windows = %s,
    volume_bits = %s, deadline_us = %s, progress = %s::jsonb,
    wire_bytes = %s::integer[], payload_bytes = %s, change = %s::jsonb, group_handle = %s,
    delegations = %s::jsonb, requester = %s::jsonb, hold_until = %s, changed_at = %s
WHERE number = %s
"""
COPY_ENTRY = """
COPY entry (number, handle, owner, name, state, version, document, paths, resources, amounts, labels, start_us,
    end_us, proposed, windows, volume_bits, deadline_us, progress,
    wire_bytes, payload_bytes, change, group_handle, delegations, requester, hold_until, created_at, changed_at) FROM STDIN
"""
COPY_OCCUPANCY = """
COPY occupancy (sequence, entry, sign, resources, amounts, starts_us, ends_us, last_end_us) FROM STDIN
"""
COPY_EVENT = "COPY event (sequence, at, kind, handle, device, details) FROM STDIN"
COPY_FLOW = "COPY flow (pair, source_port, destination_port, device, start_us, end_us, owner, entry) FROM STDIN"
DELETE_FLOW = """
DELETE FROM flow
WHERE pair = %s AND source_port = %s AND destination_port = %s AND device = %s AND owner = %s AND entry = %s
"""
COPY_REMEMBERED = "COPY idempotency (actor, key, request, handle, at) FROM STDIN"


def copy_rows(cursor: psycopg.Cursor[Any], statement: str, listed: Sequence[tuple[Any, ...]]) -> None:
    if not listed:
        return
    with cursor.copy(statement.encode()) as copy:
        for row in listed:
            copy.write_row(row)


def _columns(demands: Sequence[Demand], slots: int) -> tuple[str, str]:
    return array([_quoted(demand.resource) for demand in demands]), array(rows.amounts_of(demands, slots))


@lru_cache(maxsize=65_536)
def _quoted(resource: ResourceId) -> str:
    name = str(resource).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{name}"'


def array(values: Sequence[object]) -> str:
    """PostgreSQL's own text form, several times faster than the driver's way there; texts come quoted."""
    return "{" + ",".join(map(str, values)) + "}"


def inserted(entry: Entry) -> tuple[Any, ...]:
    owner, name = entry.reservation.key
    return (
        entry.number, entry.handle, owner, name, entry.state.value, entry.version, *_body(entry), entry.hold_until,
        entry.created_at, entry.changed_at,
    )  # fmt: skip


def updated(entry: Entry) -> tuple[Any, ...]:
    return (
        entry.state.value, entry.version, *_body(entry), entry.hold_until, entry.changed_at, entry.number,
    )  # fmt: skip


def _body(entry: Entry) -> tuple[Any, ...]:
    """document, paths, resources, amounts, labels, start_us, end_us, proposed, windows, volume_bits, deadline_us, progress,
    wire_bytes, payload_bytes, change, group_handle, delegations, requester.
    """
    reservation, usage = entry.reservation, entry.usage
    return (
        reservation.model_dump_json(),
        rows.paths_json(entry.paths),
        *_columns(entry.demands, len(reservation.slots)),
        rows.as_json(reservation.labels),
        to_us(reservation.start),
        to_us(reservation.end),
        rows.proposal_json(entry.proposed) if entry.proposed else None,
        usage.windows,
        usage.volume_bits,
        *_need_columns(entry),
        rows.change_json(entry.change) if entry.change else None,
        entry.group,
        rows.delegations_json(entry.delegations) if entry.delegations else None,
        rows.as_json(rows.requester_to_row(entry.requester)) if entry.requester else None,
    )


def _need_columns(entry: Entry) -> tuple[Any, ...]:
    """The columns of a volume by a deadline; with the headers its amounts can change without the network."""
    need = entry.reservation.need
    if need is None:
        return (None, None, None, None)
    return (
        to_us(need.by),
        rows.progress_json(entry.progress) if entry.progress else None,
        array([demand.wire_bytes for demand in entry.demands]),
        next((demand.payload_bytes for demand in entry.demands), 1),
    )
