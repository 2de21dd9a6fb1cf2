"""The list of coming boundaries, and one of them with its diff."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException

from slotcar.base.timebase import iso
from slotcar.desk.overview import LOOK_AHEAD
from slotcar.views.boundary import groups_of
from slotcar.web.boundaries.model import GroupRows, boundary_rows
from slotcar.web.serving import WebPage
from slotcar.web.visit import PAGE, Answer, Shown, Visit


def listed(visit: Visit) -> Answer:
    """
    Raises:
        InvalidInput: `from` is no time.
    """
    text = visit.parameter("from", "now")
    since = visit.time("from", text)
    counts = visit.overview.boundaries(since, since + LOOK_AHEAD, PAGE + 1, visit.caller)
    following = f"/boundaries?{urlencode({'from': iso(counts[PAGE - 1].at)})}" if len(counts) > PAGE else ""
    model = {
        "items": counts[:PAGE], "since": since, "next": following, "asked": text,
        "sequence": visit.desk.ledger.last_event(),
    }  # fmt: skip
    return Shown("boundaries/list.html", model)


def one(visit: Visit) -> Answer:
    return Shown("boundaries/page.html", _model(visit))


def part(visit: Visit) -> Answer:
    return Shown("boundaries/now.html", _model(visit))


def _model(visit: Visit) -> dict[str, Any]:
    at = _instant(visit)
    sequence = visit.desk.ledger.last_event()
    view = visit.overview.boundary(at, visit.caller, visit.now)
    return {"boundary": boundary_rows(view, visit.parameter("after")), "sequence": sequence}


def body(visit: Visit) -> Answer:
    """One group's diff, whole, which the page left out because of its length."""
    view = visit.overview.boundary(_instant(visit), visit.caller, visit.now)
    groups = view.groups or groups_of(())
    number = visit.path["group"]
    if not 1 <= number <= len(groups):
        raise HTTPException(404, "the diff has changed since the page was made: load the page again")
    return Shown("boundaries/body.html", {"one": GroupRows(number, groups[number - 1])}, heading="Diff")


def _instant(visit: Visit) -> datetime:
    return visit.time("instant", str(visit.path["instant"]))


PAGES = (
    WebPage("/boundaries", listed, verb="timeline", query=("from",)),
    WebPage("/boundaries/{instant}", one, verb="boundary", query=("after",)),
    WebPage("/boundaries/{instant}/now", part, verb="boundary", query=("after",)),
    WebPage("/boundaries/{instant}/diff/{group:int}", body, verb="boundary"),
)
