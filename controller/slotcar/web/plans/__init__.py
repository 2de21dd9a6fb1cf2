"""A reservation file, pasted or uploaded: what applying it would do, and doing exactly that."""

from __future__ import annotations

import json
from typing import Any

from anyio import from_thread

from slotcar.api.plan_process import PlanRequest
from slotcar.base.located_yaml import parse_json
from slotcar.base.problems import InvalidInput, Problem
from slotcar.book.rules import roles
from slotcar.desk.files import ReservationFiles
from slotcar.planning.in_the_way import looked_words
from slotcar.planning.plan_file import plan_of_document
from slotcar.planning.plan_page import PageStart
from slotcar.web.serving import LONG_S, WebPage
from slotcar.web.visit import Answer, Shown, Visit
from slotcar.web.words import why_not_change

SET, LINES = "web", 400
EXAMPLE = """version: 1
reservations:
  - name: tonight-cms
    owner: hep
    source: HOST
    destination: HOST:5001
    protocol: tcp
    service: ip-premium
    rate: 36 Mbit/s
    start: 2027-03-01T22:00:00+01:00
    duration: 2 h
"""


def form(visit: Visit) -> Answer:
    model = {
        "text": "", "example": EXAMPLE, "why_not": why_not_change(visit.caller, "apply"), "plan": None,
        "sequence": visit.desk.ledger.last_event(), "set": SET,
    }  # fmt: skip
    return Shown("plans/page.html", model)


def plan(visit: Visit) -> Answer:
    """
    Raises:
        NotAllowed: a requester, for another owner. InvalidInput: with the lines of the text that are wrong. PlanTooLarge.
    """
    text, set_name = visit.form_value("text"), visit.form_value("set", SET)
    request = PlanRequest(text, set_name, visit.caller, visit.now, PageStart(), LINES)
    plan_document = json.loads(from_thread.run(visit.context.plans.make, visit.desk, request, token=visit.event_loop))
    return Shown(
        "plans/plan.html",
        {
            "plan": plan_document,
            "looked": looked_words(
                plan_document["not_looked_at"], plan_document["looked_at"], bool(plan_document["in_the_way"])
            ),
            "document": json.dumps(_short(plan_document)),
            "why_not": why_not_change(visit.caller, "apply"),
        },
        heading="Plan",
    )


def apply(visit: Visit) -> Answer:
    """
    Raises:
        StalePlan: the ledger or the inventory has changed since. PlanRefused, PlanNotAdmitted, InvalidInput.
    """
    roles.owner_for(visit.caller, None)
    try:
        document = parse_json(visit.form_value("plan"))
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise InvalidInput([Problem("request", 0, "plan", "is not a plan", "", "make the plan again")])
    done = ReservationFiles(visit.desk).apply(
        plan_of_document(document, "plan", "make the plan again"), visit.caller, visit.now
    )
    return Shown("plans/applied.html", {"done": done}, heading="Applied")


def _short(plan_document: dict[str, Any]) -> dict[str, Any]:
    """What `apply` looks at: the diffs are only there to be read."""
    return plan_document | {"boundaries": [], "approximations": [], "in_the_way": []}


PAGES = (
    WebPage("/plan", form, verb="plan"),
    WebPage("/plan", plan, "POST", verb="plan", most_s=LONG_S),
    WebPage("/plan/apply", apply, "POST", verb="apply"),
)
