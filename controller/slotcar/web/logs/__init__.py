"""The audit log, the latest first."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from slotcar.base.problems import InvalidInput, Problem
from slotcar.desk.logs import Logs
from slotcar.store.queries import EventFilter
from slotcar.web.serving import WebPage
from slotcar.web.visit import PAGE, Answer, Shown, Visit

_KIND = re.compile(r"[a-z][a-z-]*(\.[a-z-]*)?")
_FILTERS = ("kind", "device", "owner", "from", "until", "before")
#: Of an event's details, what a line shows of its own.
_SHOWN = ("actor", "reason", "message")


def show(visit: Visit) -> Answer:
    return Shown("logs/page.html", _model(visit))


def table(visit: Visit) -> Answer:
    return Shown("logs/table.html", _model(visit))


def _model(visit: Visit) -> dict[str, Any]:
    """
    Raises:
        InvalidInput, NotAllowed, NoSuchDevice.
    """
    filters = {key: visit.parameter(key) for key in _FILTERS if key != "before"}
    if filters["kind"] and not _KIND.fullmatch(filters["kind"]):
        hint = "say the beginning of one, such as `push.` or `reservation.committed`"
        raise InvalidInput([Problem("query", 0, "kind", "is not a kind of event", filters["kind"], hint)])
    wanted = EventFilter(
        (filters["kind"],) if filters["kind"] else (), None, filters["device"] or None,
        visit.time("from", filters["from"]) if filters["from"] else None,
        visit.time("until", filters["until"]) if filters["until"] else None, filters["owner"] or None,
    )  # fmt: skip
    sequence = visit.desk.ledger.last_event()
    events = Logs(visit.desk).events(wanted, visit.caller, visit.number("before"), PAGE + 1, newest=True)
    query = {key: value for key, value in filters.items() if value}
    following = f"/log?{urlencode({**query, 'before': events[PAGE - 1].sequence})}" if len(events) > PAGE else ""
    rows = [
        (one, {key: value for key, value in one.details.items() if key not in _SHOWN and not isinstance(value, dict)})
        for one in events[:PAGE]
    ]
    before = visit.number("before")
    return {
        "rows": rows, "said": filters, "next": following, "sequence": sequence, "overview": visit.may_overview,
        "here_again": f"/log/table?{urlencode({**query, **({'before': before} if before else {})})}",
    }  # fmt: skip


PAGES = (
    WebPage("/log", show, verb="events", query=_FILTERS),
    WebPage("/log/table", table, verb="events", query=_FILTERS),
)
