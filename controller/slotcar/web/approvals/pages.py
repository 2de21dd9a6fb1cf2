"""The list of what waits, one request with its effect, and the decision with the version that was seen."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from slotcar.base.problems import InvalidInput, Problem
from slotcar.book.model import Entry, State
from slotcar.book.rules import roles
from slotcar.desk.entries import Entries
from slotcar.store.queries import EntryFilter
from slotcar.web.approvals.model import device_groups, resource_rows
from slotcar.web.boundaries.model import GroupRows
from slotcar.web.reservations.model import amount_words, row_of, rows_of
from slotcar.web.reservations.pages import version_of
from slotcar.web.serving import WebPage
from slotcar.web.visit import PAGE, Answer, Moved, Shown, Visit
from slotcar.web.words import why_not_operator
from slotcar_client.wire import verbs


def listed(visit: Visit) -> Answer:
    return Shown("approvals/list.html", _list_model(visit))


def table(visit: Visit) -> Answer:
    return Shown("approvals/table.html", _list_model(visit))


def _list_model(visit: Visit) -> dict[str, Any]:
    roles.require_overview(visit.caller, "see what waits for approval", "approvals")
    wanted = EntryFilter(waits=True, newest=True, after=visit.number("after"), limit=PAGE + 1)
    sequence = visit.desk.ledger.last_event()
    entries = Entries(visit.desk).list(wanted, visit.caller)
    rows = [
        (row, _what(entry))
        for row, entry in zip(rows_of(visit.with_slots(entries[:PAGE]), visit.clock), entries, strict=False)
    ]
    following = f"/approvals?{urlencode({'after': entries[PAGE - 1].number})}" if len(entries) > PAGE else ""
    return {"rows": rows, "next": following, "sequence": sequence}


def _what(entry: Entry) -> str:
    return f"a change to {amount_words(entry.proposed.reservation)}" if entry.proposed else "the reservation"


def one(visit: Visit) -> Answer:
    """
    Raises:
        UnknownHandle, NotAllowed, Unrenderable.
    """
    sequence = visit.desk.ledger.last_event()
    effect = visit.overview.effect(str(visit.path["handle"]), visit.caller, visit.now)
    entry = effect.entry
    model = {
        "entry": entry, "row": row_of(entry, visit.clock), "what": _what(entry), "sequence": sequence,
        "wanted": effect.wanted.reservation, "amount": amount_words(effect.wanted.reservation),
        "waits": entry.state is State.AWAITING_APPROVAL or entry.proposed is not None,
        "resources": resource_rows(effect),
        "groups": [GroupRows(place, group) for place, group in enumerate(device_groups(effect), 1)],
        "at": effect.explanation.at, "notes": effect.explanation.notes,
        "why_not": {
            verb: why_not_operator(visit.caller, "approve or reject", verb) for verb in ("approve", "reject")
        },
    }  # fmt: skip
    return Shown("approvals/page.html", model)


def decide(visit: Visit) -> Answer:
    """
    Raises:
        Problem: of `slotcar_client.wire.errors`: no operator; it has changed since the page showed it. InvalidInput.
    """
    handle, decision = str(visit.path["handle"]), visit.form_value("decision")
    if decision == "approve":
        visit.desk.send(verbs.Approve(handle, version_of(visit)), visit.caller)
    elif decision == "reject":
        visit.desk.send(verbs.Reject(handle, visit.form_value("reason"), version_of(visit)), visit.caller)
    else:
        raise InvalidInput([Problem("request", 0, "decision", "is none", decision, "say approve or reject")])
    return Moved(f"/reservations/{handle}")


PAGES = (
    WebPage("/approvals", listed, query=("after",)),
    WebPage("/approvals/table", table, query=("after",)),
    WebPage("/approvals/{handle}", one),
    WebPage("/approvals/{handle}", decide, "POST"),
)
