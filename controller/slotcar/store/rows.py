"""Entries and events to rows and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from pydantic_core import to_json
from sqlalchemy import Row, select

from slotcar.admission.model import Demand
from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import Window, from_us
from slotcar.base.vocabulary import Service
from slotcar.book.model import Entry, EntryChange, Event, ProgressReport, Proposal, Requester, State
from slotcar.network.model import InterfaceId
from slotcar.network.path.model import Hop, Path
from slotcar.policy.delegating import Delegation
from slotcar.reservation.model import Reservation, Slot
from slotcar.store import schema

SELECT_ENTRY = select(schema.entry)
SELECT_EVENT = select(schema.event)


def path_to_row(path: Path) -> dict[str, Any]:
    return {
        "source": path.source,
        "destination": path.destination,
        "source_address": path.source_address,
        "destination_address": path.destination_address,
        "service": path.service.value,
        "hops": [[hop.device, hop.ingress.name, hop.egress.name] for hop in path.hops],
        "sls": list(path.sls),
        "unreserved": sorted(path.unreserved_devices),
    }


# A network has few hops and resources, and each of thousands of entries names some of them: equal ones are made once.
@lru_cache(maxsize=65_536)
def _hop(device: str, ingress: str, egress: str) -> Hop:
    return Hop(device, InterfaceId(device=device, name=ingress), InterfaceId(device=device, name=egress))


_resource = lru_cache(maxsize=65_536)(ResourceId.parse)


def path_from_row(row: dict[str, Any]) -> Path:
    return Path(
        source=row["source"],
        destination=row["destination"],
        source_address=row["source_address"],
        destination_address=row["destination_address"],
        service=Service(row["service"]),
        hops=tuple(_hop(*hop) for hop in row["hops"]),
        sls=tuple(row["sls"]),
        unreserved_devices=frozenset(row["unreserved"]),
    )


def as_json(value: object) -> str:
    """A value as the text of a jsonb column; a pydantic model in it as its document. Several times faster than `json`."""
    return to_json(value).decode()


def paths_json(paths: Sequence[Path]) -> str:
    return as_json([path_to_row(path) for path in paths])


def proposal_json(proposal: Proposal) -> str:
    return as_json(
        {
            "reservation": proposal.reservation,
            "paths": [path_to_row(path) for path in proposal.paths],
            "demands": [
                [str(demand.resource), list(demand.amounts), demand.wire_bytes, demand.payload_bytes]
                for demand in proposal.demands
            ],
            "actor": proposal.actor,
            "at": proposal.at.isoformat(),
            "requester": requester_to_row(proposal.requester) if proposal.requester else None,
        }
    )


def proposal_from_row(row: dict[str, Any]) -> Proposal:
    return Proposal(
        reservation=Reservation.from_document(row["reservation"]),
        paths=tuple(path_from_row(path) for path in row["paths"]),
        demands=tuple(
            Demand(ResourceId.parse(name), tuple(amounts), *ratio) for name, amounts, *ratio in row["demands"]
        ),
        actor=row["actor"],
        at=datetime.fromisoformat(row["at"]),
        requester=requester_from_row(row["requester"]) if row.get("requester") else None,
    )


def requester_to_row(requester: Requester) -> dict[str, Any]:
    return {
        "name": requester.name,
        "kept": requester.kept,
        "at": requester.at.isoformat(),
        "attestation": requester.attestation,
    }


def requester_from_row(row: Mapping[str, Any]) -> Requester:
    return Requester(row["name"], row["kept"], datetime.fromisoformat(row["at"]), row["attestation"])


def entry_from_row(row: Row[Any]) -> Entry:
    return Entry(
        handle=row.handle,
        number=row.number,
        state=State(row.state),
        version=row.version,
        reservation=Reservation.from_document(row.document),
        paths=tuple(path_from_row(path) for path in row.paths),
        demands=_with_headers(demands_of([_resource(name) for name in row.resources], row.amounts), row),
        created_at=row.created_at,
        changed_at=row.changed_at,
        hold_until=row.hold_until,
        proposed=proposal_from_row(row.proposed) if row.proposed else None,
        progress=progress_from_row(row.progress) if row.progress else None,
        change=change_from_row(row.change) if row.change else None,
        group=row.group_handle,
        requester=requester_from_row(row.requester) if row.requester else None,
        delegations=delegations_from_row(row.delegations) if row.delegations else (),
    )


def delegations_json(delegations: Sequence[Delegation]) -> str:
    return as_json(
        [
            {
                "to": one.to,
                "may": list(one.may),
                "until": one.until.isoformat(),
                "given_by": one.given_by,
                "given_at": one.given_at.isoformat(),
                "groups": list(one.groups),
            }
            for one in delegations
        ]
    )


def delegations_from_row(listed: Sequence[Mapping[str, Any]]) -> tuple[Delegation, ...]:
    return tuple(
        Delegation(
            one["to"],
            tuple(one["may"]),
            datetime.fromisoformat(one["until"]),
            one["given_by"],
            datetime.fromisoformat(one["given_at"]),
            tuple(one["groups"]),
        )
        for one in listed
    )


def _with_headers(demands: Sequence[Demand], row: Row[Any]) -> tuple[Demand, ...]:
    """The demands with the bytes of their headers, where these were kept; amounts may then change without the network."""
    if row.wire_bytes is None:
        return tuple(demands)
    return tuple(
        replace(demand, wire_bytes=wire_bytes, payload_bytes=row.payload_bytes)
        for demand, wire_bytes in zip(demands, row.wire_bytes, strict=True)
    )


def progress_json(progress: ProgressReport) -> str:
    return as_json(
        {
            "remaining_bytes": progress.remaining_bytes,
            "at": progress.at.isoformat(),
            "needed_bps": progress.needed_bps,
            "missing_bytes": progress.missing_bytes,
        }
    )


def progress_from_row(row: dict[str, Any]) -> ProgressReport:
    return ProgressReport(**{**row, "at": datetime.fromisoformat(row["at"])})


def change_json(change: EntryChange) -> str:
    before = [[slot.start_us, slot.end_us, *slot.rates] for slot in change.before]
    return as_json({"at": change.at.isoformat(), "before": before, "moves": change.moves})


def change_from_row(row: dict[str, Any]) -> EntryChange:
    before = tuple(Slot(from_us(start), from_us(end), *rates) for start, end, *rates in row["before"])
    return EntryChange(datetime.fromisoformat(row["at"]), before, row.get("moves", 0))


def event_from_row(row: Row[Any]) -> Event:
    return Event(row.sequence, row.at, row.kind, row.handle, row.device, row.details)


def amounts_of(demands: Sequence[Demand], slots: int) -> list[int]:
    """The demands' amounts for one row: one for each demand where all are constant, else one for each of the `slots` of
    the first demand, then of the second, and so on.
    """
    if all(len(demand.amounts) == 1 for demand in demands):
        return [demand.amounts[0] for demand in demands]
    return [amount for demand in demands for amount in demand.over(slots)]


def demands_of(resources: Sequence[ResourceId], amounts: Sequence[int]) -> tuple[Demand, ...]:
    """What `amounts_of` made a row of."""
    if not resources:
        return ()
    slots = len(amounts) // len(resources)
    parts = (tuple(amounts[start : start + slots]) for start in range(0, len(amounts), slots))
    return tuple(
        Demand(resource, part[:1] if len(set(part)) == 1 else part)
        for resource, part in zip(resources, parts, strict=True)
    )


def window_rows(windows: Sequence[Window]) -> tuple[list[int], list[int]]:
    """Starts and ends in microseconds since the epoch."""
    return [window.start_us for window in windows], [window.end_us for window in windows]
