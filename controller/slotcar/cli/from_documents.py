"""The API's documents as what the verbs give on the controller's own machine, so that both are shown by the same code.

The other way round, a document of what is made here is the same again (`slotcar.views.documents`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from slotcar.admission.model import Demand, Refused, Shortfall, TransferRefused
from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Direction, Service
from slotcar.book.model import Entry, Event, ProgressReport, Proposal, State
from slotcar.book.slot_now import DeviceSlot, SlotNow, SlotState
from slotcar.network.model import InterfaceId
from slotcar.network.path.model import Hop, Path
from slotcar.planning.enquiry import EnquiryAnswer, FreeRates, FreeStep, Highest
from slotcar.planning.plan import InTheWay, Plan
from slotcar.planning.plan_page import AT_ONCE
from slotcar.planning.step import Action, KeyDifference, PlanStep
from slotcar.platforms.model import Approximation
from slotcar.reservation.model import Reservation
from slotcar.views.documents import DERIVED_KEYS

Document = Mapping[str, Any]
_time = datetime.fromisoformat


def entry_of(document: Document) -> Entry:
    reservation, change = reservation_of(document["reservation"]), document["proposed"]
    return Entry(
        handle=document["handle"],
        number=document["number"],
        state=State(document["state"]),
        version=document["version"],
        reservation=reservation,
        paths=_paths(document, reservation.service),
        demands=_demands(document),
        created_at=_time(document["created_at"]),
        changed_at=_time(document["changed_at"]),
        hold_until=_time(document["hold_until"]) if document["hold_until"] else None,
        group=document.get("group"),
        proposed=_proposal(change) if change else None,
        progress=_progress(document["progress"]) if document["progress"] else None,
        # Older controllers say nothing of these.
        slot=slot_of(document["slot"]) if document.get("slot") else None,
        notes=tuple(document.get("notes", ())),
    )


def slot_of(document: Document) -> SlotNow:
    devices = tuple(
        DeviceSlot(one["device"], SlotState(one["state"]), _maybe_time(one["since"]), one["why"])
        for one in document["devices"]
    )
    return SlotNow(
        document["number"], document["of"], _window(document), SlotState(document["state"]),
        _maybe_time(document["since"]), document["why"], devices,
    )  # fmt: skip


def _maybe_time(text: str | None) -> datetime | None:
    return _time(text) if text else None


def _progress(document: Document) -> ProgressReport:
    return ProgressReport(
        document["remaining_bytes"], _time(document["at"]), document["needed_bps"], document["missing_bytes"]
    )


def _proposal(document: Document) -> Proposal:
    reservation = reservation_of(document["reservation"])
    return Proposal(
        reservation=reservation,
        paths=_paths(document, reservation.service),
        demands=_demands(document),
        actor=document["proposed_by"],
        at=_time(document["proposed_at"]),
    )


def reservation_of(document: Document) -> Reservation:
    return Reservation.from_document({key: one for key, one in document.items() if key not in DERIVED_KEYS})


def _paths(document: Document, service: Service) -> tuple[Path, ...]:
    """Paths out of a document, which lacks the addresses of their ends."""
    return tuple(
        Path(
            source=path["source"],
            destination=path["destination"],
            source_address="",
            destination_address="",
            service=service,
            hops=tuple(_hop(**hop) for hop in path["hops"]),
            sls=tuple(path["sls"]),
            unreserved_devices=frozenset(hop["device"] for hop in path["hops"] if not hop["reserved"]),
        )
        for path in document["paths"]
    )


def _hop(device: str, ingress: str, egress: str, reserved: bool) -> Hop:
    return Hop(device, InterfaceId(device=device, name=ingress), InterfaceId(device=device, name=egress))


def _demands(document: Document) -> tuple[Demand, ...]:
    return tuple(Demand(ResourceId.parse(one["resource"]), tuple(one["amounts"])) for one in document["demands"])


def event_of(document: Document) -> Event:
    return Event(
        document["sequence"], _time(document["at"]), document["kind"], document["handle"], document["device"],
        document["details"],
    )  # fmt: skip


def members_of(document: Document) -> tuple[Entry, ...]:
    """The entries of a group's document."""
    return tuple(map(entry_of, document["members"]))


def enquiry_of(document: Document) -> EnquiryAnswer:
    directions = tuple(
        Highest(
            Direction(one["direction"]),
            one["highest_rate_bps"],
            ResourceId.parse(one["limited_by"]) if one["limited_by"] else None,
            tuple(one["routers"]),
            _free(one),
        )
        for one in document["directions"]
    )
    windows = tuple(_window(one) for one in document["windows"])
    return EnquiryAnswer(windows, directions, _free(document), document["adds_to"])


def _free(document: Document) -> FreeRates:
    return FreeRates(tuple(FreeStep(_window(one), one["rate_bps"]) for one in document["steps"]), document["rounded"])


def plan_of(document: Document, cancelled: Mapping[str, Entry]) -> Plan:
    """The plan but for its boundaries, to be shown; `cancelled` has the entries of what it cancels, by handle."""
    return Plan(
        made_at=_time(document["made_at"]),
        sequence=document["ledger_sequence"],
        network_digest=document["network"],
        set_name=document["set_name"],
        steps=tuple(_step(one, cancelled) for one in document["steps"]),
        boundaries_left_out=document["boundaries_left_out"],
        next_at=_next_at(document["next"]),
        owners=tuple(document["owners"]),
        moves=tuple(document["moves"]),
        approximations=tuple(_approximations(document)),
        # Older controllers say nothing of it.
        in_the_way=tuple(
            InTheWay(one["device"], _time(one["at"]), one["words"], one["certain"], _time(one["read_at"]))
            for one in document.get("in_the_way", ())
        ),
        not_looked_at=tuple(document.get("not_looked_at", ())),
        looked_at=_maybe_time(document.get("looked_at")),
    )


def _next_at(start: str | None) -> datetime | None:
    """The boundary where the next page of a plan begins; None where there is none, or it begins with what is at once."""
    when = start.partition("/")[0] if start else AT_ONCE
    return None if when == AT_ONCE else _time(when)


def _approximations(document: Document) -> Iterator[Approximation]:
    """Those of a plan's document, which names no aspects. Older controllers have them beside each router alone."""
    grouped = document.get("approximations")
    if grouped is not None:
        yield from (Approximation(name, one["words"], one["words"]) for one in grouped for name in one["devices"])
        return
    for device in (device for boundary in document["boundaries"] for device in boundary["devices"]):
        name = device["device"]
        yield from (Approximation(name, note, note.removeprefix(f"{name}: ")) for note in device["approximations"])


def _step(document: Document, cancelled: Mapping[str, Entry]) -> PlanStep:
    return PlanStep(
        Action(document["action"]),
        (document["owner"], document["name"]),
        reservation_of(document["reservation"]) if document["reservation"] else None,
        document["handle"],
        document["expected_version"],
        entry=cancelled.get(document["handle"] or ""),
        differences=tuple(KeyDifference(one["key"], one["before"], one["after"]) for one in document["differences"]),
        refusal=refused_of(document["refusal"]) if document["refusal"] else None,
        waits=document["waits"],
        notes=tuple(document.get("notes", ())),
        seen=document["seen"],
        note=document["note"],
    )


def refused_of(document: Document) -> Refused:
    nearest = document["nearest_window"]
    return Refused(
        shortfalls=tuple(
            Shortfall(
                ResourceId.parse(one["resource"]),
                _window(one["window"]),
                one["requested_bps"],
                one["free_bps"],
                one["capacity_bps"],
            )
            for one in document["shortfalls"]
        ),
        nearest_window=_window(nearest) if nearest else None,
        highest_rate_bps=document["highest_rate_bps"],
        highest_share_permille=document["highest_share_permille"],
        reason=document["reason"],
        transfer=_transfer(document["transfer"]) if document["transfer"] else None,
        horizon=_time(document["horizon"]) if document.get("horizon") else None,
        paths_tried=document["paths_tried"],
        path=tuple(document["path"]),
    )


def _transfer(document: Document) -> TransferRefused:
    earliest, tightest = document["earliest_deadline"], document["tightest"]
    return TransferRefused(
        asked_bytes=document["asked_bytes"],
        deadline=_time(document["deadline"]),
        most_bytes=document["most_bytes"],
        earliest_deadline=_time(earliest) if earliest else None,
        tightest=ResourceId.parse(tightest) if tightest else None,
        tightest_bytes=document["tightest_bytes"],
        horizon=_time(document["horizon"]),
    )


def _window(document: Document) -> Window:
    return Window(_time(document["start"]), _time(document["end"]))
