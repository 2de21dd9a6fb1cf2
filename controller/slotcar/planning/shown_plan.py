"""A plan out of the document that a controller made, to be shown by the same code as one that was made here. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from slotcar.planning.plan import InTheWay, Plan
from slotcar.planning.plan_page import AT_ONCE
from slotcar.planning.step import Action, KeyDifference, PlanStep
from slotcar.platforms.model import Approximation
from slotcar.reservation.model import Reservation
from slotcar.views.documents import refused_of, reservation_of

Document = Mapping[str, Any]
_time = datetime.fromisoformat


def shown_plan(document: Document, cancelled: Mapping[str, Reservation]) -> Plan:
    """The plan but for its boundaries; `cancelled` has the reservations that it cancels, by handle."""
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
        looked_at=_time(looked_at) if (looked_at := document.get("looked_at")) else None,
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


def _step(document: Document, cancelled: Mapping[str, Reservation]) -> PlanStep:
    return PlanStep(
        Action(document["action"]),
        (document["owner"], document["name"]),
        reservation_of(document["reservation"]) if document["reservation"] else None,
        document["handle"],
        document["expected_version"],
        cancelled=cancelled.get(document["handle"] or ""),
        differences=tuple(KeyDifference(one["key"], one["before"], one["after"]) for one in document["differences"]),
        refusal=refused_of(document["refusal"]) if document["refusal"] else None,
        waits=document["waits"],
        notes=tuple(document.get("notes", ())),
        seen=document["seen"],
        note=document["note"],
    )
