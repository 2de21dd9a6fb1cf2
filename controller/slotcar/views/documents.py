"""JSON-ready forms of what the verbs give: one form for the API, for `--format json|yaml` and for plan files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, cast

from slotcar.admission.model import Demand, Refused, Shortfall, TransferRefused
from slotcar.admission.resource_id import ResourceId, describe
from slotcar.base.timebase import Window, iso
from slotcar.book.model import OCCUPYING, Entry, Event, ProgressReport, Proposal, state_of, version_of
from slotcar.book.slot_now import SlotNow, whole
from slotcar.network.path.model import Path
from slotcar.platforms.model import Configuration
from slotcar.policy.delegating import Delegation
from slotcar.reservation.model import Reservation
from slotcar_client.wire import documents

if TYPE_CHECKING:
    from slotcar.views.timeline import TimelineItem


def window_document(window: Window) -> documents.Window:
    return {"start": iso(window.start), "end": iso(window.end)}


#: Keys of a reservation's document that follow from its slots, and the field before which each stands to be read.
DERIVED_KEYS = {"rate_bps": "packet_size_bytes", "windows": "slots"}


def reservation_document(reservation: Reservation) -> documents.Reservation:
    """Integers with units in their names; times in UTC. Without `DERIVED_KEYS` a `Reservation` reads it back."""
    derived = {
        "rate_bps": reservation.constant_rate_bps,
        "windows": [window_document(window) for window in reservation.windows],
    }
    before = {field: key for key, field in DERIVED_KEYS.items()}
    document: dict[str, Any] = {}
    for field, value in reservation.to_document().items():
        if field in before:
            document[before[field]] = derived[before[field]]
        document[field] = value
    return cast(documents.Reservation, document)


def reservation_of(document: Mapping[str, Any]) -> Reservation:
    """The reservation of a `reservation_document`."""
    return Reservation.from_document({key: value for key, value in document.items() if key not in DERIVED_KEYS})


def path_document(path: Path) -> documents.Path:
    return {
        "source": path.source,
        "destination": path.destination,
        "hops": [
            {
                "device": hop.device,
                "ingress": hop.ingress.name,
                "egress": hop.egress.name,
                "reserved": hop.device not in path.unreserved_devices,
            }
            for hop in path.hops
        ],
        "sls": list(path.sls),
    }


def demand_document(demand: Demand) -> documents.Demand:
    """`rate_bps` is the peak; `amounts` one for each slot, or a single one for all. They are in `unit`."""
    return {
        "resource": str(demand.resource),
        "unit": demand.resource.kind_of.unit,
        "rate_bps": demand.peak,
        "amounts": list(demand.amounts),
    }


def entry_document(entry: Entry) -> documents.Entry:
    return {
        "handle": entry.handle,
        "number": entry.number,
        "state": entry.state.value,
        "version": entry.version,
        "reservation": reservation_document(entry.reservation),
        "paths": [path_document(path) for path in entry.paths],
        "demands": [demand_document(demand) for demand in entry.demands],
        "created_at": iso(entry.created_at),
        "changed_at": iso(entry.changed_at),
        "hold_until": iso(entry.hold_until) if entry.hold_until else None,
        "proposed": proposal_document(entry.proposed) if entry.proposed else None,
        "progress": progress_document(entry.progress) if entry.progress else None,
        **_perhaps(entry),
        "slot": slot_document(entry.slot) if entry.slot else None,
        "notes": list(entry.notes),
    }


class _Perhaps(TypedDict, total=False):
    group: str
    delegations: list[documents.Delegation]


def _perhaps(entry: Entry) -> _Perhaps:
    """What few have."""
    some: _Perhaps = {"group": entry.group} if entry.group else {}
    if entry.delegations:
        some["delegations"] = [delegation_document(one) for one in entry.delegations]
    return some


def delegation_document(delegation: Delegation) -> documents.Delegation:
    return {
        "to": delegation.to,
        "may": list(delegation.may),
        "until": iso(delegation.until),
        "given_by": delegation.given_by,
        "given_at": iso(delegation.given_at),
    }


def delegated_documents(entry: Entry, delegations: Sequence[Delegation]) -> list[documents.Delegated]:
    """These of the entry's delegations, each with the reservation."""
    owner, name = entry.reservation.key
    return [{**delegation_document(one), "handle": entry.handle, "owner": owner, "name": name} for one in delegations]


def slot_document(slot: SlotNow) -> documents.SlotNow:
    """What is on the devices of a slot. Times to the microsecond, in UTC."""
    return {
        "number": slot.number,
        "of": slot.of,
        **window_document(slot.window),
        "state": slot.state.value,
        "since": iso(slot.since) if slot.since else None,
        "why": slot.why,
        "devices": [
            {
                "device": one.device,
                "state": one.state.value,
                "since": iso(one.since) if one.since else None,
                "why": one.why,
            }
            for one in slot.devices
        ],
    }


def group_document(members: Sequence[Entry]) -> documents.Group:
    """A group and, below it, its members; `members` are all of it, one at least."""
    together = members[0].reservation.together
    live = [one for one in members if one.state in OCCUPYING] or list(members)
    return {
        "handle": members[0].group or "",
        "owner": members[0].reservation.owner,
        "name": together.group if together else "",
        "version": version_of(members),
        "state": state_of(members).value,
        "start": iso(min(one.reservation.start for one in live)),
        "end": iso(max(one.reservation.end for one in live)),
        "hold_until": min((iso(one.hold_until) for one in live if one.hold_until), default=None),
        "slot_state": whole(slots).value if (slots := [one.slot.state for one in live if one.slot]) else None,
        "members": [
            {
                **entry_document(one),
                "group": one.group or "",
                "member": member_name(one),
                "on_failure": one.reservation.together.on_failure.value,
            }
            for one in members
            if one.reservation.together
        ],
    }


def member_name(entry: Entry) -> str:
    """Its name in its group; the whole name of what is in none."""
    together = entry.reservation.together
    return entry.reservation.name.removeprefix(f"{together.group}.") if together else entry.reservation.name


def progress_document(progress: ProgressReport) -> documents.Progress:
    return {
        "remaining_bytes": progress.remaining_bytes,
        "at": iso(progress.at),
        "needed_bps": progress.needed_bps,
        "missing_bytes": progress.missing_bytes,
    }


def proposal_document(change: Proposal) -> documents.Proposed:
    return {
        "reservation": reservation_document(change.reservation),
        "paths": [path_document(path) for path in change.paths],
        "demands": [demand_document(demand) for demand in change.demands],
        "proposed_by": change.actor,
        "proposed_at": iso(change.at),
    }


def event_document(event: Event) -> documents.Event:
    return {
        "sequence": event.sequence,
        "at": iso(event.at),
        "kind": event.kind,
        "handle": event.handle,
        "device": event.device,
        "details": event.details,
    }


def events_document(events: Sequence[Event], after: int) -> documents.Events:
    """One page of the log, which goes on after the last of them; of an empty one after `after`, where it began."""
    return {"items": list(map(event_document, events)), "next": events[-1].sequence if events else after}


def refusal_document(refused: Refused) -> documents.Refusal:
    return {
        "reason": refused.reason,
        "shortfalls": [
            {
                "resource": str(shortfall.resource),
                "place": describe(shortfall.resource),
                "window": window_document(shortfall.window),
                "unit": shortfall.resource.kind_of.unit,
                "requested_bps": shortfall.requested,
                "free_bps": shortfall.free,
                "capacity_bps": shortfall.capacity,
            }
            for shortfall in refused.shortfalls
        ],
        "nearest_window": window_document(refused.nearest_window) if refused.nearest_window else None,
        "highest_rate_bps": refused.highest_rate_bps,
        "highest_share_permille": refused.highest_share_permille,
        "transfer": _transfer_document(refused.transfer) if refused.transfer else None,
        "horizon": iso(refused.horizon) if refused.horizon else None,
        "paths_tried": refused.paths_tried,
        "path": list(refused.path),
    }


def _transfer_document(numbers: TransferRefused) -> documents.TransferRefusal:
    earliest, tightest = numbers.earliest_deadline, numbers.tightest
    return {
        "asked_bytes": numbers.asked_bytes,
        "deadline": iso(numbers.deadline),
        "most_bytes": numbers.most_bytes,
        "earliest_deadline": iso(earliest) if earliest else None,
        "tightest": str(tightest) if tightest else None,
        "place": describe(tightest) if tightest else None,
        "tightest_bytes": numbers.tightest_bytes,
        "horizon": iso(numbers.horizon),
    }


def refused_of(document: Mapping[str, Any]) -> Refused:
    """The refusal of a `refusal_document`."""
    nearest = document["nearest_window"]
    return Refused(
        shortfalls=tuple(
            Shortfall(
                ResourceId.parse(one["resource"]),
                _window_of(one["window"]),
                one["requested_bps"],
                one["free_bps"],
                one["capacity_bps"],
            )
            for one in document["shortfalls"]
        ),
        nearest_window=_window_of(nearest) if nearest else None,
        highest_rate_bps=document["highest_rate_bps"],
        highest_share_permille=document["highest_share_permille"],
        reason=document["reason"],
        transfer=_transfer_of(document["transfer"]) if document["transfer"] else None,
        horizon=datetime.fromisoformat(document["horizon"]) if document.get("horizon") else None,
        paths_tried=document["paths_tried"],
        path=tuple(document["path"]),
    )


def _transfer_of(document: Mapping[str, Any]) -> TransferRefused:
    earliest, tightest = document["earliest_deadline"], document["tightest"]
    return TransferRefused(
        asked_bytes=document["asked_bytes"],
        deadline=datetime.fromisoformat(document["deadline"]),
        most_bytes=document["most_bytes"],
        earliest_deadline=datetime.fromisoformat(earliest) if earliest else None,
        tightest=ResourceId.parse(tightest) if tightest else None,
        tightest_bytes=document["tightest_bytes"],
        horizon=datetime.fromisoformat(document["horizon"]),
    )


def _window_of(document: Mapping[str, Any]) -> Window:
    return Window(datetime.fromisoformat(document["start"]), datetime.fromisoformat(document["end"]))


def configurations_document(
    configurations: Mapping[str, Configuration], at: datetime
) -> list[documents.Configuration]:
    return [
        {"device": name, "platform": one.platform, "at": iso(at), "lines": list(one.lines)}
        for name, one in configurations.items()
    ]


def timeline_document(item: TimelineItem) -> documents.TimelineItem:
    return {
        "at": iso(item.at),
        "starting": list(item.starting),
        "ending": list(item.ending),
        "changing": list(item.changing),
        "slots": [{"name": one.name, "what": one.what, "number": one.number, "of": one.of} for one in item.slots],
        "active": item.active,
        "states": [
            {
                "name": one.name,
                "what": one.what,
                "state": one.state.value,
                "since": iso(one.since) if one.since else None,
                "why": one.why,
            }
            for one in item.states
        ],
        "phase": item.phase.value,
        "lag_us": item.lag_us,
        "skew_us": item.skew_us,
        "devices": [
            {"device": one.device, "phase": one.phase.value, "lag_us": one.lag_us, "message": one.message}
            for one in item.devices
        ],
    }
