"""What was pushed, and what would take a router back: read first, then confirmed by the router's name."""

from __future__ import annotations

from typing import Any

from slotcar.base.problems import InvalidInput, Problem
from slotcar.book.rules import roles
from slotcar.views.boundary import DiffGroup, hunks_of
from slotcar.views.devices import named_devices
from slotcar.web.boundaries.model import GroupRows
from slotcar.web.serving import LONG_S, WebPage
from slotcar.web.visit import PAGE, Answer, Moved, Shown, Visit
from slotcar.web.words import why_not_operator


def listed(visit: Visit) -> Answer:
    """
    Raises:
        NotAllowed. InvalidInput: a file of the archive is broken.
    """
    sequence = visit.desk.ledger.last_event()
    revisions, following = visit.overview.revisions(visit.parameter("before") or None, PAGE, visit.caller)
    model = {
        "rows": revisions, "next": f"/rollback?before={following}" if following else "", "sequence": sequence,
        "devices": sorted(visit.desk.network.devices),
        "why_not": why_not_operator(visit.caller, "roll a router back", "preview_rollback"),
    }  # fmt: skip
    return Shown("rollback/list.html", model)


def preview(visit: Visit) -> Answer:
    """Reads the router, which takes seconds.

    Raises:
        NotAllowed, NoSuchDevice, NotPossible.
    """
    roles.require_operator(visit.caller, "preview a rollback", "preview_rollback")
    device, to = _goal(visit)
    sequence = visit.desk.ledger.last_event()
    preview = visit.desk.held_routers.rollback_preview(device, to, visit.caller, visit.now)
    model: dict[str, Any] = {
        "device": device, "to": to, "preview": preview, "sequence": sequence,
        "why_not": why_not_operator(visit.caller, "roll a router back", "rollback"),
        "groups": [
            GroupRows(place, DiffGroup((one.device,), tuple(hunks_of(one.diff))))
            for place, one in enumerate(preview.diffs, 1)
        ],
    }  # fmt: skip
    return Shown("rollback/preview.html", model)


def roll_back(visit: Visit) -> Answer:
    """
    Raises:
        InvalidInput: the router's name was not typed. NotAllowed, NotPossible, PushFailed.
    """
    roles.require_operator(visit.caller, "roll a router back", "rollback")
    device, to = _goal(visit)
    if visit.form_value("typed") != device:
        raise InvalidInput(
            [Problem("request", 0, "typed", "is not the router's name", visit.form_value("typed"), f"type {device}")]
        )
    until = visit.form_value("until")
    visit.desk.held_routers.roll_back(
        device, to, visit.caller, visit.now, visit.time("until", until) if until else None
    )
    return Moved(f"/devices/{device}")


def _goal(visit: Visit) -> tuple[str, str]:
    device, to = (
        visit.parameter("device") or visit.form_value("device"),
        visit.parameter("to") or visit.form_value("to"),
    )
    named_devices(visit.desk.network, [device])
    if not to:
        raise InvalidInput(
            [Problem("request", 0, "to", "is missing", "", "say `baseline`, a revision, or a time with its zone")]
        )
    return device, to


PAGES = (
    WebPage("/rollback", listed, query=("before",)),
    WebPage("/rollback/preview", preview, query=("device", "to"), most_s=LONG_S),
    WebPage("/rollback", roll_back, "POST", most_s=LONG_S),
)
