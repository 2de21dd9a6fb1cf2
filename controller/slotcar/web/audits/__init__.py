"""Whether SLSs were kept: of all of them in a row each, of one hour by hour or day by day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from slotcar.base.timebase import iso
from slotcar.measuring.audits.words import FIGURES, agreed_words, figure_words, reasons_of
from slotcar.web.links.pages import window_of
from slotcar.web.serving import WebPage
from slotcar.web.visit import PAGE, Answer, Shown, Visit
from slotcar.web.words import StateMark
from slotcar_client.wire import documents, verbs

USUAL = timedelta(days=1)
MARKS: Mapping[str, StateMark] = {
    "kept": StateMark("kept", "●", "good"), "broken": StateMark("broken", "✕", "bad"),
    "unknown": StateMark("unknown", "?", "soft"),
}  # fmt: skip


def show(visit: Visit) -> Answer:
    """
    Raises:
        NotAllowed. InvalidInput: the SLS or the time is wrong.
    """
    until = visit.now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    window, range_text = window_of(visit, visit.clock.written(until - USUAL), visit.clock.written(until))
    name = visit.parameter("sls")
    verb = verbs.Audits(name or None, None, iso(window.start), iso(window.end))
    answer = visit.context.desk.send(verb, visit.caller)
    model: dict[str, Any] = {
        "window": window, "said": range_text, "name": name, "names": sorted(visit.desk.network.sls),
        "sequence": visit.desk.ledger.last_event(), "step": answer["step"], "all": answer["items"],
        "agreed": {one["sls"]: agreed_words(one) for one in answer["items"]},
    }  # fmt: skip
    if name:
        model |= _of_one(answer["items"][0])
    return Shown("audits/page.html", model)


def _of_one(audit: documents.SlsAudit) -> dict[str, Any]:
    """The newest rows, and how many more there are."""
    items = sorted(audit["items"], key=lambda item: (item["start"], item["source"], item["destination"]), reverse=True)
    rows = [_row(item) for item in items[:PAGE]]
    return {"audit": audit, "rows": rows, "left_out": len(items) - len(rows), "figures": FIGURES}


def _row(item: documents.AuditItem) -> dict[str, Any]:
    parts = (item["delay"], item["variation"], item["loss"], item["rate"])
    # What is unknown stands in the column before them.
    figures = [("–" if one is None or one["low"] is None else figure_words(one), one) for one in parts]
    return {
        "start": datetime.fromisoformat(item["start"]), "mark": MARKS[item["verdict"]], "item": item,
        "figures": [(words, bool(one and one["verdict"] == "broken")) for words, one in figures],
        "reasons": list(dict.fromkeys(reasons_of(item).values())),
    }  # fmt: skip


PAGES = (WebPage("/audits", show, query=("sls", "from", "until")),)
