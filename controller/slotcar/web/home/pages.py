"""Asks what the first page shows: for operators and auditors the controller, for requesters their own slots."""

from __future__ import annotations

from typing import Any

from slotcar.book.model import State
from slotcar.desk.entries import Entries
from slotcar.desk.logs import Logs
from slotcar.desk.overview import LOOK_AHEAD
from slotcar.policy.asking import may
from slotcar.store.queries import EntryFilter, EventFilter
from slotcar.web.boundaries.model import BoundaryRows, boundary_rows
from slotcar.web.home.model import controller_words, summary_of, troubles_of
from slotcar.web.reservations.model import rows_of
from slotcar.web.serving import WebPage
from slotcar.web.visit import Answer, Shown, Visit

#: Lines of a card; the page behind it has all.
CARD = 8


def show(visit: Visit) -> Answer:
    return Shown("home/page.html", _model(visit))


def part(visit: Visit) -> Answer:
    return Shown("home/now.html", _model(visit))


def _model(visit: Visit) -> dict[str, Any]:
    sequence = visit.desk.ledger.last_event()
    overview = visit.may_overview and may(visit.caller, "device_states")
    own = _whole(visit) if overview else _own(visit)
    boundaries, log = (may(visit.caller, verb) for verb in ("timeline", "events"))
    return {"sequence": sequence, "overview": overview, "boundaries": boundaries, "log": log, **own}


def _whole(visit: Visit) -> dict[str, Any]:
    coming = visit.overview.boundaries(visit.now, visit.now + LOOK_AHEAD, CARD, visit.caller)
    following: BoundaryRows | None = None
    if coming:
        following = boundary_rows(visit.overview.boundary(coming[0].at, visit.caller, visit.now))
    waits = Entries(visit.desk).list(EntryFilter(waits=True, newest=True, limit=CARD + 1), visit.caller)
    states = visit.overview.device_states(visit.caller, visit.context.desk.loop, visit.now)
    return {
        "following": following,
        "more_devices": bool(following and following.following),
        "turns": coming[0].at if coming else None,
        "coming": coming[1:],
        "waiting": rows_of(visit.with_slots(waits[:CARD]), visit.clock),
        "more_waiting": len(waits) > CARD,
        "troubles": troubles_of(states),
        "devices": summary_of(states),
        "controller": controller_words(visit.context.desk.loop, visit.now),
        "events": Logs(visit.desk).events(EventFilter(), visit.caller, 0, CARD, newest=True),
    }


def _own(visit: Visit) -> dict[str, Any]:
    waiting = EntryFilter(states=[State.HELD, State.AWAITING_APPROVAL], newest=True, limit=CARD + 1)
    soonest = visit.overview.soonest(visit.caller, visit.now, CARD + 1)
    waits = Entries(visit.desk).list(waiting, visit.caller)
    coming = visit.overview.boundaries(visit.now, visit.now + LOOK_AHEAD, CARD, visit.caller)
    return {
        "running": rows_of(visit.with_slots(soonest[:CARD]), visit.clock),
        "more_running": len(soonest) > CARD,
        "waiting": rows_of(visit.with_slots(waits[:CARD]), visit.clock),
        "more_waiting": len(waits) > CARD,
        "coming": coming,
        "turns": coming[0].at if coming else None,
    }


PAGES = (WebPage("/", show, verb="list"), WebPage("/home/now", part, verb="list"))
